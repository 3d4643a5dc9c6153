"""Draws around calls that must not disturb them: those of TensorFlow, of its global generator, NumPy and Python."""

from __future__ import annotations

import random
from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


class SeededDraws:
    """Draws on the host, because XLA draws by no seed."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        with trial.on_host():
            self._generator, self._host = tf.random.get_global_generator(), trial.device

    def around(self, calls: Callable[[], None]) -> list[Any]:
        """Sets all seeds, draws, makes the calls and draws again; what was drawn, and the generator's state."""
        trial = self._trial
        # The host's context sets TensorFlow's seed itself.
        with trial.on_host():
            self._generator.reset_from_seed(trial.seed(6))
        tf.random.set_seed(trial.seed(5))
        np.random.seed(trial.seed(7))
        random.seed(trial.seed(8))
        first = self._draws()
        calls()
        second = self._draws()
        with trial.on_host():
            return [*first, *second, self._generator.state.numpy()]

    def _draws(self) -> list[Any]:
        with tf.device(self._host):
            drawn = tf.random.uniform([2]).numpy()
        return [drawn, np.random.random(2), random.random()]


def check_same(trial: Trial, without: Sequence[Any], others: Sequence[Sequence[Any]]) -> None:
    """Checks that draws with calls in between are those without."""
    for found in others:
        for value, same in zip(found, without):
            trial.equal(value, same)
