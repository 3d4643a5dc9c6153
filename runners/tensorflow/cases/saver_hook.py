"""tf.estimator.CheckpointSaverHook: when it saves, and what the checkpoints hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from runners.core.testing.compare import check_dtype
from runners.core.testing.trial import Trial
from runners.tensorflow.cases.checkpoints import new_folder
from runners.tensorflow.graph_mode import beside
from runners.tensorflow.hooked_training import Listener, Training, make_training, saved_steps, train

v1 = tf.compat.v1


def _check_saved(
    trial: Trial, training: Training, folder: Path, step: int, dtype: str, name: str = "model.ckpt"
) -> None:
    """Check that the checkpoint of a step holds the variables' values at that step."""
    reader = tf.train.load_checkpoint(str(folder / f"{name}-{step}"))
    trial.equal(sorted(reader.get_variable_to_shape_map()), ["global_step", "weights"])
    trial.equal(int(reader.get_tensor("global_step")), step)
    weights = reader.get_tensor("weights")
    check_dtype(weights.dtype.name, dtype)
    wide = training.host.astype("complex128" if dtype.startswith("complex") else "float64")
    # Doubling is exact.
    trial.close(weights.astype(wide.dtype), wide * 2**step, rtol=0.0, atol=0.0)


def every_steps(trial: Trial, period: int, steps: int) -> None:
    """It saves before the first step, after each period of steps, and at the end."""
    training, folder = make_training(trial), new_folder()
    hook = trial.call(str(folder), save_steps=period)
    train(training, hook, steps)
    expected = sorted({*range(0, steps + 1, period), steps})
    trial.equal(saved_steps(folder), expected[-5:])  # A saver keeps five.
    for step in expected[-5:]:
        _check_saved(trial, training, folder, step, "float32")
    trial.equal(tf.train.latest_checkpoint(str(folder)), str(folder / f"model.ckpt-{steps}"))


def dtypes(trial: Trial, dtype: str) -> None:
    """The checkpoint holds a variable of any dtype exactly as it was at the end."""
    training, folder = make_training(trial, dtype), new_folder()
    train(training, trial.call(str(folder), save_steps=100), 3)
    trial.equal(saved_steps(folder), [0, 3])
    for step in (0, 3):
        _check_saved(trial, training, folder, step, dtype)


def long_period(trial: Trial, seconds: float) -> None:
    """With a period in seconds longer than the training it saves at the beginning and at the end, under its name."""
    training, folder = make_training(trial), new_folder()
    train(training, trial.call(str(folder), save_secs=seconds, checkpoint_basename="kept"), 4)
    trial.equal(saved_steps(folder, "kept"), [0, 4])
    _check_saved(trial, training, folder, 4, "float32", "kept")


def graph_files(trial: Trial, wanted: bool) -> None:
    """With ``save_graph_def`` the graph is next to the checkpoints, as text and in a file for each; otherwise not."""
    training, folder = make_training(trial), new_folder()
    train(training, trial.call(str(folder), save_steps=2, save_graph_def=wanted), 3)
    trial.equal(saved_steps(folder), [0, 2, 3])
    trial.equal((folder / "graph.pbtxt").exists(), wanted)
    trial.equal(
        sorted(file.name for file in folder.glob("*.meta")), [f"model.ckpt-{n}.meta" for n in (0, 2, 3) if wanted]
    )
    if wanted:
        with tf.Graph().as_default() as graph:
            v1.train.import_meta_graph(str(folder / "model.ckpt-2.meta"))
            trial.equal("weights" in [operation.name for operation in graph.get_operations()], True)


def listeners(trial: Trial) -> None:
    """Listeners are called at the beginning, before and after each checkpoint is saved, and at the end."""
    training, folder, listener = make_training(trial), new_folder(), Listener()
    trial.equal(train(training, trial.call(str(folder), save_steps=2, listeners=[listener]), 3), 3)
    saves = [(what, step) for step in (0, 2, 3) for what in ("before", "after")]
    trial.equal(listener.calls, [("begin", -1), *saves, ("end", 3)])


def listener_stops(trial: Trial) -> None:
    """A listener that requests it ends the training at its checkpoint."""
    training, folder, listener = make_training(trial), new_folder(), Listener(stop_at=4)
    trial.equal(train(training, trial.call(str(folder), save_steps=2, listeners=[listener]), 100), 4)
    trial.equal(saved_steps(folder), [0, 2, 4])
    trial.equal(listener.calls[-1], ("end", 4))


