"""Derivatives at given points and of many elements, and bounds that no output may exceed: for any function."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.public import names
from runners.core.testing import references
from runners.core.testing.arrays import widened
from runners.core.testing.inputs import Builder, on_device
from runners.core.testing.trial import Trial


def gradient_at(
    trial: Trial,
    args: Sequence[Any],
    value: Any,
    expected: Any,
    place: int = 0,
    kwargs: Mapping[str, Any] | None = None,
    output: int | None = None,
    dtype: str = "float32",
    rtol: float | None = None,
    compiled: bool | str = True,
) -> None:
    """Value at given points, and gradient of the sum of the values for one argument; ``"nan"`` is a number.

    ``output``: which of several outputs. Without ``compiled`` each operation is called by itself; with ``within`` the
    derivative is that of a compiled function.
    """
    given, named = on_device(trial, args, kwargs)

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def total(x: Any) -> Any:
            found = function(*given[:place], x, *given[place + 1 :], **named)
            found = found if output is None else found[output]
            return jnp.sum(found.astype("float32")), found

        derived = jax.grad(jax.jit(total) if compiled == "within" else total, has_aux=True)
        return jax.jit(derived) if compiled is True else derived

    gradient, found = trial.call_inside(lambda function, x: made(function)(x), given[place])
    trial.close(found, np.array(value, "float64"), rtol=rtol, dtype=dtype)
    trial.close(gradient, np.array(expected, "float64"), rtol=rtol, dtype=dtype)


def gradient_of_same(
    trial: Trial, values: Sequence[float], expected: Sequence[float], listed: bool = False, first: Sequence[Any] = ()
) -> None:
    """Given the same array twice, after the arguments ``first``, the gradient of the sum is that of both places.

    ``listed``: the arrays are given as a list.
    """
    before = [item.device for item in Builder(trial, names.framework(trial.framework)).all(first)]

    def body(function: Callable[..., Any], x: Any) -> Any:
        def total(x: Any) -> Any:
            return jnp.sum(function([x, x]) if listed else function(*before, x, x))

        return jax.grad(total)(x), jax.jit(jax.grad(total))(x)

    for gradient in trial.call_inside(body, trial.tensor(np.array(values, "float32"))):
        trial.close(gradient, np.array(expected, "float64"), dtype="float32")


def slopes_of_many(
    trial: Trial,
    reference: str,
    low: float,
    high: float,
    args: Sequence[Any] = (),
    shape: Sequence[int] = (65_539, 2),
    rtol: float = 1e-5,
) -> None:
    """Of more rows than 16 bits can count, each has its value and its derivative: that of the reference, between two
    points close by."""
    host = trial.random(*shape, low=low, high=high, seed=3)
    weights = trial.random(*shape, low=0.5, high=1.5, seed=4)
    library, _, rest = reference.partition(".")
    exact: Callable[..., Any] = references.find(library, rest)

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def total(x: Any, weights: Any) -> Any:
            found = function(x, *args)
            return jnp.sum(weights * found), found

        return jax.jit(jax.grad(total, has_aux=True))

    gradient, found = trial.call_inside(
        lambda function, *x: made(function)(*x), trial.tensor(host), trial.tensor(weights)
    )
    x, step = widened(host), 1e-5
    trial.close(found, exact(x, *args), rtol=rtol, dtype="float32")
    slope = (exact(x + step, *args) - exact(x - step, *args)) / (2 * step)
    trial.close(gradient, weights * slope, rtol=rtol, dtype="float32")


def bounded(
    trial: Trial,
    reference: str,
    low: float,
    high: float,
    least: float,
    most: float,
    dtype: str = "float32",
    rtol: float | None = None,
) -> None:
    """Of numbers close to each other from ``low`` to ``high``, no output of a compiled function is below the least or
    above the greatest value that the function has."""
    moved = trial.tensor(np.linspace(low, high, 20_001), dtype)
    output = trial.call_inside(lambda function, x: _compiled(function)(x), moved)
    library, _, rest = reference.partition(".")
    exact = references.find(library, rest)(widened(trial.numpy(moved)))
    trial.close(output, exact, rtol=rtol, dtype=dtype)
    found = widened(trial.numpy(output))
    trial.check(found.min() >= least and found.max() <= most, f"values from {found.min()!r} to {found.max()!r}")


@lru_cache(maxsize=1)
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return jax.jit(lambda x: function(x))
