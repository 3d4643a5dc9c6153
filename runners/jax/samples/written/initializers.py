"""jax.nn.initializers: fixed values, and moments of random ones."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from runners.core.testing.written import Call

_SHAPE = (200, 300)


def table(call: Call) -> None:
    """Of 60,000 values the mean lies within six standard errors (a false alarm in 5e8), the deviation within 3 %."""
    n = "jax.nn.initializers."
    call(f"{n}zeros", lambda f: f(_key(), (2, 3)), expect=np.zeros((2, 3)))
    call(f"{n}ones", lambda f: f(_key(), (2, 3)), expect=np.ones((2, 3)))
    call(f"{n}constant", lambda f: f(2.5)(_key(), (2, 3)), expect=np.full((2, 3), 2.5))
    call(f"{n}orthogonal", lambda f: _gram(f()(_key(), (5, 3))), expect=np.eye(3))
    call(f"{n}delta_orthogonal", lambda f: _gram(f()(_key(), (3, 3, 3, 4))[1, 1].T), expect=np.eye(3))
    both, inner = (2 / (200 + 300)) ** 0.5, 200
    for name, arguments, deviation, mean in (
        *(("normal", (0.5,), 0.5, 0.0), ("uniform", (0.5,), 0.5 / 12**0.5, 0.25)),
        ("truncated_normal", (0.5,), 0.5 * 0.8796, 0.0),
        *(("glorot_normal", (), both, 0.0), ("glorot_uniform", (), both, 0.0)),
        *(("he_normal", (), (2 / inner) ** 0.5, 0.0), ("he_uniform", (), (2 / inner) ** 0.5, 0.0)),
        *(("lecun_normal", (), inner**-0.5, 0.0), ("lecun_uniform", (), inner**-0.5, 0.0)),
        ("variance_scaling", (3.0, "fan_out", "normal"), 0.1, 0.0),
    ):
        call(f"{n}{name}", _within(arguments, deviation, mean), expect=[True, True])
        call(f"{n}{name}", _drawn(arguments), variant="draws")


def _key() -> Any:
    return jax.random.key(3)


def _drawn(arguments: Any) -> Any:
    return lambda f: f(*arguments)(_key(), (4, 5))


def _within(arguments: Any, deviation: float, mean: float) -> Any:
    def body(f: Any) -> Any:
        made = f(*arguments)(_key(), _SHAPE)
        bound = 6 * deviation / made.size**0.5
        return [abs(float(made.mean()) - mean) < bound, abs(float(made.std()) / deviation - 1) < 0.03]

    return body


def _gram(matrix: Any) -> Any:
    return matrix.T @ matrix
