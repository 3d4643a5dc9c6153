"""Classifies values that differ from a test's reference: equal, imprecise, wrong or random.

The host computes the test's calls three times: unchanged, with another seed of the random state, and in float64.
Values that another seed changes cannot be compared. Otherwise the device's distance from the float64 values is compared
with the host's own distance, which shows how well conditioned the computation is (as in the error analysis of Higham,
Accuracy and Stability of Numerical Algorithms, 2nd ed., section 1.6).
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from runners.core.failure import IMPRECISE_ERROR
from runners.core.testing.compare import EPSILON

EQUAL_EPSILONS = 16
EQUAL_HOSTS = 4
"""Equal: within this many epsilons of the dtype, or this many times the host's own error."""

IMPRECISE_HOSTS = 64
"""Imprecise: not equal, but within IMPRECISE_ERROR, or within this many times the host's own error."""

EXACT = "exact"

Arrays = Sequence[Any]


def classify(
    device: Arrays, host: Arrays | None, other_seed: Arrays | None, float64: Arrays | None, dtype: str
) -> dict[str, Any]:
    """Returns ``value_verdict`` and ``deviation`` of a result.

    The arguments are the lists of all output arrays: of the device, of the host, of the host with another seed, and of
    the host in float64; None if the host could not compute them. ``dtype`` is the coarsest floating dtype of the
    outputs (see compare.EPSILON), or EXACT. Without values of the host, ``value_verdict`` is None. A test of several
    calls ends on the device at the first check that fails: what the host computed after that is not compared.
    """
    host, other_seed, float64 = (each and each[: len(device)] for each in (host, other_seed, float64))
    is_usable = float64 is not None and _comparable(float64, host if host is not None else device)
    reference = float64 if is_usable else host
    epsilon = EPSILON.get(dtype, 0.0)
    own = None if host is None else distance(host, reference)
    if own is None or own > IMPRECISE_ERROR:
        # The computation in float64 was a different one: the dtype is part of the computation.
        reference, own = host, None if host is None else 0.0
    of_device = distance(device, reference)
    seeds = None if host is None or other_seed is None else distance(other_seed, host)
    deviation = {"dtype": dtype, "device": of_device, "host": own, "other_seed": seeds}
    if reference is None:
        verdict = None
    elif host is not None and other_seed is not None and (seeds is None or seeds > IMPRECISE_ERROR):
        verdict = "random"
    elif of_device is None:
        verdict = "wrong"
    elif of_device <= max(EQUAL_EPSILONS * epsilon, EQUAL_HOSTS * (own or 0.0)):
        verdict = "equal"
    elif of_device <= max(IMPRECISE_ERROR, EQUAL_EPSILONS * epsilon, IMPRECISE_HOSTS * (own or 0.0)) and epsilon:
        verdict = "imprecise"
    else:
        verdict = "wrong"
    return {"value_verdict": verdict, "deviation": deviation}


def distance(actual: Arrays, expected: Arrays | None) -> float | None:
    """The greatest difference of an element over the greatest value of its array; None if shapes differ, or if one
    element is finite and the other is not."""
    if expected is None or not _comparable(actual, expected):
        return None
    worst = 0.0
    for one, two in zip(actual, expected):
        wider = np.complex128 if "c" in (one.dtype.kind, two.dtype.kind) else np.float64
        one, two = one.astype(wider), two.astype(wider)
        finite = np.isfinite(two)
        if not (np.isfinite(one) == finite).all() or not _same(one[~finite], two[~finite]):
            return None
        if finite.any():
            scale = float(np.max(np.abs(two[finite])))
            difference = float(np.max(np.abs(one[finite] - two[finite])))
            if difference:
                # If all expected values are zero, any difference counts as 1.
                worst = max(worst, difference / scale if scale else 1.0)
    return worst if np.isfinite(worst) else None


def _comparable(actual: Arrays, expected: Arrays) -> bool:
    return [array.shape for array in actual] == [array.shape for array in expected]


def _same(one: Any, two: Any) -> bool:
    return bool(((one == two) | ((one != one) & (two != two))).all())
