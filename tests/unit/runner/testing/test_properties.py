"""A property is noticed to be broken: wrong factors fail, and rounding is reported from another result."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy")

import numpy as np

from runners.core.testing import compare, properties


class Trial:
    """As much of a trial as a property uses; its tensors are host arrays."""

    checks = 0

    def check(self, condition, message):
        if not condition:
            raise AssertionError(message)

    def numpy(self, value):
        return value

    def dtype_name(self, value):
        return value.dtype.name


MATRIX = np.random.RandomState(1).standard_normal((5, 3))
U, S, VH = np.linalg.svd(MATRIX, full_matrices=False)


def factors(**changed):
    parts = {"u": U, "s": S, "v": VH, **changed}
    return [parts[key].astype("float32") for key in "usv"]


def test_right_factors_pass():
    properties.svd(Trial(), factors(), [MATRIX])
    properties.svd(Trial(), factors(u=-U, v=-VH), [MATRIX])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"s": S[::-1]}, "do not fall"),
        ({"s": -S}, "do not fall"),
        ({"s": S * 1.001}, "imprecise: the factors do not multiply back"),
        ({"s": S * 2}, "wrong value: the factors do not multiply back"),
        ({"u": -U}, "do not multiply back"),
        ({"u": 2 * U, "s": S / 2}, "U is not orthonormal"),
        ({"u": np.zeros_like(U), "s": 0 * S}, "do not multiply back"),
        ({"u": np.full_like(U, np.nan)}, "do not multiply back"),
    ],
)
def test_wrong_factors_fail(changed, message):
    with pytest.raises(AssertionError, match=message):
        properties.svd(Trial(), factors(**changed), [MATRIX])


def lu_parts():
    order = [1, 0, 2]
    permutation = np.eye(3)[order]
    lower = np.array([[1, 0, 0], [0.5, 1, 0], [0.25, -0.5, 1]])
    upper = np.array([[2, 1, 0.5], [0, 1, 3], [0, 0, -1]])
    return permutation, lower, upper


def test_lu_demands_all_three_forms():
    p, lower, upper = (part.astype("float32") for part in lu_parts())
    matrix = p.astype("float64") @ lower @ upper
    properties.lu(Trial(), (p, lower, upper), [matrix])
    broken = [
        ((p * 2, lower, upper), "not a permutation"),
        ((p, lower.T, upper), "not lower triangular"),
        ((p, lower * 2, upper), "diagonal of L"),
        ((p, lower, upper.T), "not upper triangular"),
        ((p, lower, upper * 3), "wrong value: P L U is not the input"),
        ((np.eye(3, dtype="float32"), lower, upper), "P L U is not the input"),
    ]
    for parts, message in broken:
        with pytest.raises(AssertionError, match=message):
            properties.lu(Trial(), parts, [matrix])


def test_lists_of_unequal_length_are_a_mismatch():
    with pytest.raises(compare.Mismatch, match="shape"):
        compare.check_values([[1, 2], [3]], [[1, 2], [3, 4]], "exact")
