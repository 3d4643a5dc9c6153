"""tf.estimator.LoggingTensorHook: driven by a monitored session, as an estimator drives it."""

from __future__ import annotations

import contextlib
import logging
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import beside

v1 = tf.compat.v1


class _Model(NamedTuple):
    """A graph with a fed step number: its square and half of it are logged."""

    graph: tf.Graph
    step: Any
    square: Any
    half: Any


def _model(trial: Trial) -> _Model:
    graph = tf.Graph()
    with graph.as_default(), tf.device(trial.device):
        step = v1.placeholder_with_default(np.float32(100.0), [], "step")
        return _Model(graph, step, tf.square(step, "square"), tf.multiply(step, 0.5, "half"))


class _Collector:
    """A formatter that keeps its input."""

    def __init__(self) -> None:
        self.given: list[Mapping[Any, Any]] = []

    def __call__(self, values: Mapping[Any, Any]) -> str:
        self.given.append(dict(values))
        return "collected"


def _train(model: _Model, hook: Any, steps: int) -> None:
    with beside(model.graph), v1.train.SingularMonitoredSession(hooks=[hook]) as session:
        for number in range(steps):
            session.run(model.half, feed_dict={model.step: number})


@contextlib.contextmanager
def logged() -> Iterator[list[str]]:
    """Return what TensorFlow logs at level INFO in the meantime."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage()) if record.levelno == logging.INFO else None
    logger = v1.logging
    before = logger.get_verbosity()
    logger.set_verbosity(logger.INFO)
    logging.getLogger("tensorflow").addHandler(handler)
    try:
        yield lines
    finally:
        logging.getLogger("tensorflow").removeHandler(handler)
        logger.set_verbosity(before)


def every_steps(trial: Trial, period: int, steps: int) -> None:
    """The hook reports the tensors at the first step and then at every ``period``-th, with that step's values."""
    model, collector = _model(trial), _Collector()
    hook = trial.call({"square": model.square, "half": model.half}, every_n_iter=period, formatter=collector)
    _train(model, hook, steps)
    wanted = [{"square": np.float32(n * n), "half": np.float32(n / 2)} for n in range(0, steps, period)]
    trial.check(collector.given == wanted, f"expected {wanted}, got {collector.given}")
    trial.check(all(isinstance(v, np.float32) for given in collector.given for v in given.values()), "no float32")


def at_end(trial: Trial, period: int) -> None:
    """With ``at_end`` the values are computed again at the end; without a period (0), only there."""
    model, collector = _model(trial), _Collector()
    hook = trial.call({"square": model.square}, every_n_iter=period or None, at_end=True, formatter=collector)
    _train(model, hook, 5)
    # At the end nothing is fed: the placeholder's default, 100, is used.
    wanted = [*(range(0, 5, period) if period else []), 100]
    found = [float(values["square"]) for values in collector.given]
    trial.equal(found, [float(n * n) for n in wanted])


def long_period(trial: Trial, seconds: float) -> None:
    """With a period in seconds longer than the training only the first step is reported."""
    model, collector = _model(trial), _Collector()
    hook = trial.call([model.half], every_n_secs=seconds, formatter=collector)
    _train(model, hook, 4)
    trial.equal(len(collector.given), 1)
    (value,) = collector.given[0].values()
    trial.equal(value, 0.0)
    trial.equal(value.dtype.name, "float32")


def text(trial: Trial, tags: Sequence[str], named: bool = False) -> None:
    """Without a formatter it logs "tag = value" for each tensor, in the given order, at level INFO; a dictionary gives
    the tags."""
    model = _model(trial)
    tensors = {f"my {tag}": getattr(model, tag) for tag in tags} if named else [f"{tag}:0" for tag in tags]
    with logged() as lines:
        hook = trial.call(tensors, every_n_iter=2)
        _train(model, hook, 3)
    values = {"square": (0.0, 4.0), "half": (0.0, 1.0)}
    shown = {tag: f"my {tag}" if named else f"{tag}:0" for tag in tags}
    wanted = [", ".join(f"{shown[tag]} = {values[tag][report]}" for tag in tags) for report in (0, 1)]
    # From the second report on the elapsed time follows in parentheses.
    found = [line.split(" (")[0] for line in lines if " = " in line]
    trial.check(found == wanted, f"expected {wanted}, logged {lines}")
    trial.check(lines[-1].endswith(" sec)"), f"no time in {lines[-1]!r}")


