"""Derivatives: jax.vjp, which returns a function's value and its pullback, and jax.lax.stop_gradient."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.compare import EPSILON
from runners.core.testing.trial import Trial
from runners.jax.double import x64


def vjp_matmul(trial: Trial, dtype: str, size: int = 16) -> None:
    """The cotangents of a matrix product are products with the other matrix transposed."""

    def rounded(rows: int, columns: int, seed: int) -> tuple[Any, Any]:
        moved = trial.tensor(trial.random(rows, columns, dtype=dtype, seed=seed, low=0.5, high=1.5), dtype)
        return moved, widened(trial.numpy(moved))

    (left, a), (right, b), (cotangent, c) = (
        rounded(*shape, seed) for seed, shape in enumerate([(8, size), (size, 4), (8, 4)])
    )
    output, pull_back = trial.call(jnp.matmul, left, right)
    to_left, to_right = pull_back(cotangent)
    # All terms are positive, so a sum of n products is off by at most n roundings; half precision is summed in single
    # precision.
    allowed = 2 * EPSILON[dtype] if "16" in dtype else size * EPSILON[dtype]
    trial.close(output, a @ b, rtol=allowed, atol=0, dtype=dtype)
    trial.close(to_left, c @ b.T, rtol=allowed, atol=0, dtype=dtype)
    trial.close(to_right, a.T @ c, rtol=allowed, atol=0, dtype=dtype)


def vjp_pulled_back(trial: Trial, shape: Any, dtype: str = "float32") -> None:
    """Value and cotangent of sin(x) x, computed in one call, are sin(x) x and c (cos(x) x + sin(x))."""
    host, cotangent = trial.random(*shape, dtype=dtype), trial.random(*shape, seed=1, dtype=dtype)
    types = x64 if dtype == "float64" else contextlib.nullcontext

    def body(vjp: Any, x: Any, cotangent: Any) -> Any:
        with types():
            output, pull_back = vjp(lambda x: jnp.sin(x) * x, x)
            return output, pull_back(cotangent)[0]

    with types():
        tensors = trial.tensor(host), trial.tensor(cotangent)
    output, pulled = trial.call_inside(body, *tensors)
    x = widened(host)
    trial.close(output, np.sin(x) * x, dtype=dtype)
    trial.close(pulled, cotangent * (np.cos(x) * x + np.sin(x)), dtype=dtype)


def vjp_tree(trial: Trial) -> None:
    """Cotangents have the nesting of the arguments; has_aux returns the second output unchanged."""
    weight, bias, x = trial.random(5, 3), trial.random(3, seed=1), trial.random(7, 5, seed=2)

    def layer(parameters: dict[str, Any], x: Any) -> Any:
        output = x @ parameters["weight"] + parameters["bias"]
        return output, {"largest": jnp.max(x)}

    parameters = {"weight": trial.tensor(weight), "bias": trial.tensor(bias)}
    output, pull_back, extra = trial.call(layer, parameters, trial.tensor(x), has_aux=True)
    to_parameters, to_x = pull_back(jnp.ones_like(output))
    # Products of five and seven numbers of about one, in float32.
    allowed = {"rtol": 1e-5, "atol": 1e-5, "dtype": "float32"}
    trial.close(output, widened(x) @ weight + bias, **allowed)
    trial.close(extra["largest"], x.max(), rtol=0, atol=0)
    trial.equal(sorted(to_parameters), ["bias", "weight"])
    trial.close(to_parameters["weight"], np.repeat(widened(x).sum(0)[:, None], 3, axis=1), **allowed)
    trial.close(to_parameters["bias"], np.full(3, 7.0), **allowed)
    trial.close(to_x, np.repeat(widened(weight).sum(1)[None], 7, axis=0), **allowed)


def vjp_complex(trial: Trial) -> None:
    """The cotangent of a holomorphic function is the product with its complex derivative, not with the conjugate; that
    of a real function u of x + iy is du/dx - i du/dy."""
    host, cotangent = trial.random(32, dtype="complex64"), trial.random(32, dtype="complex64", seed=1)
    real = trial.random(32, seed=2)
    (cube, area), pull_back = trial.call(lambda z: (z * z * z, z.real * z.imag), trial.tensor(host))
    z = widened(host)
    trial.close(cube, z**3, rtol=1e-5, dtype="complex64")
    trial.close(area, z.real * z.imag, dtype="float32")
    (pulled,) = pull_back((trial.tensor(cotangent), trial.tensor(real)))
    trial.close(pulled, 3 * z**2 * cotangent + (z.imag - 1j * z.real) * real, rtol=1e-5, dtype="complex64")


def vjp_integer(trial: Trial) -> None:
    """An integer argument is part of the value and gets an empty cotangent of dtype float0."""
    host, factors = trial.random(16), trial.random(16, dtype="int32")
    output, pull_back = trial.call(lambda x, n: x * n, trial.tensor(host), trial.tensor(factors))
    to_x, to_factors = pull_back(jnp.ones_like(output))
    trial.close(output, widened(host) * factors, dtype="float32", signed_zeros=True)
    trial.close(to_x, factors.astype("float64"), dtype="float32", signed_zeros=True)
    trial.equal((to_factors.dtype == jax.dtypes.float0, to_factors.shape), (True, (16,)))


def vjp_custom_rule(trial: Trial) -> None:
    """A custom rule replaces a function's derivative: here it clips the cotangent to [-1, 1]."""

    @jax.custom_vjp
    def square(x: Any) -> Any:
        return x * x

    def forward(x: Any) -> Any:
        return x * x, None

    def backward(_: Any, cotangent: Any) -> Any:
        return (jnp.clip(cotangent, -1, 1),)

    square.defvjp(forward, backward)
    host, cotangent = trial.random(64), 3 * trial.random(64, seed=1)
    output, pull_back = trial.call(square, trial.tensor(host))
    trial.close(output, widened(host) ** 2, dtype="float32")
    trial.close(pull_back(trial.tensor(cotangent))[0], np.clip(cotangent, -1, 1), dtype="float32")


