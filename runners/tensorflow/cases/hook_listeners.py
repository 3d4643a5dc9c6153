"""tf.estimator.CheckpointSaverHook: several listeners together, and a training that goes on from a checkpoint."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.checkpoints import new_folder
from runners.tensorflow.graph_mode import beside
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


def told_in_time(trial: Trial, given: str) -> None:
    """``before_save`` is called when nothing of its step is written yet, ``after_save`` when the checkpoint can be
    read, both with a session that has the values of this step; first all of the one kind, then all of the other."""
    training, folder, seen = make_training(trial), new_folder(), []

    class _Looks(Listener):
        def _look(self, what: str, session: Any, step: Any) -> None:
            written = (folder / f"own-{int(step)}.index").exists()
            (weights,) = training.graph.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES)
            value = session.run(weights)
            seen.append((what, int(step), written))
            trial.equal(value, training.host * 2 ** int(step))

        def before_save(self, session: Any, global_step_value: Any) -> None:
            self._look("before", session, global_step_value)

        def after_save(self, session: Any, global_step_value: Any) -> bool:
            self._look("after", session, global_step_value)
            return False

    period: Any = {"save_steps": 2} if given == "steps" else {"save_secs": 3600}
    hook = trial.call(str(folder), listeners=[_Looks(), _Looks()], checkpoint_basename="own", **period)
    train(training, hook, 5)
    steps = [0, 2, 4, 5] if given == "steps" else [0, 5]
    calls = [("before", False)] * 2 + [("after", True)] * 2
    trial.equal(seen, [(what, step, written) for step in steps for what, written in calls])


def session_again(trial: Trial) -> None:
    """A session that is created again, after a failure, begins with a checkpoint of its first step; the period goes on
    from there."""
    training, folder, listener = make_training(trial), new_folder(), Listener()
    hook = trial.call(str(folder), save_steps=3, listeners=[listener])
    failures = [v1.errors.AbortedError(None, None, "lost")]

    class _Fails(v1.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            if failures and run_context.session.run(step) == 5:
                raise failures.pop()

    try:
        with beside(training.graph):
            (step,) = training.graph.get_collection(v1.GraphKeys.GLOBAL_STEP)
            creator = v1.train.ChiefSessionCreator(checkpoint_dir=str(folder))
            with v1.train.MonitoredSession(session_creator=creator, hooks=[_Fails(), hook]) as session:
                trial.repeatable = False
                for _ in range(8):
                    session.run(training.train)
    finally:
        v1.summary.FileWriterCache.clear()
    saved = [step for what, step in listener.calls if what == "after"]
    # The fifth step is lost, and the call that lost it is made again from the checkpoint of the third one.
    trial.equal(saved, [0, 3, 3, 6, 7])
    trial.equal(saved_steps(folder), [0, 3, 6, 7])
