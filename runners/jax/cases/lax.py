"""jax.lax: select, ge, bitwise_and and integer_pow, and cases for any function with a reference."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.public import names
from runners.core.testing import references
from runners.core.testing.arrays import widened
from runners.core.testing.inputs import Builder
from runners.core.testing.trial import Trial
from runners.jax.cases.wide_types import call_with_x64
from runners.jax.double import x64

# For any function with a reference


def double(
    trial: Trial,
    reference: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    reference_kwargs: Mapping[str, Any] | None = None,
    dtype: str = "float64",
    tolerance: float = 1e-12,
) -> None:
    """With 64-bit types enabled, the output is 64 bits wide and accurate to twelve digits, not to seven.

    ``args`` are arguments as in a manifest's ``call``; ``reference`` is a name such as ``numpy.where``.
    """
    named = dict(kwargs or {})

    def body(function: Callable[..., Any], *tensors: Any) -> Any:
        with x64():
            return function(*tensors, **named)

    with x64():
        built = Builder(trial, names.framework(trial.framework)).all(args)
    output = trial.call_inside(body, *[item.device for item in built])
    expected = _reference(reference)(*[item.host for item in built], **(reference_kwargs or {}))
    allowed = tolerance if dtype.startswith(("float", "complex")) else 0.0
    trial.close(output, expected, rtol=allowed, atol=allowed, dtype=dtype)


def compiled(trial: Trial, reference: str, args: Sequence[Any], dtype: str = "float32") -> None:
    """Mapped over the rows of all tensors and compiled, with the other arguments fixed, it matches the reference."""
    built = Builder(trial, names.framework(trial.framework)).all(args)
    tensors = [item.device for item in built if trial.dtype_name(item.device)]
    fixed = tuple(item.device for item in built[len(tensors) :])

    def body(function: Callable[..., Any], *tensors: Any) -> Any:
        return map_and_compile(function, fixed)(*tensors)

    output = trial.call_inside(body, *tensors)
    trial.close(output, _reference(reference)(*[item.host for item in built]), dtype=dtype)


# jax.lax.select


def select_gradient(trial: Trial) -> None:
    """Only the selected side gets the cotangent; an infinite derivative of the other side has no effect."""
    host, weights = trial.random(6, 50), trial.random(6, 50, seed=1)

    def body(select: Callable[..., Any], x: Any, weights: Any) -> Any:
        def weighted(x: Any, other: Any) -> Any:
            root = lax.sqrt(select(x > 0, x, jnp.ones_like(x)))
            chosen = select(x > 0, root, other)
            return jnp.sum(weights * chosen), chosen

        return jax.grad(weighted, argnums=(0, 1), has_aux=True)(x, jnp.zeros_like(x) + 3)

    (to_x, to_other), chosen = trial.call_inside(body, trial.tensor(host), trial.tensor(weights))
    positive = host > 0
    roots = np.sqrt(np.where(positive, widened(host), 1))
    trial.close(chosen, np.where(positive, roots, 3), dtype="float32")
    # The root and the quotient are rounded, and half of the roots are small.
    trial.close(to_x, np.where(positive, weights / (2 * roots), 0), rtol=5e-6, dtype="float32")
    trial.close(to_other, np.where(positive, 0, weights), dtype="float32")


def select_mapped_predicate(trial: Trial) -> None:
    """Mapped over a vector of booleans and a stack of matrices, each boolean selects a whole matrix."""
    pred = trial.random(7, dtype="bool", seed=2)
    left, right = trial.random(7, 3, 4), trial.random(7, 3, 4, seed=1)

    def body(select: Callable[..., Any], *tensors: Any) -> Any:
        return jax.vmap(select)(*tensors)

    output = trial.call_inside(body, *map(trial.tensor, (pred, left, right)))
    trial.exact(output, np.where(pred[:, None, None], left, right), "float32")


# jax.lax.ge


def ge_special_values(trial: Trial, dtype: str) -> None:
    """Every comparison with NaN is false, both zeros are equal, and infinities are at both ends."""
    left = np.array([np.nan, 1, np.nan, 0.0, -0.0, np.inf, -np.inf, np.inf, 1, -np.inf])
    right = np.array([1, np.nan, np.nan, -0.0, 0.0, np.inf, -np.inf, 1, np.inf, np.nan])
    expected = np.array([False, False, False, True, True, True, True, True, False, False])
    trial.close(trial.call(trial.tensor(left, dtype), trial.tensor(right, dtype)), expected, dtype="bool")


def ge_neighbors(trial: Trial, dtype: str) -> None:
    """Integers that differ by one are distinguished at any size, also if a float32 cannot represent them."""
    bounds = np.iinfo(dtype)
    values = np.array([bounds.min, bounds.min + 1, bounds.max // 2, bounds.max - 1, bounds.max], dtype)
    left, right = (np.ascontiguousarray(side) for side in np.broadcast_arrays(values[:, None], values[None, :]))
    trial.close(trial.call(trial.tensor(left), trial.tensor(right)), np.tri(5, dtype=bool), dtype="bool")


def ge_chooses(trial: Trial) -> None:
    """As the condition of a maximum it contributes nothing to the derivative."""
    left, right = trial.random(300), trial.random(300, seed=1)

    def body(ge: Callable[..., Any], left: Any, right: Any) -> Any:
        def largest(left: Any, right: Any) -> Any:
            return jnp.sum(jnp.where(ge(left, right), left, right))

        return ge(left, right), jax.grad(largest)(left, right)

    outcomes, gradient = trial.call_inside(body, trial.tensor(left), trial.tensor(right))
    trial.close(outcomes, left >= right, dtype="bool")
    trial.close(gradient, (left >= right).astype("float64"), dtype="float32")


# jax.lax.bitwise_and


def and_patterns(trial: Trial, dtype: str, double: bool = False) -> None:
    """For all widths and signs each bit is the product of both bits: random patterns, all ones, only the sign."""
    bits = np.iinfo(dtype).bits
    state = np.random.RandomState(bits)
    left, right = (state.randint(0, 256, 96 * bits // 8).astype("uint8").view(dtype) for _ in range(2))
    left[:3], right[:3] = np.array([-1, -1, 1 << (bits - 1)]).astype(dtype), np.array([5, -1, -1]).astype(dtype)
    wide = [[int(value) for value in side] for side in (left, right)]
    expected = np.array([a & b for a, b in zip(*wide)], dtype)
    output = call_with_x64(trial, left, right) if double else trial.call(trial.tensor(left), trial.tensor(right))
    trial.close(output, expected, dtype=dtype)


# jax.lax.integer_pow


def pow_gradient(trial: Trial, y: int) -> None:
    """The derivative of x^y is y x^(y-1), also at zero; the second derivative is y (y-1) x^(y-2)."""
    host = trial.random(500, seed=abs(y), low=0.5, high=1.5) * np.where(trial.random(500, dtype="bool"), 1, -1)
    host = host.astype("float32")
    if y >= 0:
        host[:2] = 0

    def body(integer_pow: Callable[..., Any], x: Any) -> Any:
        def power(x: Any) -> Any:
            return integer_pow(x, y)

        return [jax.vmap(each)(x) for each in (power, jax.grad(power), jax.grad(jax.grad(power)))]

    value, slope, second = trial.call_inside(body, trial.tensor(host))
    x = widened(host)
    # A power is a chain of rounded products: a few roundings more than one operation.
    allowed = {"rtol": 3e-6, "atol": 1e-6, "dtype": "float32"}
    trial.close(value, x**y, **allowed)
    trial.close(slope, y * x ** (y - 1) if y else 0 * x, **allowed)
    trial.close(second, y * (y - 1) * x ** (y - 2) if y not in (0, 1) else 0 * x, **allowed)


def pow_special_values(trial: Trial, power: Sequence[Any]) -> None:
    """The powers of zeros and infinities of both signs and of NaN match IEEE 754's pown.

    ``power``: the exponent, then the five expected values; ``"inf"``, ``"-0"`` and ``"nan"`` are numbers.
    """
    exponent, *expected = power
    values = trial.tensor(np.array([0, -0.0, np.inf, -np.inf, np.nan], "float32"))
    output = trial.call(values, exponent)
    trial.exact(output, [float(value) for value in expected], "float32")


@lru_cache(maxsize=1)
def map_and_compile(function: Callable[..., Any], fixed: Any) -> Callable[..., Any]:
    """Compile once for each function, so that a repeated call does not compile again."""
    return jax.jit(jax.vmap(lambda *rows: function(*rows, *fixed)))


def _reference(name: str) -> Callable[..., Any]:
    library, _, rest = name.partition(".")
    return references.find(library, rest)
