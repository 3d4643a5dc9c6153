"""Whether a function is right again when it is called again, and leaves its arguments as they were.

A function that is right only at its first call, from a cache that goes stale or a buffer that is used twice, passes
every check of the first output.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

import numpy as np

from runners.core.testing import compare


class Unstable(AssertionError):
    """A later call with the same arguments and seed gave something else than the first, or one with other values of the
    same shapes gave wrong ones."""

    recorded_as = "runners.core.repeats.Unstable"


class Overwritten(AssertionError):
    """A call changed an argument that it should not write to."""

    recorded_as = "runners.core.repeats.Overwritten"


class Leaf(NamedTuple):
    """One tensor or number of an output, copied to the host, with the name of its dtype."""

    dtype: str
    array: Any


def check_same(first: Sequence[Leaf], again: Callable[[], Sequence[Leaf]]) -> None:
    """Raises Unstable if the outputs of later calls differ from the first.

    Bit for bit if the later calls agree with each other, so that the function is deterministic on this device; else
    within the tolerance of the dtype, since sums in a free order differ in their last digits.
    """
    try:
        later = [again()]
        if _same(first, later[0]):
            return
        later += [again(), again()]
    except Exception as error:
        raise Unstable(f"unstable: a later call raised {type(error).__name__}: {error}") from error
    if len(first) != len(later[0]):
        raise Unstable(f"unstable: the first call gave {len(first)} values, the second {len(later[0])}")
    settled = _same(later[0], later[1]) and _same(later[0], later[2])
    for one, other in zip(first, later[0]):
        if settled and not _equal(one, other):
            raise Unstable(f"unstable: the later calls agree, and differ from the first: {_difference(one, other)}")
        if not settled:
            try:
                compare.check_dtype(other.dtype, one.dtype)
                compare.check_values(other.array, one.array, one.dtype)
            except compare.Mismatch as mismatch:
                raise Unstable(f"unstable: the second call differs from the first: {mismatch}") from mismatch


def check_other_values(case: Callable[[], None]) -> None:
    """Runs a case that has passed once more, with other values of its inputs. Raises Unstable if its checks fail now,
    since the function may have kept something of the first values, but Mismatch if the output is only imprecise."""
    try:
        case()
    except AssertionError as error:
        if isinstance(error, compare.Mismatch) and str(error).startswith("imprecise"):
            imprecise = compare.Mismatch(f"{error}, with other values of the inputs than at the first call")
            imprecise.max_relative_error = error.max_relative_error
            raise imprecise from error
        raise Unstable(f"unstable: right with the first values of the inputs, not with others: {error}") from error


def check_kept(before: Sequence[Leaf], after: Sequence[Leaf]) -> None:
    """Raises Unstable if an output has other values now than after its call, or more or fewer of them."""
    if len(before) != len(after):
        raise Unstable(
            f"unstable: a later call changed the output of this one: {len(before)} values became {len(after)}"
        )
    for one, other in zip(before, after):
        if not _equal(one, other):
            raise Unstable(f"unstable: a later call changed the output of this one: {_difference(one, other)}")


def _same(one: Sequence[Leaf], other: Sequence[Leaf]) -> bool:
    return len(one) == len(other) and all(map(_equal, one, other))


def _equal(one: Leaf, other: Leaf) -> bool:
    if one.dtype != other.dtype or one.array.shape != other.array.shape:
        return False
    if one.array.dtype.kind in "biufc":
        return bool(one.array.tobytes() == other.array.tobytes())
    return bool(np.array_equal(one.array, other.array))


def _difference(one: Leaf, other: Leaf) -> str:
    if one.dtype != other.dtype or one.array.shape != other.array.shape:
        return f"{one.dtype}{list(one.array.shape)} became {other.dtype}{list(other.array.shape)}"
    left, right = np.atleast_1d(one.array), np.atleast_1d(other.array)
    different = np.atleast_1d((left != right) & ~((left != left) & (right != right)))
    if not different.any():
        return "the sign of a zero, or another NaN"
    place = tuple(int(index) for index in np.argwhere(different)[0])
    return f"at {list(place)} {left[place]!r} became {right[place]!r}"


def check_unchanged(name: str, before: Any, after: Any) -> None:
    """Raises Overwritten unless an argument has the values that it was made with; NaN equals NaN."""
    try:
        compare.check_values(after, before, "exact", 0, 0)
    except compare.Mismatch as mismatch:
        raise Overwritten(f"overwritten: the call changed its argument {name}: {mismatch}") from mismatch
