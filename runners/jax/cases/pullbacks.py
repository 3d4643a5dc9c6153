"""jax.vjp: the pullback of a function of several arguments and outputs, and what it refuses."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def several_outputs(trial: Trial) -> None:
    """Cotangents are nested as the outputs. The pullback can be called again, sums over what was broadcast, and has a
    cotangent for each use of one array and for a plain number."""
    x, bias = trial.random(5, 7), trial.random(7, seed=1)

    def function(a: Any, b: Any, bias: Any, factor: Any) -> Any:
        return {"sum": a * b + bias, "parts": (factor * a.sum(axis=0), b[::2, 1])}

    moved = trial.tensor(x)
    output, pull_back = trial.call(function, moved, moved, trial.tensor(bias), 3.0)
    exact = widened(x)
    # Sums of up to 35 products of about one, in float32.
    allowed = {"rtol": 1e-5, "atol": 1e-5, "dtype": "float32"}
    trial.close(output["sum"], exact**2 + bias, **allowed)
    trial.close(output["parts"][0], 3 * exact.sum(axis=0), **allowed)
    trial.exact(output["parts"][1], x[::2, 1], "float32")
    for seed in (10, 20):
        whole, columns, part = (trial.random(*shape, seed=seed + shape[0]) for shape in ((5, 7), (7,), (3,)))
        given = {"sum": trial.tensor(whole), "parts": (trial.tensor(columns), trial.tensor(part))}
        to_a, to_b, to_bias, to_factor = pull_back(given)
        placed = np.zeros((5, 7))
        placed[::2, 1] = part
        trial.close(to_a, whole * exact + 3 * widened(columns), **allowed)
        trial.close(to_b, whole * exact + placed, **allowed)
        trial.close(to_bias, widened(whole).sum(axis=0), **allowed)
        trial.close(to_factor, (columns * exact.sum(axis=0)).sum(), **allowed)


def jacobian_and_hessian(trial: Trial) -> None:
    """The pullback, mapped over unit vectors and compiled, gives the Jacobian; the pullback of a pullback gives second
    derivatives."""
    matrix, x, v = trial.random(4, 7), trial.random(7, seed=1), trial.random(7, seed=2)

    def body(vjp: Callable[..., Any], matrix: Any, x: Any, v: Any) -> Any:
        def waves(x: Any) -> Any:
            return jnp.sin((matrix * x).sum(axis=1))

        def slope(x: Any) -> Any:
            output, pull_back = vjp(lambda x: jnp.sum(waves(x)), x)
            return pull_back(jnp.ones_like(output))[0]

        def both(x: Any, v: Any) -> Any:
            return jax.vmap(vjp(waves, x)[1])(jnp.eye(4))[0], vjp(slope, x)[1](v)[0]

        return jax.jit(both)(x, v)

    jacobian, along = trial.call_inside(body, *map(trial.tensor, (matrix, x, v)))
    a = widened(matrix)
    phases = (a * x).sum(axis=1)
    # Sums of seven and then four products, in float32.
    allowed = {"rtol": 1e-5, "atol": 2e-5, "dtype": "float32"}
    trial.close(jacobian, np.cos(phases)[:, None] * a, **allowed)
    trial.close(along, -(a.T * np.sin(phases)) @ a @ v, **allowed)


def refuses_cotangent(trial: Trial) -> None:
    """The pullback refuses a cotangent with another shape or nesting than the output."""
    host = trial.random(3, 4)
    x, short = trial.tensor(host), trial.tensor(trial.random(3))

    def body(vjp: Callable[..., Any], cotangent: Any) -> Any:
        output, pull_back = vjp(jnp.sin, x)
        trial.close(output, np.sin(widened(host)), dtype="float32")
        return pull_back(cotangent)

    trial.raises_inside(["ValueError", "TypeError"], "vjp", body, short)
    trial.raises_inside(["ValueError", "TypeError"], "tree structure", body, [x])
