"""tf.image.adjust_brightness, where a ``call`` test is not enough: integer images, gradients."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def integer_brightness(trial: Trial, shape: Sequence[int], dtype: str, delta: float) -> None:
    """An integer image changes by ``delta`` of its range, to the grey level, and saturates at the range's ends."""
    highest = int(np.iinfo(dtype).max)
    lowest = int(np.iinfo(dtype).min)
    host = trial.random(*shape, dtype=dtype, seed=9, low=lowest, high=highest + 1)
    output = trial.call(trial.tensor(host), delta)
    ideal = np.clip(host.astype("float64") + delta * highest, lowest, highest)
    # The conversions to float32 and back are each rounded: one level, or the spacing of float32 at the range's end.
    level = max(1.0, highest * 2.0**-22)
    trial.equal(trial.dtype_name(output), dtype)
    trial.close(trial.numpy(output).astype("float64"), ideal, rtol=0.0, atol=level)
    trial.check(
        abs(float(np.mean(trial.numpy(output) - ideal))) <= 0.75 * level, "the image is shifted by a level as a whole"
    )


def gradient(trial: Trial) -> None:
    """The gradient of the image is the incoming one, that of delta its sum."""
    host = trial.random(4, 5, 3, seed=10, low=0.0, high=1.0)
    image = trial.tensor(host)
    host_weights = trial.random(4, 5, 3, seed=11)
    weights = trial.tensor(host_weights)
    delta = trial.tensor(np.float32(0.25))

    def body(adjust_brightness: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([image, delta])
            output = adjust_brightness(image, delta)
            total = tf.reduce_sum(weights * output)
        return output, tape.gradient(total, [image, delta])

    output, (to_image, to_delta) = trial.call_inside(body)
    trial.close(output, host.astype("float64") + 0.25, dtype="float32")
    trial.close(to_image, host_weights, dtype="float32")
    trial.close(to_delta, host_weights.astype("float64").sum(), atol=1e-4, dtype="float32")


def all_levels(trial: Trial, steps: Sequence[int]) -> None:
    """Every level of uint8 changes by exactly so many of its steps, up to the ends of the range."""
    host = np.arange(256, dtype="uint8").reshape(4, 64, 1)
    for step in steps:
        output = trial.call(trial.tensor(host), step / 255)
        trial.exact(output, np.clip(host.astype("int64") + step, 0, 255), "uint8")
