"""Functions that compute without chance leave the generators of random numbers alone."""

from __future__ import annotations

import random
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.subjects import SUBJECTS


def subjects(trial: Trial, subject: str) -> None:
    """After a seed was set, draws are the same with and without calls of the function in between: those of TensorFlow,
    of its global generator, of NumPy and of Python."""
    topic = SUBJECTS[subject]
    with trial.on_host():
        generator, host = tf.random.get_global_generator(), trial.device
    hosts = topic.hosts(trial, "float32")
    tensors = [trial.tensor(each) for each in hosts]

    def draws() -> list[Any]:
        # On the host: XLA draws by no seed.
        with tf.device(host):
            drawn = tf.random.uniform([2]).numpy()
        return [drawn, np.random.random(2), random.random()]

    def body(function: Callable[..., Any]) -> Any:
        found, outputs = [], []
        for calls in (0, 1, 2):
            # The host's context sets TensorFlow's seed itself.
            with trial.on_host():
                generator.reset_from_seed(trial.seed(6))
            tf.random.set_seed(trial.seed(5))
            np.random.seed(trial.seed(7))
            random.seed(trial.seed(8))
            first = draws()
            for _ in range(calls):
                outputs.append(topic.call(function, *tensors))
            second = draws()
            with trial.on_host():
                found.append([*first, *second, generator.state.numpy()])
        return found, outputs

    (without, *others), outputs = trial.call_inside(body)
    expected = topic.compute(*(each.astype("float64") for each in hosts))
    for output in outputs:
        trial.close(output, expected, topic.rtol, topic.rtol, dtype=topic.dtype or "float32")
    for found in others:
        for value, same in zip(found, without):
            trial.equal(value, same)
