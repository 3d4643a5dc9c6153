"""What is to be said of values that a test's reference refused: are they wrong, or could none be better?

The host computes the test's calls three times: as they are, with another seed of the random state, and in float64.
Values that another seed changes cannot be compared. Else the device's distance from the float64 values is held
against the host's own, which tells how well conditioned the computation is (as in the error analysis of Higham,
Accuracy and Stability of Numerical Algorithms, 2nd ed., section 1.6).
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from runners.core.testing.compare import EPSILON

EQUAL_EPSILONS = 16
EQUAL_HOSTS = 4
"""Equal: within so many epsilons of the dtype, or so many times the host's own error."""

IMPRECISE_SHARE = 2.0**-6
IMPRECISE_HOSTS = 64
"""Imprecise: beyond that, but within the error of a product in bfloat16, the coarsest that an accelerator puts in the
place of a wider dtype, or so many times the host's own error."""

EXACT = "exact"

Arrays = Sequence[Any]


def judged(
    device: Arrays, host: Arrays | None, other: Arrays | None, wide: Arrays | None, dtype: str
) -> dict[str, Any]:
    """``numbers`` and ``deviation`` of a result, from what the device gave and what the host gave in its three ways.

    Each is the list of all output arrays, or None where the host could not compute it. ``dtype``: the coarsest
    floating dtype of the outputs (see compare.EPSILON), or EXACT. Without any values of the host, ``numbers`` is
    None: nothing can be said.
    """
    reference = wide if wide is not None and _comparable(wide, host if host is not None else device) else host
    epsilon = EPSILON.get(dtype, 0.0)
    own = None if host is None else distance(host, reference)
    if own is None or own > IMPRECISE_SHARE:
        # What was computed in float64 was not the same computation: its dtype was part of it.
        reference, own = host, None if host is None else 0.0
    of_device = distance(device, reference)
    seeds = None if host is None or other is None else distance(other, host)
    deviation = {"dtype": dtype, "device": of_device, "host": own, "other_seed": seeds}
    if reference is None:
        verdict = None
    elif host is not None and other is not None and (seeds is None or seeds > IMPRECISE_SHARE):
        verdict = "random"
    elif of_device is None:
        verdict = "wrong"
    elif of_device <= max(EQUAL_EPSILONS * epsilon, EQUAL_HOSTS * (own or 0.0)):
        verdict = "equal"
    elif of_device <= max(IMPRECISE_SHARE, EQUAL_EPSILONS * epsilon, IMPRECISE_HOSTS * (own or 0.0)) and epsilon:
        verdict = "imprecise"
    else:
        verdict = "wrong"
    return {"numbers": verdict, "deviation": deviation}


def distance(actual: Arrays, expected: Arrays | None) -> float | None:
    """The greatest difference of any element over the greatest value of its array; None where shapes differ or one is
    finite and the other is not."""
    if expected is None or not _comparable(actual, expected):
        return None
    worst = 0.0
    for one, two in zip(actual, expected):
        wide = np.complex128 if "c" in (one.dtype.kind, two.dtype.kind) else np.float64
        one, two = one.astype(wide), two.astype(wide)
        finite = np.isfinite(two)
        if not (np.isfinite(one) == finite).all() or not _same(one[~finite], two[~finite]):
            return None
        if finite.any():
            scale = float(np.max(np.abs(two[finite])))
            difference = float(np.max(np.abs(one[finite] - two[finite])))
            if difference:
                # Against nothing but zeros, any difference is as large as a value.
                worst = max(worst, difference / scale if scale else 1.0)
    return worst if np.isfinite(worst) else None


def _comparable(actual: Arrays, expected: Arrays) -> bool:
    return [array.shape for array in actual] == [array.shape for array in expected]


def _same(one: Any, two: Any) -> bool:
    return bool(((one == two) | ((one != one) & (two != two))).all())
