"""jax.scipy.signal.convolve2d, where a ``call`` test is not enough."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from scipy import signal

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.wide_types import call_with_x64


def convolved_unit(trial: Trial, dtype: str) -> None:
    """Convolution with a single one moves the image to that place, exactly."""
    image = trial.tensor(trial.random(6, 7, dtype=dtype), dtype)
    unit = np.zeros((3, 4))
    unit[2, 1] = 1
    expected = np.zeros((8, 10), trial.numpy(image).dtype)
    expected[2:8, 1:8] = trial.numpy(image)
    output = trial.call(image, trial.tensor(unit, dtype), precision="highest")
    trial.exact(output, expected, dtype)


def convolved_integers(trial: Trial, dtype: str) -> None:
    """Integers become float32 and, being small, are convolved exactly."""
    image, kernel = trial.random(9, 8, dtype=dtype), trial.random(3, 3, dtype=dtype, seed=1)
    output = trial.call(trial.tensor(image), trial.tensor(kernel))
    expected = signal.convolve2d(image.astype("float64"), kernel.astype("float64"))
    trial.exact(output, expected, "float32")


def convolved_double(trial: Trial, dtype: str) -> None:
    """With 64-bit types enabled, the output is 64 bits wide and accurate to twelve digits."""
    image, kernel = trial.random(20, 15, dtype=dtype), trial.random(4, 5, dtype=dtype, seed=1)
    output = call_with_x64(trial, image, kernel, mode="same")
    trial.close(output, signal.convolve2d(image, kernel, mode="same"), rtol=1e-12, atol=1e-12, dtype=dtype)


def convolved_gradient(trial: Trial, mode: str) -> None:
    """The image's cotangent is the output's cotangent correlated with the kernel, and vice versa."""
    image, kernel = trial.random(10, 9), trial.random(3, 4, seed=1)
    weights = trial.random(*((12, 12) if mode == "full" else image.shape), seed=2)

    def body(convolve2d: Callable[..., Any], *tensors: Any) -> Any:
        def weighted(image: Any, kernel: Any, weights: Any) -> Any:
            output = convolve2d(image, kernel, mode=mode, precision="highest")
            return jnp.sum(weights * output), output

        return jax.grad(weighted, argnums=(0, 1), has_aux=True)(*tensors)

    (to_image, to_kernel), output = trial.call_inside(body, *map(trial.tensor, (image, kernel, weights)))
    a, b, c = widened(image), widened(kernel), widened(weights)
    if mode == "same":
        # The middle of the full output.
        c = np.pad(c, [(1, 1), (1, 2)])
    # Sums of up to 90 products, in float32.
    allowed = {"rtol": 1e-5, "atol": 2e-5, "dtype": "float32"}
    trial.close(output, signal.convolve2d(a, b, mode=mode), **allowed)
    trial.close(to_image, signal.correlate2d(c, b, mode="valid"), **allowed)
    trial.close(to_kernel, signal.correlate2d(c, a, mode="valid"), **allowed)


def convolved_mapped(trial: Trial) -> None:
    """Mapped over images with one kernel and compiled, every image is convolved with it."""
    images, kernel = trial.random(5, 12, 10), trial.random(3, 3, seed=1)

    def body(convolve2d: Callable[..., Any], images: Any, kernel: Any) -> Any:
        return _mapped_and_compiled(convolve2d)(images, kernel)

    output = trial.call_inside(body, trial.tensor(images), trial.tensor(kernel))
    expected = np.stack([signal.convolve2d(widened(image), widened(kernel), mode="valid") for image in images])
    # Sums of nine products, in float32.
    trial.close(output, expected, rtol=1e-5, dtype="float32")


@lru_cache(maxsize=1)
def _mapped_and_compiled(convolve2d: Callable[..., Any]) -> Callable[..., Any]:
    """Compile once for each function, so that a repeated call does not compile again."""
    return jax.jit(jax.vmap(lambda image, kernel: convolve2d(image, kernel, mode="valid"), in_axes=(0, None)))
