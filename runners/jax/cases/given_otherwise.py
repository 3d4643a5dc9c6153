"""Arguments that are given in another way than usual: a NumPy array that changes, and numbers of other kinds."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given

Place = Any
"""The position or the name of an argument."""


def changed(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    wide: bool = True,
) -> None:
    """NumPy arrays that were changed after a call and are given again have the output of their new values. With
    ``wide`` so have their float64 and int64 copies, which are rounded once.

    The arguments and ``expect`` are those of a manifest's ``call``; all tensors are given as NumPy arrays.
    """
    given = Given(trial, args, kwargs)
    hosts = [np.array(trial.numpy(tensor)) for tensor in given.tensors]
    trial.repeatable = False  # the arguments change

    def check(arrays: Sequence[Any]) -> None:
        output = trial.call(*given.with_tensors(arrays), **given.kwargs)
        given.check(trial, output, given.with_tensors([widened(host) for host in hosts]), expect, rtol, atol)

    check(hosts)
    for host in hosts:
        host[...] = np.flip(host).copy()
    check(hosts)
    if wide:
        names = {"f": "float64", "i": "int64"}
        # The last digits of a float64 are rounded away, those of the float32 that it comes from are not.
        check([_nearby(host.astype(names.get(host.dtype.kind, host.dtype))) for host in hosts])


def numbers(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    over: Mapping[str, Sequence[str]],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """A number that is given as one of another kind is the same number.

    The arguments and ``expect`` are those of a manifest's ``call``. ``over``: the kinds for each position or name:
    ``int32`` is a NumPy scalar, ``array int32`` a NumPy array without axes, ``device int32`` one of the device, and
    ``plain`` what the test has. Of a list or tuple each element is converted.
    """
    given = Given(trial, args, kwargs)
    positional = given.with_tensors(given.tensors)
    trial.repeatable = False  # each call is one of a row
    for place, kinds in over.items():
        for kind in kinds:
            new_args, new_kwargs = list(positional), dict(given.kwargs)
            target: Any = new_kwargs if place in new_kwargs else new_args
            key = place if place in new_kwargs else int(place)
            target[key] = _converted(_maker(trial, kind), target[key])
            output = trial.call(*new_args, **new_kwargs)
            given.check(trial, output, given.host, expect, rtol, atol)


def _maker(trial: Trial, kind: str) -> Callable[[Any], Any]:
    where, _, dtype = kind.rpartition(" ")
    if kind == "plain":
        return lambda number: number
    if where == "array":
        return lambda number: np.array(number, dtype)
    if where == "device":
        return lambda number: trial.tensor(np.array(number, dtype))
    return lambda number: np.dtype(dtype).type(number)


def _converted(make: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(make(item) for item in value)
    return make(value)


def _nearby(array: Any) -> Any:
    """Return float64 numbers just above or below those of float32, which are rounded to them; others as they are."""
    if array.dtype != np.float64:
        return array
    sides = np.resize([-(2.0**-30), 2.0**-30], array.shape)
    return array + np.where(np.isfinite(array), array, 0) * sides
