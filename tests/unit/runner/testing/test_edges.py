"""Edge values of dtypes, and the sign of zeros."""

from __future__ import annotations

import json

import numpy as np
import pytest

from runners.core.documents import SCHEMAS
from runners.core.testing import arrays, compare

DTYPES = [name for name in json.loads((SCHEMAS / "edge-values.json").read_text("utf-8")) if name != "description"]
ROUNDED_UP = {"bfloat16": "float32"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_dtype_has_an_odd_number_of_values_that_it_holds(dtype):
    row = arrays.edges(dtype, "row", subnormal=True)
    assert row.dtype == ROUNDED_UP.get(dtype, dtype)
    assert row.ndim == 1 and len(row) % 2 == 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floating_values_are_at_the_edges(dtype):
    facts = np.finfo(dtype)
    row = arrays.edges(dtype, "row")
    finite = row[np.isfinite(row)]
    assert (finite.min(), finite.max()) == (facts.min, facts.max)
    assert np.abs(finite[finite != 0]).min() == facts.tiny
    assert {np.inf, -np.inf} <= set(row) and np.isnan(row).sum() == 1
    assert sorted(np.signbit(row[row == 0])) == [False, True]
    assert {np.nextafter(facts.dtype.type(1), facts.dtype.type(step)) for step in (0, 2)} <= set(row)
    less = np.abs(arrays.edges(dtype, "row", subnormal=True))
    assert less[less > 0].min() == np.nextafter(facts.dtype.type(0), facts.dtype.type(1))


def test_bfloat16_holds_its_edges():
    for value in arrays.edges("bfloat16", "row")[:3:2]:
        bits = np.float32(value).view(np.uint32)
        # 0.1 is the only one that is rounded.
        assert value == np.float32(0.1) or bits & 0xFFFF == 0
    assert arrays.edges("bfloat16", "row")[13] == compare.LARGEST["bfloat16"]


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint32"])
def test_integers_have_the_ends_of_their_range(dtype):
    row = arrays.edges(dtype, "row")
    assert {0, 1, np.iinfo(dtype).min, np.iinfo(dtype).max} <= set(row.tolist())


def test_the_forms():
    row = arrays.edges("int8", "row")
    assert arrays.edges("int8", "column").tolist() == [[value] for value in row]
    square = arrays.edges("int8", "square")
    assert square.shape == (len(row), len(row))
    assert square[2].tolist() == np.roll(row, 2).tolist()


def test_the_sign_of_a_zero_counts():
    compare.check_signs_of_zeros([0.0, -0.0, 1.0], [0.0, -0.0, -1.0])
    with pytest.raises(compare.Mismatch, match=r"sign of 1 zeros is another, first at \[1\]: expected -0"):
        compare.check_signs_of_zeros([0.0, 0.0], [0.0, -0.0])
    with pytest.raises(compare.Mismatch):
        compare.check_signs_of_zeros(np.array([complex(1, 0.0)]), np.array([complex(1, -0.0)]))


@pytest.mark.parametrize(
    ("found", "dtype", "matches"),
    [
        (np.inf, "float32", True),
        (-np.inf, "float32", False),
        (3e38, "float32", False),
        (np.inf, "float64", False),
    ],
)
def test_what_is_too_large_for_the_dtype_is_infinite(found, dtype, matches):
    if matches:
        compare.check_values(np.array([found]), np.array([1e39]), dtype)
    else:
        with pytest.raises(compare.Mismatch):
            compare.check_values(np.array([found]), np.array([1e39]), dtype)


def test_special_values_are_where_they_are_said_to_be():
    array = arrays.random([9, 17], "float32", 1)
    found = arrays.with_special(array, "float32", "nonfinite")
    assert np.isnan(found).sum() == 1 and sorted(found[np.isinf(found)]) == [-np.inf, np.inf]
    assert np.signbit(found[found == 0]).tolist() == [True]
    assert (found == array).sum() == array.size - 4
    assert not np.isnan(array).any()
    edges = arrays.with_special(array, "float32", "edges").ravel()
    assert set(edges[~np.isnan(edges)]) == set(
        filter(lambda value: value == value, arrays.edges("float32", "row", True))
    )
    huge = arrays.with_special(array, "float32", "huge")
    assert np.isfinite(huge).all() and np.abs(huge).max() > 1e37
    assert (arrays.with_special(array, "float32", "offset").mean() - 1000) < 1
    wide = np.abs(arrays.with_special(array, "float32", "wide") / array)
    assert wide.max() > 9e3 and wide.min() < 2e-4
    with pytest.raises(KeyError):
        arrays.with_special(array, "float32", "unknown")