def vjp_scan(trial: Trial) -> None:
    """Through a loop that multiplies all elements, each element's cotangent is the product of the others."""
    host = trial.random(12, low=0.5, high=1.5)

    def step(carry: Any, element: Any) -> Any:
        return carry * element, None

    def product(x: Any) -> Any:
        return jax.lax.scan(step, jnp.ones_like(x[0]), x)[0]

    output, pull_back = trial.call(product, trial.tensor(host))
    (pulled,) = pull_back(trial.tensor(np.float32(2)))
    exact = widened(host)
    # Twelve products in a row, each rounded.
    trial.close(output, exact.prod(), rtol=3e-6, dtype="float32")
    trial.close(pulled, 2 * exact.prod() / exact, rtol=3e-6, dtype="float32")


# jax.lax.stop_gradient


def stopped(trial: Trial, mode: str) -> None:
    """A stopped factor is a constant in forward and reverse mode: the derivative of x stop(x) is x, not 2 x."""
    host = trial.random(200)

    def body(stop_gradient: Callable[..., Any], x: Any) -> Any:
        def product(x: Any) -> Any:
            return x * stop_gradient(x)

        if mode == "forward":
            return jax.jvp(product, (x,), (jnp.ones_like(x),))
        return product(x), jax.grad(lambda x: jnp.sum(product(x)))(x)

    value, slope = trial.call_inside(body, trial.tensor(host))
    trial.close(value, widened(host) ** 2, dtype="float32")
    trial.exact(slope, host, "float32")


def stopped_higher(trial: Trial) -> None:
    """The derivatives of stop(x)^2 x^3 of order one to three are 3 x^4, 6 x^3 and 6 x^2, mapped and compiled."""
    host = trial.random(64, seed=5)

    def body(stop_gradient: Callable[..., Any], x: Any) -> Any:
        return _higher_derivatives(stop_gradient)(x)

    x = widened(host)
    outputs = trial.call_inside(body, trial.tensor(host))
    for output, expected in zip(outputs, (x**5, 3 * x**4, 6 * x**3, 6 * x**2)):
        # A few products in a row, each rounded.
        trial.close(output, expected, rtol=5e-6, dtype="float32")


