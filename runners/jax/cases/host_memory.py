"""NumPy arrays as they come out of other programs: each is one row or matrix of the same values, in another memory."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given


class _Own(np.ndarray):
    """A class of the user's, derived from NumPy's."""


def host_memory(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Every third number of a row, a column of a table, a field of records, numbers at odd addresses, an array that may
    not be written to and one of a class of the user's have the output of their values, and stay as they are.

    The arguments and ``expect`` are those of a manifest's ``call``; all tensors are given as NumPy arrays of one kind.
    """
    given = Given(trial, args, kwargs)
    hosts = [np.array(trial.numpy(tensor)) for tensor in given.tensors]
    trial.repeatable = False  # each call is one of a row
    for number, made in enumerate((_third, _column, _field, _unaligned, _locked, _own)):
        # Other values in each call, so that none can have the output of another.
        values = [np.roll(host, number) for host in hosts]
        arrays = [made(each) for each in values]
        before = [(array.strides, str(array.flags), array.tobytes()) for array in arrays]
        output = trial.call(*given.with_tensors(arrays), **given.kwargs)
        trial.equal([(array.strides, str(array.flags), array.tobytes()) for array in arrays], before)
        given.check(trial, output, given.with_tensors([widened(each) for each in values]), expect, rtol, atol)


def _third(array: Any) -> Any:
    base = np.full((*array.shape[:-1], 3 * array.shape[-1]), 7, array.dtype)
    base[..., ::3] = array
    return base[..., ::3]


def _column(array: Any) -> Any:
    base = np.full((*array.shape, 2), 7, array.dtype)
    base[..., 1] = array
    return base[..., 1]


def _field(array: Any) -> Any:
    base = np.full(array.shape, 7, [("before", "int8"), ("this", array.dtype), ("after", "float64")])
    base["this"] = array
    return base["this"]


def _unaligned(array: Any) -> Any:
    base = np.full(array.nbytes + 1, 7, "uint8")
    made = base[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def _locked(array: Any) -> Any:
    made = np.array(array)
    made.flags.writeable = False
    return made


def _own(array: Any) -> Any:
    return np.array(array).view(_Own)
