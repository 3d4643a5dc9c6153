"""Gradients of functions that only move values: they are moved back, whatever their size."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.options import FUNCTIONS

_UPSTREAM = {
    "float16": [6e-8, np.inf, -3e-5, -1.5, np.nan, 65504.0, -np.inf, 0.0009765625],
    "bfloat16": [2e-38, np.inf, -1e-30, -1.5, np.nan, 3e38, -np.inf, 0.5],
    "float32": [2e-38, np.inf, -1e-30, -1.5, np.nan, 3e38, -np.inf, 16777217.0],
    "float64": [3e-308, np.inf, -1e-300, -1.5, np.nan, 1e308, -np.inf, 1.0000000000000002],
}
"""Small, large, infinite and undefined gradients."""


def moved(
    trial: Trial, subject: str, shapes: Sequence[Sequence[int]], dtype: str, to: str | None = None, **options: Any
) -> None:
    """Each element of each input has the gradient of the place it went to, with no digit lost; one that went nowhere
    has zero, though the gradient of the value that replaced it is infinite or NaN. A tf.function has the same. The
    values are small whole numbers, which every dtype has."""
    about = FUNCTIONS[subject]
    if to is not None:
        options["to"] = to
    sizes = [int(np.prod(shape)) for shape in shapes]
    starts = np.cumsum([1, *sizes])
    numbers = [np.arange(start, start + size) for start, size in zip(starts, sizes)]
    places = np.asarray(about.compute(*[each.reshape(shape) for each, shape in zip(numbers, shapes)], **options))
    kind = to or dtype
    host = np.resize(np.asarray(_UPSTREAM[kind]), places.size).reshape(places.shape)
    upstream = trial.tensor(host, kind)
    seen = trial.numpy(upstream).astype("float64")
    by_number = np.zeros(starts[-1])
    by_number[places.astype("int64").ravel()] = seen.ravel()
    by_number[0] = 0
    hosts = [trial.random(*shape, dtype="int32", seed=number) for number, shape in enumerate(shapes)]
    inputs = [trial.tensor(each.astype("float64"), dtype) for each in hosts]
    expected = np.asarray(about.compute(*hosts, **options)).astype("float64")

    def body(function: Callable[..., Any]) -> Any:
        def back(*given: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(given)
                output = about.call(function, *given, **options)
            return output, tape.gradient(output, given, upstream)

        return [back(*inputs), tf.function(back, autograph=False)(*inputs)]

    for output, slopes in trial.call_inside(body):
        trial.exact(output, expected, kind)
        for slope, each, shape in zip(slopes, numbers, shapes):
            trial.close(slope, by_number[each].reshape(shape), 0.0, 0.0, dtype=dtype)
