"""tf.train.ExponentialMovingAverage, compared with the update rule in NumPy."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, close, run

v1 = tf.compat.v1


def _moved(start: Any, values: Sequence[Any], decay: Callable[[int], float]) -> list[Any]:
    """Return the averages after each value: d times the old average plus (1 - d) times the value."""
    average, averages = np.asarray(start).astype("float64"), []
    for number, value in enumerate(values):
        average = decay(number) * average + (1 - decay(number)) * np.asarray(value).astype("float64")
        averages.append(average)
    return averages


# In each step the average and the decay are rounded to their dtype; 1 - decay has a larger relative error.
_MOVED = {"bfloat16": (4e-2, 4e-2), "float16": (5e-3, 5e-3), "float32": (5e-6, 5e-6), "float64": (1e-12, 1e-12)}


def _apply(trial: Trial, average: Any, variable: Any, last: bool) -> None:
    # Only the last update ends the check and can be repeated for the steady time.
    trial.repeatable = last
    found = trial.call_method(average, "apply", [variable])
    trial.check(found is None, f"an eager update returns no operation, got {found!r}")


def averages(trial: Trial, shape: Sequence[int], dtype: str, decay: float = 0.75) -> None:
    """Each update moves a variable's average by 1 - decay of the distance; it starts at the variable's value."""
    hosts = [trial.random(*shape, dtype=dtype, seed=seed) for seed in (1, 2, 3, 4)]
    variable = tf.Variable(trial.tensor(hosts[0], dtype))
    average = trial.make(decay)
    trial.check(average.average(variable) is None, "there is an average before the first update")
    expected = _moved(hosts[0], hosts, lambda number: decay)
    for number, (host, wanted) in enumerate(zip(hosts, expected)):
        variable.assign(trial.tensor(host, dtype))
        before = trial.numpy(variable)
        _apply(trial, average, variable, number == 3)
        shadow = average.average(variable)
        rtol, atol = _MOVED[dtype]
        trial.close(shadow, wanted, rtol, atol, dtype=dtype)
        trial.equal(variable, before)
    trial.check(shadow is not variable and shadow.trainable is False, "the average is the variable, or trainable")


def averages_made(trial: Trial, decay: float) -> None:
    """Created in the timed call with its name and decay, it averages two variables at once and has no third average."""
    hosts = [trial.random(3, seed=1), trial.random(2, 2, dtype="float64", seed=2)]
    variables = [tf.Variable(trial.tensor(host)) for host in hosts]
    other = tf.Variable(trial.tensor(hosts[0]))
    made = trial.call(decay, name="Slow")
    trial.equal(made.name, "Slow")
    made.apply(variables)
    for variable in variables:
        variable.assign(variable * 3.0)
    made.apply(variables)
    for variable, host in zip(variables, hosts):
        wide = host.astype("float64")
        # The decay is a float32 for variables of every dtype.
        trial.close(
            made.average(variable), decay * wide + (1 - decay) * 3 * wide, *_MOVED["float32"], dtype=host.dtype.name
        )
    trial.check(made.average(other) is None, "a variable that was not given has an average")
    # Another object has averages of its own, with the decay as a tensor.
    second = trial.call(tf.constant(0.75))
    trial.equal(second.name, "ExponentialMovingAverage")
    second.apply(variables[:1])
    variables[0].assign(variables[0] * 2.0)
    second.apply(variables[:1])
    wide = hosts[0].astype("float64")
    trial.close(second.average(variables[0]), 3.75 * wide, *_MOVED["float32"], dtype="float32")
    trial.close(made.average(variables[0]), (3 - 2 * decay) * wide, *_MOVED["float32"], dtype="float32")
    trial.check(second.average(variables[1]) is None, "the two objects share their averages")


def averages_by_count(trial: Trial) -> None:
    """With the number of updates the decay starts as (1 + n) / (10 + n) and is at most the given one."""
    hosts = [trial.random(5, seed=seed) for seed in range(6)]
    variable, count = tf.Variable(trial.tensor(hosts[0])), tf.Variable(0, dtype=tf.int64)
    made = trial.make(0.3, num_updates=count)
    expected = _moved(hosts[0], hosts, lambda number: min(0.3, (1 + number) / (10 + number)))
    for number, (host, wanted) in enumerate(zip(hosts, expected)):
        variable.assign(trial.tensor(host))
        count.assign(number)
        _apply(trial, made, variable, number == 5)
        trial.close(made.average(variable), wanted, *_MOVED["float32"], dtype="float32")


def averages_in_function(trial: Trial, steps: int) -> None:
    """In a tf.function, with the decay in a variable, it is updated as it is outside."""
    start = trial.random(4, seed=3)
    given = trial.tensor(start)

    def body(exponential_moving_average: Callable[..., Any]) -> Any:
        variable, decay = tf.Variable(given), tf.Variable(0.5)
        made = exponential_moving_average(decay)

        @tf.function
        def step() -> None:
            variable.assign_add(tf.ones_like(variable))
            made.apply([variable])

        for number in range(steps):
            if number == 2:
                decay.assign(0.875)
            step()
        return made.average(variable)

    values = [start + number for number in range(1, steps + 1)]
    expected = _moved(start, values, lambda number: 0.5 if number < 2 else 0.875)[-1]
    # The average starts at the variable's value when it is created, before the first addition.
    trial.close(trial.call_inside(body), expected, *_MOVED["float32"], dtype="float32")


def averages_in_graph(trial: Trial, dtype: str) -> None:
    """In a graph the update is an operation; names come from the variable and the average."""
    host = trial.random(3, 2, dtype=dtype, seed=4)
    with building(trial) as graph:
        variable = v1.get_variable("weights", initializer=tf.constant(host), use_resource=True)
        change = variable.assign_add(tf.ones_like(variable))

    def body(exponential_moving_average: Callable[..., Any]) -> Any:
        with building(trial, graph):
            made = exponential_moving_average(0.25, name="Mean")
            return made, made.apply()

    # A second call would create more averages.
    trial.repeatable = False
    made, update = trial.call_inside(body)
    with building(trial, graph):
        shadow, start = made.average(variable), v1.global_variables_initializer()
        trial.equal(made.average_name(variable), "weights/Mean")
        trial.equal(shadow.name, "weights/Mean:0")
        trial.equal(sorted(made.variables_to_restore()), ["weights/Mean"])
    found = [item.name for item in graph.get_collection(v1.GraphKeys.MOVING_AVERAGE_VARIABLES)]
    trial.equal(found, ["weights:0"])
    with v1.Session(graph=graph) as session:
        session.run(start)
        close(trial, session.run(shadow), host.astype("float64"), dtype, 0.0, 0.0)
        values = []
        for _ in range(3):
            values.append(session.run(change))
            run(trial, session, update)
        close(trial, session.run(shadow), _moved(host, values, lambda number: 0.25)[-1], dtype, *_MOVED[dtype])


def averages_by_count_in_graph(trial: Trial) -> None:
    """In a graph the number of updates is read in each step; several variables, of two dtypes, are averaged by one
    operation, and those that are not given have no average."""
    hosts = [trial.random(3, seed=8), trial.random(2, dtype="float64", seed=9)]
    with building(trial) as graph:
        count = v1.get_variable("count", initializer=tf.constant(0), trainable=False, use_resource=True)
        pair = [v1.get_variable(f"v{host.size}", initializer=tf.constant(host), use_resource=True) for host in hosts]
        change = [variable.assign(variable * -2.0) for variable in pair]
        more = count.assign_add(1)

    def body(exponential_moving_average: Callable[..., Any]) -> Any:
        with building(trial, graph):
            made = exponential_moving_average(0.2, num_updates=count, zero_debias=True)
            return made, made.apply(pair)

    # A second call would create more averages.
    trial.repeatable = False
    made, update = trial.call_inside(body)
    trial.check(made.average(count) is None, "a variable that was not given has an average")
    with building(trial, graph):
        shadows, start = [made.average(variable) for variable in pair], v1.global_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(start)
        for _ in range(4):
            session.run(change)
            run(trial, session, update)
            session.run(more)
        found = session.run(shadows)
    for average, host in zip(found, hosts):
        values = [host.astype("float64") * (-2.0) ** number for number in (1, 2, 3, 4)]
        expected = _moved(host, values, lambda number: min(0.2, (1 + number) / (10 + number)))[-1]
        close(trial, average, expected, host.dtype.name, *_MOVED["float32"])


def averages_of_tensor(trial: Trial, debiased: bool) -> None:
    """In a graph a tensor's average starts at zero; debiasing divides that start out."""
    hosts = [trial.random(4, seed=seed) for seed in (5, 6, 7)]
    with building(trial) as graph:
        x = v1.placeholder(tf.float32, [4])
        tensor = tf.identity(x)

    def body(exponential_moving_average: Callable[..., Any]) -> Any:
        with building(trial, graph):
            made = exponential_moving_average(0.5, zero_debias=debiased)
            return made, made.apply([tensor])

    trial.repeatable = False
    made, update = trial.call_inside(body)
    with building(trial, graph):
        shadow, start = made.average(tensor), v1.global_variables_initializer()
    expected = _moved(np.zeros(4), hosts, lambda number: 0.5)
    with v1.Session(graph=graph) as session:
        session.run(start)
        for number, (host, wanted) in enumerate(zip(hosts, expected)):
            run(trial, session, update, {x: host})
            weight = 1 - 0.5 ** (number + 1) if debiased else 1.0
            close(trial, session.run(shadow), wanted / weight, "float32", *_MOVED["float32"])
