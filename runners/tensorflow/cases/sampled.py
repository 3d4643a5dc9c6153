"""Calls with the samples of a source (see runners.tensorflow.samples)."""

from __future__ import annotations

from typing import Any

from runners.core.testing import replay as replays
from runners.core.testing import sampled
from runners.core.testing.trial import Trial


def sample(trial: Trial, **parameters: Any) -> None:
    """See runners.core.testing.sampled.sample. Of random functions, dtypes and shapes count."""
    trial.function = trial.as_function(trial.function)
    sampled.sample(trial, **parameters)


def replay(trial: Trial, **parameters: Any) -> None:
    """See runners.core.testing.replay.replay_of."""
    replays.replay_of(trial, **parameters)
