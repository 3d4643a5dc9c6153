"""Collective functions of jax.lax inside of a mapped function, on one device."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from runners.core.testing.written import Call, values

_X = values(4, 3)
_SQUARE = values(4, 4, 2)


def table(call: Call) -> None:
    def lax(name: str, body: Any, *args: Any, expect: Any) -> None:
        call(f"jax.lax.{name}", body, *args, expect=expect)

    for name, function in (("psum", np.sum), ("pmean", np.mean), ("pmax", np.max), ("pmin", np.min)):
        lax(name, lambda f, x: _over(lambda row: f(row, "i"))(x), _X, expect=_everywhere(function))
    lax("all_gather", lambda f, x: _over(lambda row: f(row, "i"))(x)[2], _X, expect=lambda x: x)
    lax("all_to_all", lambda f, x: _over(lambda row: f(row, "i", 0, 0))(x), _SQUARE, expect=lambda x: x.swapaxes(0, 1))
    lax("pswapaxes", lambda f, x: _over(lambda row: f(row, "i", 0))(x), _SQUARE, expect=lambda x: x.swapaxes(0, 1))
    ring = [(place, (place + 1) % 4) for place in range(4)]
    lax("ppermute", lambda f, x: _over(lambda row: f(row, "i", ring))(x), _X, expect=lambda x: np.roll(x, 1, 0))
    lax(
        "pshuffle", lambda f, x: _over(lambda row: f(row, "i", [1, 2, 3, 0]))(x), _X, expect=lambda x: np.roll(x, -1, 0)
    )
    lax("psum_scatter", lambda f, x: _over(lambda row: f(row, "i"))(x), _SQUARE, expect=lambda x: x.sum(0))
    lax("axis_index", lambda f, x: _over(lambda row: f("i"))(x), _X, expect=lambda x: np.arange(4))
    lax("axis_size", lambda f, x: _over(lambda row: row * f("i"))(x), _X, expect=lambda x: 4 * x)


def _over(function: Any) -> Any:
    return jax.vmap(function, axis_name="i")


def _everywhere(function: Any) -> Any:
    return lambda x: np.tile(function(x, 0), (4, 1))
