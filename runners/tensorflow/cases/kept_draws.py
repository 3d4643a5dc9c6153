"""Functions that compute without chance leave the generators of random numbers alone."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any, Callable

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.subjects import SUBJECTS
from runners.tensorflow.seeded_draws import SeededDraws, check_same


def subjects(trial: Trial, subject: str) -> None:
    """After a seed was set, draws are the same with and without calls of the function in between: those of TensorFlow,
    of its global generator, of NumPy and of Python."""
    topic = SUBJECTS[subject]
    seeded = SeededDraws(trial)
    hosts = topic.hosts(trial, "float32")
    tensors = [trial.tensor(each) for each in hosts]

    def body(function: Callable[..., Any]) -> Any:
        outputs: list[Any] = []

        def call(times: int) -> None:
            outputs.extend(topic.call(function, *tensors) for _ in range(times))

        return [seeded.around(functools.partial(call, times)) for times in (0, 1, 2)], outputs

    (without, *others), outputs = trial.call_inside(body)
    expected = topic.compute(*(each.astype("float64") for each in hosts))
    for output in outputs:
        trial.close(output, expected, topic.rtol, topic.rtol, dtype=topic.dtype or "float32")
    check_same(trial, without, others)


def prints(trial: Trial) -> None:
    """Printing, eagerly and in a traced function, changes no later draw."""
    seeded, values = SeededDraws(trial), trial.tensor(trial.random(3))
    with tempfile.TemporaryDirectory() as folder:
        stream = (Path(folder) / "printed.txt").as_uri()

        def body(write: Callable[..., Any]) -> Any:
            @tf.function
            def traced() -> None:
                write("traced", values, output_stream=stream)

            def call(times: int) -> None:
                for _ in range(times):
                    write("eager", values, output_stream=stream)
                    traced()

            return [seeded.around(functools.partial(call, times)) for times in (0, 1, 2)]

        trial.repeatable = False  # the folder goes
        without, *others = trial.call_inside(body)
    check_same(trial, without, others)
