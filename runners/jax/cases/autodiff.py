"""Reverse-mode derivatives: jax.vjp gives a function's value and the function that pulls cotangents back."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.compare import EPSILON
from runners.core.testing.trial import Trial


def vjp_matmul(trial: Trial, dtype: str, size: int = 16) -> None:
    """Of a matrix product, the cotangents are the products with the other matrix transposed."""

    def rounded(rows: int, columns: int, seed: int) -> tuple[Any, Any]:
        moved = trial.tensor(trial.random(rows, columns, dtype=dtype, seed=seed, low=0.5, high=1.5), dtype)
        return moved, widened(trial.numpy(moved))

    (left, a), (right, b), (cotangent, c) = (
        rounded(*shape, seed) for seed, shape in enumerate([(8, size), (size, 4), (8, 4)])
    )
    output, pull_back = trial.call(jnp.matmul, left, right)
    to_left, to_right = pull_back(cotangent)
    # All terms are positive, so a sum of n products is off by at most n roundings; half precision is summed in single.
    allowed = 2 * EPSILON[dtype] if "16" in dtype else size * EPSILON[dtype]
    trial.close(output, a @ b, rtol=allowed, atol=0, dtype=dtype)
    trial.close(to_left, c @ b.T, rtol=allowed, atol=0, dtype=dtype)
    trial.close(to_right, a.T @ c, rtol=allowed, atol=0, dtype=dtype)


def vjp_pulled_back(trial: Trial, shape: Any) -> None:
    """Value and cotangent, computed in one go, of sin(x) x are sin(x) x and c (cos(x) x + sin(x))."""
    host, cotangent = trial.random(*shape), trial.random(*shape, seed=1)

    def body(vjp: Any, x: Any, cotangent: Any) -> Any:
        output, pull_back = vjp(lambda x: jnp.sin(x) * x, x)
        return output, pull_back(cotangent)[0]

    output, pulled = trial.call_inside(body, trial.tensor(host), trial.tensor(cotangent))
    x = widened(host)
    trial.close(output, np.sin(x) * x, dtype="float32")
    trial.close(pulled, cotangent * (np.cos(x) * x + np.sin(x)), dtype="float32")


def vjp_tree(trial: Trial) -> None:
    """Cotangents come in the nesting of the arguments; has_aux hands the second output through untouched."""
    weight, bias, x = trial.random(5, 3), trial.random(3, seed=1), trial.random(7, 5, seed=2)

    def layer(parameters: dict[str, Any], x: Any) -> Any:
        output = x @ parameters["weight"] + parameters["bias"]
        return output, {"largest": jnp.max(x)}

    parameters = {"weight": trial.tensor(weight), "bias": trial.tensor(bias)}
    output, pull_back, extra = trial.call(layer, parameters, trial.tensor(x), has_aux=True)
    to_parameters, to_x = pull_back(jnp.ones_like(output))
    # Products of five and seven numbers of size one, in float32.
    allowed = {"rtol": 1e-5, "atol": 1e-5, "dtype": "float32"}
    trial.close(output, widened(x) @ weight + bias, **allowed)
    trial.close(extra["largest"], x.max(), rtol=0, atol=0)
    trial.equal(sorted(to_parameters), ["bias", "weight"])
    trial.close(to_parameters["weight"], np.repeat(widened(x).sum(0)[:, None], 3, axis=1), **allowed)
    trial.close(to_parameters["bias"], np.full(3, 7.0), **allowed)
    trial.close(to_x, np.repeat(widened(weight).sum(1)[None], 7, axis=0), **allowed)


def vjp_complex(trial: Trial) -> None:
    """Of a holomorphic function the cotangent is the product with its complex derivative, not with the conjugate."""
    host, cotangent = trial.random(32, dtype="complex64"), trial.random(32, dtype="complex64", seed=1)
    output, pull_back = trial.call(lambda z: z * z * z, trial.tensor(host))
    z = widened(host)
    trial.close(output, z**3, rtol=1e-5, dtype="complex64")
    trial.close(pull_back(trial.tensor(cotangent))[0], 3 * z**2 * cotangent, rtol=1e-5, dtype="complex64")


def vjp_integer(trial: Trial) -> None:
    """An integer argument takes part in the value and gets a cotangent of dtype float0, which carries nothing."""
    host, factors = trial.random(16), trial.random(16, dtype="int32")
    output, pull_back = trial.call(lambda x, n: x * n, trial.tensor(host), trial.tensor(factors))
    to_x, to_factors = pull_back(jnp.ones_like(output))
    trial.close(output, widened(host) * factors, dtype="float32")
    trial.close(to_x, factors.astype("float64"), dtype="float32")
    trial.equal((to_factors.dtype == jax.dtypes.float0, to_factors.shape), (True, (16,)))


def vjp_custom_rule(trial: Trial) -> None:
    """A function's own rule takes the place of its derivative: here the cotangent is clipped to [-1, 1]."""

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
