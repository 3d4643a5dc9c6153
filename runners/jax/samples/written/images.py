"""jax.image, jax.scipy.ndimage and others that interpolate."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from runners.core.testing.written import Call, values

_IMAGE = values(4, 6)


def table(call: Call) -> None:
    call(
        "jax.image.resize", lambda f, x: f(x, (8, 12), "nearest"), _IMAGE, expect=lambda x: x.repeat(2, 0).repeat(2, 1)
    )
    half = {"expect": lambda x: x.reshape(2, 2, 3, 2).mean((1, 3))}
    call("jax.image.resize", lambda f, x: f(x, (2, 3), "linear", antialias=False), _IMAGE, **half)
    for method in ("linear", "cubic", "lanczos3", "lanczos5"):
        call("jax.image.resize", _resized(method), _IMAGE, variant=method, gradient=True)
    same = {"expect": lambda x: x}
    call("jax.image.scale_and_translate", lambda f, x: f(x, x.shape, (0, 1), *_still(), "linear"), _IMAGE, **same)
    name = "jax.scipy.ndimage.map_coordinates"
    places = np.array([[0.5, 1.0, 2.0], [0.0, 1.5, 3.0]], "float32")
    call(name, lambda f, x, p: f(x, [*p], 1), _IMAGE, places, expect=_interpolated, gradient=True)
    points = np.array([[0.5, 1.5], [2.0, 3.0]], "float32")
    grid = "jax.scipy.interpolate.RegularGridInterpolator"
    call(grid, lambda f, x, p: f((jax.numpy.arange(4.0), jax.numpy.arange(6.0)), x)(p), _IMAGE, points, expect=_on_grid)


def _still() -> Any:
    return jax.numpy.ones(2), jax.numpy.zeros(2)


def _resized(method: str) -> Any:
    return lambda f, x: f(x, (7, 4), method)


def _interpolated(x: Any, places: Any) -> Any:
    from scipy import ndimage

    return ndimage.map_coordinates(x, places, order=1)


def _on_grid(x: Any, points: Any) -> Any:
    from scipy import interpolate

    return interpolate.RegularGridInterpolator((np.arange(4.0), np.arange(6.0)), x)(points)