def stopped_tree(trial: Trial) -> None:
    """In a nested value every floating array is stopped; integers and booleans pass unchanged."""
    host, count = trial.random(5), trial.random(5, dtype="int32", seed=1)
    tree = {"x": trial.tensor(host), "more": (trial.tensor(count), [trial.tensor(host > 0), None])}

    def body(stop_gradient: Callable[..., Any], tree: Any) -> Any:
        def loss(x: Any) -> Any:
            held = stop_gradient({**tree, "x": x})
            return jnp.sum(held["x"] ** 3 + 2 * x), held

        return jax.grad(loss, has_aux=True)(tree["x"])

    gradient, held = trial.call_inside(body, tree)
    trial.close(gradient, np.full(5, 2.0), dtype="float32")
    trial.equal((sorted(held), held["more"][1][1]), (["more", "x"], None))
    trial.exact(held["x"], host, "float32")
    trial.close(held["more"][0], count, dtype="int32")
    trial.close(held["more"][1][0], host > 0, dtype="bool")


def stopped_within(trial: Trial) -> None:
    """It stops derivatives within a mapped, scanned, chosen, compiled or recomputed function as outside of them,
    whether the derivative is inside or outside, and those of a gradient."""
    host = trial.random(3, 4)
    trial.has_random_inputs = False  # other values would compile the same program again

    def body(stop_gradient: Callable[..., Any], x: Any) -> Any:
        return jax.jit(lambda x: derived(stop_gradient, x))(x)

    def derived(stop_gradient: Callable[..., Any], x: Any) -> Any:
        def product(row: Any) -> Any:
            return row * stop_gradient(x=row)

        within = (
            lambda x: jax.vmap(product)(x),
            lambda x: jax.vmap(jax.vmap(product), in_axes=1, out_axes=1)(x),
            lambda x: jax.lax.scan(lambda carry, row: (carry, product(row)), 0, x)[1],
            lambda x: jax.lax.cond(x[0, 0] < 9, product, lambda x: x, x),
            lambda x: jax.jit(product)(x),
            lambda x: jax.checkpoint(product)(x),
        )
        outside = [jax.grad(lambda x, each=each: jnp.sum(each(x)))(x) for each in within]
        inside = jax.vmap(jax.grad(lambda row: jnp.sum(product(row))))(x)
        twice = jax.vmap(jax.hessian(lambda row: jnp.sum(product(row) * row)))(x)
        return [*outside, inside], twice, jax.jvp(within[0], (x,), (jnp.ones_like(x),))

    gradients, twice, (value, tangent) = trial.call_inside(body, trial.tensor(host))
    for gradient in gradients:
        trial.exact(gradient, host, "float32")
    # The gradient of stop(x) x^2 is 2 x stop(x), so the second derivative is 2 x.
    trial.close(twice, 2 * host[:, :, None] * np.eye(4), dtype="float32")
    trial.close(value, widened(host) ** 2, dtype="float32")
    trial.exact(tangent, host, "float32")


def straight_through(trial: Trial) -> None:
    """x + stop(round(x) - x) has the value of round(x) and the derivative of x: a straight-through estimator."""
    host = 5 * trial.random(4, 100)

    def body(stop_gradient: Callable[..., Any], x: Any) -> Any:
        def rounded(x: Any) -> Any:
            return x + stop_gradient(jnp.round(x) - x)

        return rounded(x), jax.grad(lambda x: jnp.sum(rounded(x) ** 2))(x)

    value, gradient = trial.call_inside(body, trial.tensor(host))
    # The difference is subtracted and added again: off by up to one rounding of x.
    trial.close(value, np.round(host), rtol=0, atol=2e-6, dtype="float32")
    trial.close(gradient, 2 * np.round(widened(host)), rtol=0, atol=4e-6, dtype="float32")


@lru_cache(maxsize=1)
def _higher_derivatives(stop_gradient: Callable[..., Any]) -> Callable[..., Any]:
    derivatives = [lambda x: stop_gradient(x) ** 2 * x**3]
    for _ in range(3):
        derivatives.append(jax.grad(derivatives[-1]))
    return jax.jit(lambda x: [jax.vmap(each)(x) for each in derivatives])