def asks_for_tensors(trial: Trial) -> None:
    """``before_run`` requests the tensors in the steps to be reported and nothing in the others."""
    model, collector = _model(trial), _Collector()
    hook = trial.make({"square": "square:0"}, every_n_iter=2, formatter=collector)
    with model.graph.as_default(), v1.Session() as session:
        hook.begin()
        for number, due in enumerate((True, False, True)):
            context = v1.train.SessionRunContext(v1.train.SessionRunArgs(model.half), session)
            asked = trial.call_method(hook, "before_run", context)
            trial.check((asked is not None) == due, f"step {number}: asked for {asked}")
            results = session.run(asked.fetches, feed_dict={model.step: number}) if due else None
            if due:
                trial.check(asked.fetches["square"] is model.square, f"asked for {asked.fetches}")
            hook.after_run(context, v1.train.SessionRunValues(results, None, None))
    trial.equal([float(values["square"]) for values in collector.given], [0.0, 4.0])


def reports(trial: Trial, dtype: str) -> None:
    """``after_run`` passes the step's values to the formatter unchanged, and logs what it returns."""
    host = trial.random(3, dtype=dtype, seed=1)
    given: list[Any] = []

    def formatter(values: Mapping[str, Any]) -> str:
        given.append(values["weights"])
        return f"seen {len(given)}"

    graph = tf.Graph()
    with graph.as_default(), tf.device(trial.device):
        weights = tf.constant(host)
    hook = trial.make({"weights": weights}, every_n_iter=1, formatter=formatter)
    with graph.as_default(), v1.Session() as session, logged() as lines:
        hook.begin()
        context = v1.train.SessionRunContext(v1.train.SessionRunArgs(None), session)
        values = session.run(hook.before_run(context).fetches)
        returned = trial.call_method(hook, "after_run", context, v1.train.SessionRunValues(values, None, None))
    trial.equal(returned, None)
    trial.equal(len(given), 1)
    trial.equal(given[0].dtype.name, dtype)
    trial.equal(given[0], host)
    trial.check(lines == ["seen 1"], f"logged {lines}")


def whole_training(trial: Trial, steps: int) -> None:
    """In a monitored session it reports the variables' values at every tenth of many steps."""

    def body(logging_tensor_hook: Callable[..., Any]) -> Any:
        collector = _Collector()
        graph = tf.Graph()
        with graph.as_default(), tf.device(trial.device):
            step = v1.train.get_or_create_global_step()
            count = v1.assign_add(step, 1)
            # Read after the addition, so that the order within one step is certain.
            with tf.control_dependencies([count]):
                held = tf.identity(step.read_value())
        with beside(graph):
            hook = logging_tensor_hook({"step": held}, every_n_iter=10, formatter=collector)
            with v1.train.SingularMonitoredSession(hooks=[hook]) as session:
                for _ in range(steps):
                    session.run(count)
        return [int(values["step"]) for values in collector.given]

    trial.equal(trial.call_inside(body), list(range(1, steps + 1, 10)))


def short_period(trial: Trial) -> None:
    """With a period in seconds that every step exceeds, every step is reported, and again at the end."""
    model, collector = _model(trial), _Collector()
    hook = trial.call(tensors={"half": "half:0"}, every_n_secs=1e-9, at_end=True, formatter=collector)
    _train(model, hook, 4)
    trial.equal([float(values["half"]) for values in collector.given], [0.0, 0.5, 1.0, 1.5, 50.0])


def trains_twice(trial: Trial) -> None:
    """A hook that is used twice starts again: with the first step, its own count and the tensors of the new graph."""
    collector = _Collector()
    hook = trial.call(["square:0"], every_n_iter=3, formatter=collector)
    for steps in (5, 2):
        _train(_model(trial), hook, steps)
    trial.equal([float(values["square:0"]) for values in collector.given], [0.0, 9.0, 0.0])


def side_by_side(trial: Trial) -> None:
    """Two hooks of one training report each its own tensors in its own steps."""
    model, first, second = _model(trial), _Collector(), _Collector()
    trial.repeatable = False
    hooks = [
        trial.call({"square": model.square}, every_n_iter=2, formatter=first),
        trial.call({"half": model.half}, every_n_iter=3, formatter=second),
    ]
    with beside(model.graph), v1.train.SingularMonitoredSession(hooks=hooks) as session:
        for number in range(7):
            session.run(model.half, feed_dict={model.step: number})
    trial.equal(
        [{key: float(each) for key, each in given.items()} for given in first.given],
        [{"square": float(n * n)} for n in (0, 2, 4, 6)],
    )
    trial.equal(
        [{key: float(each) for key, each in given.items()} for given in second.given],
        [{"half": n / 2} for n in (0, 3, 6)],
    )
