"""Special functions of one number, element by element: limits, far tails and derivatives."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.wide_types import call_with_x64

_WITH_SLOPES: dict[str, tuple[Callable[..., Any], Sequence[Callable[..., Any]]]] = {
    "erf": (
        special.erf,
        [
            lambda x: 2 / np.sqrt(np.pi) * np.exp(-(x**2)),
            lambda x: -4 * x / np.sqrt(np.pi) * np.exp(-(x**2)),
        ],
    ),
    "normal": (
        special.ndtr,
        [
            lambda x: np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi),
            lambda x: -x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi),
        ],
    ),
    "i0": (special.i0, [special.i1]),
    "gammaln": (special.gammaln, [special.psi, lambda x: special.polygamma(1, x)]),
}


def at_limits(trial: Trial, inputs: Sequence[Any], expected: Sequence[Any], dtype: str = "float32") -> None:
    """At zeros, infinities, poles and NaN the values are the limits; ``"nan"`` and ``"-inf"`` are numbers."""
    values = np.array([float(value) for value in inputs])
    wanted = [float(value) for value in expected]
    trial.close(trial.call(trial.tensor(values, dtype)), wanted, dtype=dtype)


def slopes(
    trial: Trial,
    function: str,
    low: float,
    high: float,
    order: int = 1,
    rtol: float = 1e-5,
    atol: float = 1e-5,
    also: Sequence[float] = (),
) -> None:
    """Value and derivatives, mapped over a vector with the numbers ``also`` in front, match the closed form."""
    value, derivatives = _WITH_SLOPES[function]
    host = trial.random(400, low=low, high=high, seed=order)
    host[: len(also)] = also

    def body(under_test: Callable[..., Any], x: Any) -> Any:
        functions = [under_test]
        for _ in range(order):
            functions.append(jax.grad(functions[-1]))
        return jax.jit(lambda x: [jax.vmap(each)(x) for each in functions])(x)

    trial.has_random_inputs = False  # other values would compile the same program again
    outputs = trial.call_inside(body, trial.tensor(host))
    x = widened(host)
    for output, reference in zip(outputs, [value, *derivatives[:order]]):
        trial.close(output, reference(x), rtol=rtol, atol=atol, dtype="float32")


def far_tail(trial: Trial, low: float, high: float, rtol: float, double: bool = False) -> None:
    """The normal distribution's lower tail has a bounded relative error far below float's epsilon."""
    dtype = "float64" if double else "float32"
    host = trial.random(300, dtype=dtype, low=low, high=high)
    output = call_with_x64(trial, host) if double else trial.call(trial.tensor(host))
    trial.close(output, special.ndtr(widened(host)), rtol=rtol, atol=0, dtype=dtype)


def odd_or_even(trial: Trial, sign: int) -> None:
    """f(-x) is exactly sign f(x), over eight powers of ten of x, and f(x) is not constant."""
    host = (10.0 ** trial.random(1000, dtype="float64", low=-6, high=1.5)).astype("float32")
    right = trial.call(trial.tensor(host))
    left = trial.call(trial.tensor(-host))
    trial.exact(left, sign * trial.numpy(right), "float32")
    reference = special.erf if sign < 0 else special.i0
    # Relative to the value: for small values an absolute bound would accept anything.
    trial.close(right, reference(widened(host)), rtol=1e-5, atol=0, dtype="float32")


def cdf_located(trial: Trial, shapes: Sequence[Sequence[int]], x: str = "float32", named: bool = False) -> None:
    """Location and scale, broadcast with x, shift and stretch: cdf(x, m, s) = ndtr((x - m) / s).

    ``x``: the dtype of the first argument; integers become float32. ``named``: give location and scale by keyword, also
    one without the other.
    """
    first = trial.random(*shapes[0], dtype=x)
    loc, scale = trial.random(*shapes[1], seed=1), trial.random(*shapes[2], seed=2, low=0.5, high=3)
    moved = [trial.tensor(host) for host in (first, loc, scale)]
    output = trial.call(moved[0], scale=moved[2], loc=moved[1]) if named else trial.call(*moved)
    expected = special.ndtr((widened(first) - widened(loc)) / widened(scale))
    trial.close(output, expected, dtype="float32")
    if named:
        trial.close(trial.call(moved[0], loc=moved[1]), special.ndtr(widened(first) - loc), dtype="float32")
        trial.close(trial.call(moved[0], scale=moved[2]), special.ndtr(widened(first) / scale), dtype="float32")


def cdf_gradient(trial: Trial, rows: int = 16, scales: Sequence[int] = (16, 1)) -> None:
    """The derivative is the density over the scale for x, minus that for the location, and minus z times that for the
    scale; over what is broadcast it is summed. ``scales``: the shape of the scale."""
    x, loc, scale = trial.random(rows, 5), trial.random(5, seed=1), trial.random(*scales, seed=2, low=0.5, high=3)
    weights = trial.random(rows, 5, seed=3)

    def body(cdf: Callable[..., Any], *tensors: Any) -> Any:
        return _all_slopes(cdf)(*tensors)

    (to_x, to_loc, to_scale), value = trial.call_inside(body, *map(trial.tensor, (x, loc, scale, weights)))
    z = (widened(x) - loc) / scale
    density = weights * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / scale
    # Sums of up to 16 or 70 numbers, each with a few float32 roundings.
    allowed = {"rtol": 5e-6, "atol": 1e-5, "dtype": "float32"}
    to_scales = -z * density
    trial.close(value, special.ndtr(z), dtype="float32")
    trial.close(to_x, density, **allowed)
    trial.close(to_loc, -density.sum(axis=0), **allowed)
    trial.close(
        to_scale, to_scales.sum(axis=0) if len(scales) == 1 else to_scales.sum(axis=1, keepdims=True), **allowed
    )


def cdf_double(trial: Trial) -> None:
    """With 64-bit types enabled, the output is accurate to twelve digits."""
    x, loc, scale = (trial.random(200, dtype="float64", seed=seed, low=0.5, high=3) for seed in range(3))
    output = call_with_x64(trial, x, loc, scale)
    trial.close(output, special.ndtr((x - loc) / scale), rtol=1e-12, atol=0, dtype="float64")


def normal_draws(trial: Trial, count: int) -> None:
    """Of normally distributed numbers it makes uniform ones: their order statistics are near those of a uniform
    sample."""
    host = trial.random(count, seed=3)
    levels = trial.call(trial.tensor(host))
    trial.close(levels, special.ndtr(widened(host)), dtype="float32")
    ordered = np.sort(trial.numpy(levels))
    distance = float(np.max(np.abs(ordered - (np.arange(count) + 0.5) / count)))
    # Kolmogorov's bound at a level of 1 in 10,000.
    trial.check(distance < 2.23 / count**0.5, f"the levels are {distance:.4f} away from uniform ones")


def factorials(trial: Trial) -> None:
    """exp(gammaln(n)) is (n - 1)!, and gammaln(x + 1) - gammaln(x) is log(x)."""
    numbers = np.arange(3, 13)
    products = np.cumprod(np.arange(1, 13, dtype="float64"))
    logarithms = trial.call(trial.tensor(numbers.astype("float32")))
    trial.close(logarithms, np.log(products[numbers - 2]), dtype="float32")
    x = trial.random(200, low=0.1, high=20)
    difference = trial.call(trial.tensor(x + np.float32(1))), trial.call(trial.tensor(x))
    one, other = (trial.numpy(part).astype("float64") for part in difference)
    # Differences of numbers up to 42, each with a few float32 roundings.
    trial.close(one - other, np.log(widened(x)), rtol=0, atol=3e-5)
    trial.equal([trial.dtype_name(part) for part in difference], ["float32"] * 2)


def through_series(trial: Trial) -> None:
    """Inside a scan, sums of i0's power series match it."""
    host = trial.random(50, low=-3, high=3)

    def body(i0: Callable[..., Any], x: Any) -> Any:
        return _series(i0)(x)

    direct, summed = trial.call_inside(body, trial.tensor(host))
    trial.close(direct, special.i0(widened(host)), dtype="float32")
    trial.close(summed, special.i0(widened(host)), rtol=3e-6, dtype="float32")


@lru_cache(maxsize=1)
def _all_slopes(cdf: Callable[..., Any]) -> Callable[..., Any]:
    """Compile once for each function, so that a repeated call does not compile again."""

    def weighted(x: Any, loc: Any, scale: Any, weights: Any) -> Any:
        value = cdf(x, loc, scale)
        return jnp.sum(weights * value), value

    return jax.jit(jax.grad(weighted, argnums=(0, 1, 2), has_aux=True))


@lru_cache(maxsize=1)
def _series(i0: Callable[..., Any]) -> Callable[..., Any]:
    def both(x: Any) -> Any:
        def step(carry: Any, k: Any) -> Any:
            total, term = carry
            term = term * (x / (2 * k)) ** 2
            return (total + term, term), None

        start = (jnp.ones_like(x), jnp.ones_like(x))
        return i0(x), jax.lax.scan(step, start, jnp.arange(1.0, 15.0))[0][0]

    return jax.jit(both)
