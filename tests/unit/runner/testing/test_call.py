"""The general case: arguments from data, comparison with an independent reference. Needs NumPy, as every framework."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("numpy")

import numpy as np

from runners.core.testing import arrays, compare, references
from tests.paths import ROOT

COPY = {"numpy": "copy", "args": [{"arg": 0}]}
"""What scaling by one gives."""


def scale(expect, args=None, **more):
    tensor = {"tensor": {"values": [1.0, 2.0, 4.0], "dtype": "float32"}}
    test = {"id": "t", "case": "call", "args": args or [tensor, 3], "expect": expect, **more}
    return [{"function": "fake.scale", "tests": [test]}]


def result_of(finished):
    (result,) = finished.document["results"]
    return result


@pytest.mark.parametrize(
    "expect",
    [
        {"numpy": "multiply"},
        {"numpy": "multiply", "args": [{"arg": 1}, {"arg": 0}]},
        {"numpy": "dot", "args": [{"arg": 0}, 3.0]},
        {"value": [3.0, 6.0, 12.0]},
        {"value": [3.0, 6.0, 12.0], "dtype": "float32", "shape": [3]},
        {"value": 12.0, "output": [2]},
        {"value": [3, 6, 12], "dtype": "float32"},
    ],
)
def test_a_right_answer_passes(run, expect):
    assert result_of(run(scale(expect), "--runs", "1"))["outcome"] == "passed"


@pytest.mark.parametrize(
    ("expect", "category", "message"),
    [
        ({"numpy": "add"}, "other", "wrong value: 3 of 3 values differ"),
        ({"value": [3.0, 6.0]}, "other", "shape: expected [2], got [3]"),
        ({"value": [3.0, 6.0, 12.001]}, "precision", "imprecise: 1 of 3 values differ, the worst by 0.001"),
        ({"numpy": "multiply", "dtype": "float64"}, "type", "dtype: expected float64, got float32"),
        ({"numpy": "multiply", "shape": [1, 3]}, "other", "shape: expected [1, 3], got [3]"),
        ({"value": float(12), "output": [0]}, "other", "wrong value"),
        ({"value": [3, 6, 12]}, "type", "dtype: expected an integer type, got float32"),
    ],
)
def test_a_wrong_answer_fails_and_says_how(run, expect, category, message):
    result = result_of(run(scale(expect), "--runs", "1"))
    assert (result["outcome"], result["category"], result["phase"]) == ("failed", category, "compare")
    assert message in result["error"]["message"]


def test_a_tolerance_is_widened_with_a_reason(run):
    wide = {"rtol": 1e-3, "atol": 0, "reason": "to show it"}
    assert result_of(run(scale({"value": [3.0, 6.0, 12.001]}, tolerance=wide), "--runs", "1"))["outcome"] == "passed"


@pytest.mark.parametrize(("dtypes", "outcome"), [(["float16", "float32"], "passed"), (["float16"], "failed")])
def test_a_tolerance_with_dtypes_holds_only_for_these(run, dtypes, outcome):
    wide = {"dtypes": dtypes, "rtol": 1e-3, "atol": 0, "reason": "to show it"}
    assert result_of(run(scale({"value": [3.0, 6.0, 12.001]}, tolerance=wide), "--runs", "1"))["outcome"] == outcome


@pytest.mark.parametrize(
    ("factor", "expect", "more", "outcome"),
    [
        (1, COPY, {}, "passed"),
        (1.0000005, COPY, {}, "failed"),
        (1.0000005, COPY, {"tolerance": {"rtol": 1e-6, "atol": 0, "reason": "rounding"}}, "passed"),
        (1.0000005, {"value": [1.0, 2.0, 4.0]}, {}, "passed"),
    ],
)
def test_values_that_a_reference_only_moves_are_the_same_unless_a_tolerance_is_stated(
    run, factor, expect, more, outcome
):
    args = [{"tensor": {"values": [1.0, 2.0, 4.0], "dtype": "float32"}}, factor]
    assert result_of(run(scale(expect, args, **more), "--runs", "1"))["outcome"] == outcome


def test_the_nearest_values_of_bfloat16_are_those_of_one_rounding():
    every = (np.arange(2**16, dtype=np.uint32) << 16).view(np.float32)
    every = np.unique(every[np.isfinite(every)]).astype(np.float64)
    np.testing.assert_array_equal(arrays.nearest(every, "bfloat16"), every)
    halves = (every[1:] + every[:-1]) / 2
    for beside, wanted in ((-1, every[:-1]), (1, every[1:])):
        # A float32 cannot hold what is this near to a half.
        near = np.nextafter(halves, beside * np.inf)
        np.testing.assert_array_equal(arrays.nearest(near, "bfloat16"), wanted)
    even = [1.0, 1 + 2**-6]
    np.testing.assert_array_equal(arrays.nearest([1 + 2**-8, 1 + 3 * 2**-8], "bfloat16"), even)
    largest = compare.LARGEST["bfloat16"]
    beyond = [largest, -largest * (1 + 2**-9), largest * (1 + 2**-8), np.inf, np.nan]
    np.testing.assert_array_equal(arrays.nearest(beyond, "bfloat16"), [largest, -largest, np.inf, np.inf, np.nan])


def test_the_nearest_values_of_other_types_are_those_of_numpy():
    found = arrays.nearest([1 / 3, 1e300, 7e-46], "float32")
    np.testing.assert_array_equal(found, np.array([1 / 3, np.inf, 0], np.float32))
    assert arrays.nearest([1 / 3 + 1j], "complex64").dtype == np.complex64


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_no_imaginary_part_is_dropped_for_a_type_without_one(dtype):
    np.testing.assert_array_equal(arrays.nearest(np.array([1 + 2j]), dtype), [1 + 2j])


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
def test_no_grid_of_the_study_carries_a_tolerance_from_one_dtype_to_another(framework):
    document = json.loads((ROOT / "manifests" / "study" / f"{framework}.json").read_text("utf-8"))
    for entry in document["functions"]:
        for test in entry["tests"]:
            dtypes = set(test.get("grid", {}).get("dtype", ())) & set(compare.TOLERANCES)
            stated = test.get("tolerance")
            # That nothing may differ is said of all dtypes.
            if len(dtypes) > 1 and stated and (stated["rtol"] or stated["atol"]):
                held = dtypes.intersection(stated.get("dtypes", dtypes))
                assert len(held) <= 1 or not held & {"float32", "float64"}, (entry["function"], test["id"])


@pytest.mark.parametrize(("last", "outcome"), [(-0.0, "passed"), (0.0, "failed")])
def test_the_sign_of_each_zero_of_a_list_is_compared(run, last, outcome):
    args = [{"tensor": {"values": [1.0, 0.0, -0.0], "dtype": "float32"}}, 3]
    expect = {"value": [3, 0.0, last], "zeros": "signed"}
    assert result_of(run(scale(expect, args), "--runs", "1"))["outcome"] == outcome


@pytest.mark.parametrize(
    ("expect", "name"),
    [
        ({"numpy": "save"}, "numpy.save"),
        ({"numpy": "load"}, "numpy.load"),
        ({"numpy": "linalg.linalg"}, "numpy.linalg.linalg"),
        ({"scipy": "io.loadmat"}, "scipy.io.loadmat"),
        ({"property": "no_such"}, "no property 'no_such'"),
    ],
)
def test_a_reference_that_is_none_stops_the_run(run, expect, name):
    refused = run(scale(expect), "--runs", "1")
    assert refused.status == 2
    assert name in refused.error["message"]


def test_every_listed_reference_exists():
    gone_by_now = {"trapz", "around", "in1d", "row_stack"}
    for name in references._NUMPY - gone_by_now:
        assert callable(references.find("numpy", name)) or not hasattr(np, name)
    assert references.MOVING < references.EXACT <= references._NUMPY
    assert references.find("numpy", "linalg.svd") is np.linalg.svd
    assert references.find("numpy", "cos") is np.cos


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bool", "complex64", "bfloat16", "float16"])
def test_random_inputs_are_the_same_for_the_same_seed(dtype):
    first, second = (arrays.random((5, 3), dtype, 7) for _ in range(2))
    assert first.shape == (5, 3)
    assert (first == second).all()
    assert (first != arrays.random((5, 3), dtype, 8)).any()
    assert first.dtype == ("float32" if dtype == "bfloat16" else dtype)


def test_random_inputs_are_the_same_for_ever():
    # Values of numpy.random.RandomState, whose stream is frozen; a change would unpair old results from new ones.
    assert arrays.random((3,), "float64", 1).tolist() == pytest.approx([1.62434536, -0.61175641, -0.52817175])
    assert arrays.random((4,), "int64", 1).tolist() == [5, 8, 9, 5]
    assert arrays.random((2,), "float64", 1, -1.0, 1.0).tolist() == pytest.approx([-0.16595599, 0.44064899])


def test_nan_equals_nan_and_nothing_else():
    nan, inf = float("nan"), float("inf")
    compare.check_values([nan, inf, -inf, 1.0], [nan, inf, -inf, 1.0], "float32")
    for actual, expected in (([nan], [0.0]), ([0.0], [nan]), ([inf], [-inf]), ([inf], [1e30])):
        with pytest.raises(compare.Mismatch, match="wrong value"):
            compare.check_values(actual, expected, "float32")


def test_integers_must_be_exact_however_large():
    compare.check_values(np.array([2**62]), np.array([2**62]), "int64")
    with pytest.raises(compare.Mismatch):
        compare.check_values(np.array([2**62 + 1]), np.array([2**62]), "int64")


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_result_that_was_rounded_to_float32_is_noticed(dtype):
    exact = np.asarray(arrays.random((50,), dtype, 1))
    compare.check_values(exact * (1 + 1e-15), exact, dtype)
    with pytest.raises(compare.Mismatch, match="imprecise"):
        compare.check_values(exact.astype("complex64" if dtype == "complex128" else "float32"), exact, dtype)


@pytest.mark.parametrize("dtype", compare.TOLERANCES)
def test_the_tolerance_is_that_of_the_dtype(dtype):
    rtol, atol = compare.TOLERANCES[dtype]
    compare.check_values([100 * (1 + 0.9 * rtol)], [100.0], dtype)
    with pytest.raises(compare.Mismatch, match="imprecise"):
        compare.check_values([100 * (1 + 2 * rtol) + 2 * atol], [100.0], dtype)


def test_empty_and_scalar_outputs_compare():
    compare.check_values(np.zeros((0, 3)), np.zeros((0, 3)), "float32")
    compare.check_values(np.float32(2), 2.0, "float32")
    with pytest.raises(compare.Mismatch, match="shape"):
        compare.check_values(np.zeros((0, 3)), np.zeros((3, 0)), "float32")


@pytest.mark.parametrize(
    ("actual", "expected", "same"),
    [
        (("a", None, (1,)), ("a", None, (1,)), True),
        (("a", None, (1,)), ("a", None, (2,)), False),
        ((1, 2), [1, 2], False),
        (np.array([1, 2]), [1, 2], True),
        ({"x": np.ones(2)}, {"x": np.ones(2)}, True),
        ({"x": np.ones(2)}, {"x": np.zeros(2)}, False),
        ({"x": 1, "y": 2}, {"y": 2, "x": 1}, True),
        ({"x": 1}, {"y": 1}, False),
        ([np.ones(2)], [np.ones(2), 1], False),
        (float("nan"), float("nan"), True),
        (True, None, False),
    ],
)
def test_nested_values_are_equal_or_not(actual, expected, same):
    if same:
        compare.check_equal(actual, expected)
    else:
        with pytest.raises(compare.Mismatch):
            compare.check_equal(actual, expected)
