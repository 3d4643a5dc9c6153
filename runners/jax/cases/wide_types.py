"""Calls of the function under test while JAX's 64-bit types are on."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from runners.core.testing.trial import Trial
from runners.jax.double import x64


def call_with_x64(trial: Trial, *arrays: Any, args: Sequence[Any] = (), **kwargs: Any) -> Any:
    """Move host arrays to the device, call the function with them, ``args`` and ``kwargs``, and return its output.

    64-bit types are on while the arrays are moved and during the timed call.
    """
    with x64():
        tensors = [trial.tensor(array) for array in arrays]

    def body(function: Callable[..., Any], *tensors: Any) -> Any:
        with x64():
            return function(*tensors, *args, **kwargs)

    return trial.call_inside(body, *tensors)
