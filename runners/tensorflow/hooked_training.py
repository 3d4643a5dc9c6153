"""A small training in a legacy graph with hooks, which cases of hooks that save share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import beside, building

v1 = tf.compat.v1


class Training(NamedTuple):
    """A graph with a variable that starts at ``host`` and is doubled at each step."""

    graph: tf.Graph
    train: Any
    host: Any


def make_training(trial: Trial, dtype: str = "float32", by: int = 1) -> Training:
    """Each step adds ``by`` to the global step."""
    host = trial.random(4, dtype=dtype, seed=2).astype(trial.dtype(dtype).as_numpy_dtype)
    with building(trial) as graph:
        step = v1.train.get_or_create_global_step()
        weights = v1.Variable(host, name="weights", use_resource=True)
        train = tf.group(weights.assign_add(weights.read_value()), step.assign_add(by))
    return Training(graph, train, host)


def train(training: Training, hook: Any, steps: int, start: Path | None = None) -> int:
    """Train with the hook for at most ``steps`` steps, from the checkpoint in the folder ``start``, if there is one;
    return how many were made."""
    done = 0
    folder = str(start) if start else None
    try:
        with beside(training.graph), v1.train.SingularMonitoredSession(hooks=[hook], checkpoint_dir=folder) as session:
            while done < steps and not session.should_stop():
                session.run(training.train)
                done += 1
    finally:
        v1.summary.FileWriterCache.clear()
    return done


def saved_steps(folder: Path, name: str = "model.ckpt") -> list[int]:
    return sorted(int(file.stem.split("-")[-1]) for file in folder.glob(f"{name}-*.index"))


class Listener(v1.train.CheckpointSaverListener):
    """Records its calls, with the current weights, and can request to stop."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.calls: list[tuple[str, int]] = []
        self._stop_at = stop_at

    def begin(self) -> None:
        self.calls.append(("begin", -1))

    def before_save(self, session: Any, global_step_value: Any) -> None:
        self.calls.append(("before", int(global_step_value)))

    def after_save(self, session: Any, global_step_value: Any) -> bool:
        self.calls.append(("after", int(global_step_value)))
        return int(global_step_value) == self._stop_at

    def end(self, session: Any, global_step_value: Any) -> None:
        self.calls.append(("end", int(global_step_value)))
