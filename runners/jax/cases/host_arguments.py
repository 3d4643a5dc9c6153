"""NumPy arrays and lists that are given to a function stay as they are: of each type, with special values, in each
shape and order of memory."""

from __future__ import annotations

import contextlib
import copy
from typing import Any, Callable, Mapping, Sequence

import jax
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given
from runners.jax.surroundings import watched

_REAL = ("float32", "float16", "bfloat16", "float64", "int8", "int32", "int64", "uint16", "bool")
_FLOATS = [np.nan, -0.0, np.inf, 1 + 2.0**-9, -np.inf, 0.0, -2.5, 7.0]
_INTEGERS = [3, -1, 0, 7, -128, 127, 1, -2]


def host_arguments(
    trial: Trial,
    calls: Sequence[Mapping[str, Any]],
    dtypes: Sequence[str] = (*_REAL, "complex64"),
    traced: bool = True,
) -> None:
    """In a trace, which compiles nothing, each call leaves its NumPy arrays as they are: values with their signs,
    shape, strides, type and flags; lists too. So it is where the function refuses a type. Nothing around changes. The
    function computes on the device afterwards.

    Each of the ``calls`` has the arguments of a manifest's ``call``. Its tensors are given as NumPy arrays, those of
    float32 as special numbers: of this type in every call, of each of the ``dtypes`` in one of them, in the order of
    rows or of columns. Without ``traced`` the calls compute, for functions that read what is in an array.
    """
    given = [Given(trial, call.get("args", ()), call.get("kwargs")) for call in calls]
    pairs = [(one, "float32") for one in given]
    pairs += [(given[number % len(given)], dtype) for number, dtype in enumerate(dtypes) if dtype != "float32"]
    # Made here: within the call they would be reads of the device.
    arguments = [_on_host(one, dtype, "CF"[number % 2]) for number, (one, dtype) in enumerate(pairs)]
    trial.repeatable = False  # each call is one of a row

    accepted: list[bool] = []

    def body(function: Callable[..., Any], *tensors: Any) -> Any:
        with watched(trial):
            accepted[:] = [_unchanged(trial, function, args, kwargs, traced) for args, kwargs in arguments]
        return function(*given[0].with_tensors(tensors), **given[0].kwargs)

    trial.call_inside(body, *given[0].tensors)
    trial.check(any(accepted), "no call was accepted")


def _on_host(given: Given, dtype: str, order: Any) -> tuple[Any, dict[str, Any]]:
    """Return the arguments of a call with NumPy arrays in the place of tensors."""
    arrays = [_special(tensor, dtype, order) for tensor in given.tensors]
    kwargs = {name: np.array(value) if isinstance(value, jax.Array) else value for name, value in given.kwargs.items()}
    return given.with_tensors(arrays), kwargs


def _unchanged(
    trial: Trial, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], traced: bool
) -> bool:
    arrays = [leaf for leaf in jax.tree_util.tree_leaves((args, kwargs)) if isinstance(leaf, np.ndarray)]
    before = [_described(array) for array in arrays]
    rest = copy.deepcopy(_without_arrays((args, kwargs)))
    accepted = False
    with contextlib.suppress(TypeError, ValueError):
        if traced:
            jax.eval_shape(lambda: function(*args, **kwargs))
        else:
            function(*args, **kwargs)
        accepted = True
    trial.equal([_described(array) for array in arrays], before)
    trial.equal(_without_arrays((args, kwargs)), rest)
    return accepted


def _special(tensor: Any, dtype: str, order: Any) -> Any:
    """Return a NumPy array in the shape of a tensor: of special numbers, or of its own unless it is of float32."""
    host = np.array(tensor, order=order)
    if str(host.dtype) != "float32":
        return host
    numbers = _FLOATS if dtype.startswith(("float", "bfloat", "complex")) else _INTEGERS
    values = np.resize(np.array(numbers), host.shape)
    if dtype.startswith("complex"):
        values = values.astype(dtype)
        values.imag = np.resize([1.5, -0.0, np.nan, 2], host.shape)
    with np.errstate(all="ignore"):
        return np.array(values.astype(jax.numpy.dtype(dtype)), order=order)


def _described(array: Any) -> Any:
    return array.tobytes(), array.shape, array.strides, str(array.dtype), str(array.flags)


def _without_arrays(value: Any) -> Any:
    """Return lists, tuples and dicts with the type in the place of each array, and each other value with its type."""
    if isinstance(value, dict):
        return {name: _without_arrays(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value), [_without_arrays(each) for each in value]
    return (type(value), repr(value)) if isinstance(value, (bool, int, float, complex, str)) else type(value)
