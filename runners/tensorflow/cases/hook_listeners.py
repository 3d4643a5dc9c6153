"""tf.estimator.CheckpointSaverHook: several listeners together, and a training that goes on from a checkpoint."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.checkpoints import new_folder
from runners.tensorflow.hooked_training import Listener, make_training, saved_steps, train

v1 = tf.compat.v1


def one_stops(trial: Trial, place: int) -> None:
    """Any of several listeners can end the training; the others are called at each checkpoint all the same, and the
    list that was given is as it was."""
    training, folder = make_training(trial), new_folder()
    listeners = [Listener(stop_at=4 if number == place else None) for number in range(3)]
    given = list(listeners)
    trial.equal(train(training, trial.call(str(folder), save_steps=2, listeners=given), 100), 4)
    trial.equal(saved_steps(folder), [0, 2, 4])
    trial.check(given == listeners, "the caller's list was changed")
    saves = [(what, step) for step in (0, 2, 4) for what in ("before", "after")]
    for listener in listeners:
        trial.equal(listener.calls, [("begin", -1), *saves, ("end", 4)])


def goes_on(trial: Trial) -> None:
    """From a checkpoint in the folder the training goes on at its step, at which it saves, and from which the period is
    counted; a step that was saved is not saved again at the end."""
    training, folder, listener = make_training(trial), new_folder(), Listener()
    for start, steps, saved in ((0, 5, [0, 4, 5]), (5, 8, [5, 9, 13])):
        listener.calls.clear()
        hook = trial.call(str(folder), save_steps=4, listeners=[listener])
        train(training, hook, steps, folder if start else None)
        trial.equal([step for what, step in listener.calls if what == "after"], saved)


def written(trial: Trial) -> None:
    """The folder and those above it are created; next to the checkpoints there are events with the graph and, for each
    checkpoint, its step and path."""
    training, folder = make_training(trial), new_folder() / "deep" / "er"
    train(training, trial.call(str(folder), save_steps=2), 3)
    logged: list[Any] = []
    graphs = 0
    for file in sorted(folder.glob("events.*")):
        for event in v1.train.summary_iterator(str(file)):
            graphs += bool(event.graph_def)
            if event.HasField("session_log"):
                logged.append((event.step, event.session_log.status, event.session_log.checkpoint_path))
    path = str(folder / "model.ckpt")
    trial.equal(logged, [(step, v1.SessionLog.CHECKPOINT, path) for step in (0, 2, 3)])
    trial.equal(graphs > 0, True)
