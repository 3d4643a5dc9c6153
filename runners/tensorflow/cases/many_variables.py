"""Graphs and optimizers of many variables, some made later, with values that are not finite: is each one handled?"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.optimizers import expected_steps
from runners.tensorflow.graph_mode import building, call_building, close, run

v1 = tf.compat.v1

_SPECIAL = [np.inf, -np.inf, np.nan, -0.0, 1e-45, 3.4028235e38, 16777217.0]


def _made(count: int, dtype: str, first: int = 0) -> tuple[list[Any], list[Any]]:
    """Variables with one number each, special ones among them, and these numbers."""
    hosts = [np.asarray([(_SPECIAL + [n * 0.1 + 1] * 3)[n % 10]], dtype) for n in range(first, first + count)]
    names = range(first, first + count)
    return [v1.get_variable(f"v{n}", initializer=host, use_resource=True) for n, host in zip(names, hosts)], hosts


def _exact(trial: Trial, found: Any, host: Any) -> None:
    trial.equal(found.dtype.name, host.dtype.name)
    trial.exact(found, host)


def initialized(trial: Trial, count: int, dtype: str) -> None:
    """Each of many variables gets its own initial value: infinities, NaN, zeros and numbers with all their digits."""
    with building(trial) as graph:
        made, hosts = _made(count, dtype)
    start = call_building(trial, graph)
    with v1.Session(graph=graph) as session:
        run(trial, session, start)
        for found, host in zip(session.run(made), hosts):
            _exact(trial, found, host)


def initialized_later(trial: Trial) -> None:
    """Called again in a graph with more variables, it initializes these too; the first operation does not. Another
    graph has its own."""
    with building(trial) as graph:
        first, hosts = _made(2, "float32", 7)
    with building(trial) as other:
        apart, _ = _made(1, "float32", 8)

    def body(function: Callable[..., Any]) -> Any:
        with building(trial, graph):
            before = function()
            later = v1.get_variable("later", initializer=np.float32(-2.5), use_resource=True)
            after = function()
            states = [v1.is_variable_initialized(variable) for variable in (*first, later)]
        with building(trial, other):
            return before, later, after, states, function()

    trial.repeatable = False
    before, later, after, states, elsewhere = trial.call_inside(body)
    trial.check(elsewhere.graph is other, "the operation belongs to the graph of an earlier call")
    with v1.Session(graph=graph) as session:
        run(trial, session, before)
        trial.equal(session.run(states), [True, True, False])
        run(trial, session, after)
        for found, expected in zip(session.run([*first, later]), [*hosts, np.float32(-2.5)]):
            _exact(trial, found, expected)
    with v1.Session(graph=other) as session:
        session.run(elsewhere)
        trial.equal(session.run(apart[0]), np.asarray([8 * 0.1 + 1], "float32"))


def tested(trial: Trial, count: int) -> None:
    """Of many variables each has its own result, whatever value it has been given: NaN and zeros too."""
    with building(trial) as graph:
        made, _ = _made(count, "float32")

    def body(function: Callable[..., Any]) -> Any:
        with building(trial, graph):
            return [function(variable) for variable in made]

    answers = trial.call_inside(body)
    trial.equal({(each.dtype.name, tuple(each.shape)) for each in answers}, {("bool", ())})
    for chosen in (range(count - 1), range(0, count, 3), [count - 1], []):
        with v1.Session(graph=graph) as session:
            session.run([made[n].initializer for n in chosen])
            trial.equal([bool(each) for each in session.run(answers)], [n in chosen for n in range(count)])


def averaged(trial: Trial, count: int, decay_as: str) -> None:
    """Each of many variables has its average; those of a later call begin at their values, and NaN or an infinity in
    one changes no other. The decay is a number of Python or NumPy, or a tensor."""
    hosts = [np.asarray([n + 1.0, _SPECIAL[n % 7] if n % 9 == 8 else -n], "float64") for n in range(count)]
    decay = {"number": 0.5, "float16": np.float16(0.5), "float64": np.float64(0.5), "tensor": tf.constant(0.5)}
    kept = count // 2

    def body(average: Callable[..., Any]) -> Any:
        variables = [tf.Variable(trial.tensor(host)) for host in hosts]
        made = average(decay[decay_as])
        made.apply(variables[:kept])
        for variable in variables:
            variable.assign(variable * 3.0)
        made.apply(variables)
        return [tf.identity(made.average(variable)) for variable in variables]

    with np.errstate(invalid="ignore", over="ignore"):
        expected = [host * 2 if n < kept else host * 3 for n, host in enumerate(hosts)]
    for found, wanted in zip(trial.call_inside(body), expected):
        # The distance of two infinities is NaN.
        if np.isinf(wanted[1]):
            found, wanted = found[:1], wanted[:1]
        trial.close(found, wanted, dtype="float64")


def averaged_of_graph(trial: Trial, count: int) -> None:
    """In a graph, without a list, all trainable variables have an average, and only these; variables that are made
    later have one after the next call. The names to restore are those of the averages."""
    with building(trial) as graph:
        made, _ = _made(3, "float64", 7)
        many = [v1.get_variable(f"w{n}", initializer=np.float64(n + 1), use_resource=True) for n in range(count)]
        fixed = v1.get_variable("fixed", initializer=np.float64(5), trainable=False, use_resource=True)

    def body(average: Callable[..., Any]) -> Any:
        with building(trial, graph):
            moving = average(0.75)
            moving.apply()
            later = v1.get_variable("later", initializer=np.float64(-4), use_resource=True)
            without = moving.average(later)
            update = moving.apply()
            names = moving.variables_to_restore()
            return moving, later, without, update, names

    trial.repeatable = False
    moving, later, without, update, names = trial.call_inside(body)
    trial.equal([without, moving.average(fixed)], [None, None])
    every = [*made, *many, later]
    trial.equal(sorted(names), sorted([f"{v.op.name}/ExponentialMovingAverage" for v in every] + ["fixed"]))
    with building(trial, graph):
        start = v1.global_variables_initializer()
        double = [variable.assign(variable * 2.0) for variable in every]
        shadows = [moving.average(variable).read_value() for variable in every]
    with v1.Session(graph=graph) as session:
        session.run(start)
        before = session.run(every)
        session.run(double)
        run(trial, session, update)
        for found, value in zip(session.run(shadows), before):
            close(trial, found, 1.25 * value, "float64")


def stepped(trial: Trial, count: int, rate_as: str) -> None:
    """Each of many weights moves by its own gradient, and NaN in the gradients of some changes no others. The rate is
    a number of Python or NumPy."""
    rate: float = {"number": 0.5, "float64": np.float64(0.25)}[rate_as]
    starts = [trial.random(2, seed=n) for n in range(count)]
    slopes = [[trial.random(2, seed=100 * step + n) for n in range(count)] for step in (1, 2)]
    for row in slopes:
        for n in range(5, count, 9):
            row[n][0] = np.nan

    def body(adadelta: Callable[..., Any]) -> Any:
        weights = [tf.Variable(trial.tensor(start)) for start in starts]
        optimizer = adadelta(learning_rate=rate, epsilon=1e-3)
        optimizer.build(weights)
        for row in slopes:
            optimizer.apply_gradients([(trial.tensor(slope), weight) for slope, weight in zip(row, weights)])
        return [tf.convert_to_tensor(weight) for weight in weights]

    expected: Sequence[Any] = expected_of_steps(starts, slopes, rate)
    for found, wanted in zip(trial.call_inside(body), expected):
        trial.close(found, wanted, 1e-5, 1e-6, dtype="float32")


def expected_of_steps(starts: Sequence[Any], slopes: Sequence[Sequence[Any]], rate: float) -> list[Any]:
    return [
        expected_steps(start, [row[n].astype("float64") for row in slopes], lambda place: rate, 0.95, 1e-3)[-1]
        for n, start in enumerate(starts)
    ]