def own_saver(trial: Trial, given: str) -> None:
    """A custom saver, alone or in a scaffold, decides which variables are saved and how many checkpoints are kept."""
    training, folder = make_training(trial), new_folder()
    with beside(training.graph):
        (step,) = training.graph.get_collection(v1.GraphKeys.GLOBAL_STEP)
        saver = v1.train.Saver([step], max_to_keep=2)
        value = saver if given == "saver" else v1.train.Scaffold(saver=saver)
        hook = trial.call(str(folder), save_steps=1, **{given: value})
    train(training, hook, 5)
    trial.equal(saved_steps(folder), [4, 5])
    trial.equal(tf.train.list_variables(str(folder)), [("global_step", [])])


def saves_when_due(trial: Trial) -> None:
    """``after_run`` saves only in the steps that are due."""
    training, folder = make_training(trial), new_folder()
    hook = trial.make(str(folder), save_steps=3)
    trial.repeatable = False
    with beside(training.graph):
        training.graph.add_to_collection(v1.GraphKeys.SAVERS, v1.train.Saver())
        start = v1.global_variables_initializer()
        hook.begin()
        with v1.Session() as session:
            session.run(start)
            hook.after_create_session(session, None)
            due = []
            for step in range(1, 8):
                context = v1.train.SessionRunContext(v1.train.SessionRunArgs(training.train), session)
                asked = hook.before_run(context)
                number, _ = session.run([asked.fetches, training.train])
                values = v1.train.SessionRunValues(number, None, None)
                trial.equal(trial.call_method(hook, "after_run", context, values), None)
                if step in saved_steps(folder):
                    due.append(step)
                trial.check(not context.stop_requested, "the training was not stopped")
    v1.summary.FileWriterCache.clear()
    trial.equal(due, [3, 6])
    for step in (0, 3, 6):
        _check_saved(trial, training, folder, step, "float32")


def short_period(trial: Trial) -> None:
    """With a period in seconds that every step exceeds, it saves at every step, and calls several listeners in their
    order."""
    training, folder, order = make_training(trial), new_folder(), []

    class _Named(Listener):
        def after_save(self, session: Any, global_step_value: Any) -> bool:
            order.append((self, int(global_step_value)))
            return super().after_save(session, global_step_value)

    first, second = _Named(), _Named()
    hook = trial.call(str(folder), 1e-9, listeners=[first, second], checkpoint_basename="fast")
    train(training, hook, 3)
    trial.equal(saved_steps(folder, "fast"), [0, 1, 2, 3])
    for step in (1, 2):
        _check_saved(trial, training, folder, step, "float32", "fast")
    trial.equal([step for _, step in order[:8]], [0, 0, 1, 1, 2, 2, 3, 3])
    trial.check([each for each, _ in order[:4]] == [first, second] * 2, "the listeners were called in another order")
    trial.equal(first.calls, second.calls)


def refuses_two_savers(trial: Trial) -> None:
    """A saver and a scaffold cannot both be given."""
    with beside(tf.Graph()) as graph:
        step = v1.train.get_or_create_global_step(graph)
        saver = v1.train.Saver([step])
        trial.raises(["ValueError"], "saver", "folder", save_steps=1, saver=saver, scaffold=v1.train.Scaffold())


def refuses_no_step(trial: Trial) -> None:
    """A graph without a global step cannot be saved by steps."""
    hook = trial.make(str(new_folder()), save_steps=1)
    with tf.Graph().as_default():
        trial.method_raises(hook, "begin", ["RuntimeError"], "global step")


def steps_of_several(trial: Trial, by: int, period: int) -> None:
    """Steps that count by more than one are saved when the period has passed, by the global step and not by the number
    of runs; a saver of the caller writes under the name that is asked for, and only there."""
    training, folder = make_training(trial, by=by), new_folder()
    with beside(training.graph):
        saver = v1.train.Saver(max_to_keep=20)
        hook = trial.call(str(folder), save_steps=period, saver=saver, checkpoint_basename="own")
    train(training, hook, 7)
    expected = [0]
    for step in range(by, 7 * by + 1, by):
        if step >= expected[-1] + period or step == 7 * by:
            expected.append(step)
    trial.equal((saved_steps(folder, "own"), saved_steps(folder)), (expected, []))
    for step in expected:
        reader = tf.train.load_checkpoint(str(folder / f"own-{step}"))
        trial.equal(int(reader.get_tensor("global_step")), step)
        trial.equal(reader.get_tensor("weights"), training.host * 2 ** (step // by))
