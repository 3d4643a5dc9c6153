"""Running means: tf.compat.v1.metrics.accuracy in a graph, tf.train.ExponentialMovingAverage eagerly and in a graph."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, call_building, close

v1 = tf.compat.v1


def _accuracies(
    trial: Trial, batches: Sequence[Sequence[Any]], dtypes: Sequence[str], weighted: bool = False, **options: Any
) -> None:
    """Feeds batches of labels, predictions and, if ``weighted``, weights: each update and the value after it must be
    the weighted share of equal elements so far."""
    with building(trial) as graph:
        fed = [v1.placeholder(trial.dtype(dtype)) for dtype in dtypes]
    if weighted:
        options["weights"] = fed[2]
    # Each call makes local variables of its own, so that it can be repeated.
    value, update = call_building(trial, graph, fed[0], fed[1], **options)
    trial.equal((value.dtype.name, update.dtype.name), ("float32", "float32"))
    with building(trial, graph):
        start = v1.local_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(start)
        close(trial, session.run(value), 0.0, "float32")
        hits = total = 0.0
        for batch in batches:
            labels, predictions = np.asarray(batch[0]), np.asarray(batch[1])
            weights = np.broadcast_to(np.asarray(batch[2]) if weighted else 1.0, labels.shape).astype("float64")
            hits += (weights * (labels == predictions)).sum()
            total += weights.sum()
            expected = hits / total if total else 0.0
            close(trial, session.run(update, dict(zip(fed, batch))), expected, "float32")
            # Reading does not change it.
            close(trial, session.run(value), expected, "float32")
            close(trial, session.run(value), expected, "float32")


def accuracy(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """Over three batches it is the share of predictions so far that equal their labels."""
    batches = []
    for seed in (1, 2, 3):
        labels = trial.random(*shape, dtype="int64", seed=seed, high=3).astype(dtype)
        predictions = trial.random(*shape, dtype="int64", seed=seed + 10, high=2).astype(dtype)
        batches.append((labels, predictions))
    _accuracies(trial, batches, (dtype, dtype))


def accuracy_uneven(trial: Trial) -> None:
    """Batches of different sizes count by their elements: an empty one changes nothing, NaN equals nothing."""
    batches = [
        ([1.0, 2.0, 3.0], [1.0, 0.0, 3.0]),
        ([], []),
        ([np.nan, np.inf, -0.0, 5.0, 6.0], [np.nan, np.inf, 0.0, 5.0, 6.5]),
        ([7.0], [7.0]),
    ]
    _accuracies(trial, batches, ("float32", "float32"))


def accuracy_weighted(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """Weights for all, for each row or for each element make it a weighted share; where all are 0 nothing counts."""
    batches = []
    for seed in (1, 2):
        labels = trial.random(6, 4, dtype="int32", seed=seed, high=3)
        predictions = trial.random(6, 4, dtype="int32", seed=seed + 10, high=3)
        weights = trial.random(*shape, dtype="int64", seed=seed + 20, high=8).astype(dtype)
        batches.append((labels, predictions, weights))
    batches.append((labels, labels, np.zeros(shape, dtype)))
    _accuracies(trial, batches, ("int32", "int32", dtype), weighted=True)


def accuracy_cast(trial: Trial) -> None:
    """Predictions are converted to the labels' dtype: 2.9 and 1.2 count as 2 and 1 beside whole labels."""
    with building(trial) as graph:
        labels = tf.constant([2, 1, 0, 3], tf.int32)
        predictions = tf.constant([2.9, 1.2, 1.0, 4.5])
    _, update = call_building(trial, graph, labels, predictions)
    with building(trial, graph):
        start = v1.local_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(start)
        # int(2.9) = 2, int(1.2) = 1; 1 is not 0, 4 is not 3.
        close(trial, session.run(update), 0.5, "float32")


def accuracy_squeezed(trial: Trial) -> None:
    """A trailing dimension of 1 that only one side has is dropped, so that nothing is broadcast."""
    labels, predictions = np.asarray([0, 1, 2, 3, 4]), np.asarray([0, 1, 0, 3, 0])
    for label_shape, prediction_shape in (([5, 1], [5]), ([5], [5, 1])):
        with building(trial) as graph:
            given = (
                tf.constant(labels.reshape(label_shape)),
                tf.constant(predictions.reshape(prediction_shape)),
            )
        _, update = call_building(trial, graph, *given)
        with building(trial, graph):
            start = v1.local_variables_initializer()
        with v1.Session(graph=graph) as session:
            session.run(start)
            close(trial, session.run(update), 0.6, "float32")


def accuracy_collected(trial: Trial) -> None:
    """The value and the update join the collections that are named, the variables the local and metric ones."""
    with building(trial) as graph:
        labels, predictions = tf.constant([1, 2, 3, 4]), tf.constant([1, 2, 3, 0])
    # Repeated it would fill the collections further.
    trial.repeatable = False
    value, update = call_building(
        trial, graph, labels, predictions, metrics_collections=["means"], updates_collections=["steps"], name="hits"
    )
    trial.check(graph.get_collection("means") == [value], "the value is not in its collection")
    trial.check(graph.get_collection("steps") == [update], "the update is not in its collection")
    names = ["hits/total:0", "hits/count:0"]
    for key in (v1.GraphKeys.LOCAL_VARIABLES, v1.GraphKeys.METRIC_VARIABLES):
        trial.equal([variable.name for variable in graph.get_collection(key)], names)
    trial.equal(graph.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES), [])
    with building(trial, graph):
        start = v1.local_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(start)
        close(trial, session.run(update), 0.75, "float32")
        close(trial, session.run(value), 0.75, "float32")
        total, count = session.run(graph.get_collection(v1.GraphKeys.LOCAL_VARIABLES))
        close(trial, total, 3.0, "float32")
        close(trial, count, 4.0, "float32")
        # Initialized again it begins anew.
        session.run(start)
        close(trial, session.run(value), 0.0, "float32")


# tf.train.ExponentialMovingAverage


def _moved(start: Any, values: Sequence[Any], decay: Callable[[int], float]) -> list[Any]:
    """The averages after each value: d times the old one plus (1 - d) times the value."""
    average, averages = np.asarray(start).astype("float64"), []
    for number, value in enumerate(values):
        average = decay(number) * average + (1 - decay(number)) * np.asarray(value).astype("float64")
        averages.append(average)
    return averages


# The average is rounded to its dtype in each step, and the decay to its dtype, 1 - decay with a larger relative error.
_MOVED = {"bfloat16": (4e-2, 4e-2), "float16": (5e-3, 5e-3), "float32": (5e-6, 5e-6), "float64": (1e-6, 1e-6)}


def _apply(trial: Trial, average: Any, variable: Any, last: bool) -> None:
    # Only the last update ends the check, and may be repeated for the steady time.
    trial.repeatable = last
    found = trial.call_method(average, "apply", [variable])
    trial.check(found is None, f"eagerly the update has happened, no operation is left: got {found!r}")


def averages(trial: Trial, shape: Sequence[int], dtype: str, decay: float = 0.75) -> None:
    """Each update moves the shadow of a variable by 1 - decay of the way; it starts at the variable's value."""
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
    trial.check(shadow is not variable and shadow.trainable is False, "the shadow is the variable, or trainable")


def averages_made(trial: Trial, decay: float) -> None:
    """Made by the timed call, with its name and decay, it averages two variables at once and knows no third."""
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
        trial.close(
            made.average(variable), decay * wide + (1 - decay) * 3 * wide, *_MOVED["float32"], dtype=host.dtype.name
        )
    trial.check(made.average(other) is None, "a variable that was never given has an average")


def averages_by_count(trial: Trial) -> None:
    """With the number of updates the decay is (1 + n) / (10 + n) at first, and never above the one given."""
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
    """Updated inside a tf.function, with a decay held in a variable, it moves as it does outside."""
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
    # The shadow starts at the value that the variable has when it is made: before the first addition.
    trial.close(trial.call_inside(body), expected, *_MOVED["float32"], dtype="float32")


def averages_in_graph(trial: Trial, dtype: str) -> None:
    """In a graph the update is an operation that is run; the names are those of the variable and the average."""
    host = trial.random(3, 2, dtype=dtype, seed=4)
    with building(trial) as graph:
        variable = v1.get_variable("weights", initializer=tf.constant(host), use_resource=True)
        change = variable.assign_add(tf.ones_like(variable))

    def body(exponential_moving_average: Callable[..., Any]) -> Any:
        with building(trial, graph):
            made = exponential_moving_average(0.25, name="Mean")
            return made, made.apply()

    # Repeated it would make further shadows.
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
            session.run(update)
        close(trial, session.run(shadow), _moved(host, values, lambda number: 0.25)[-1], dtype, *_MOVED[dtype])


def averages_of_tensor(trial: Trial, debiased: bool) -> None:
    """In a graph a tensor is averaged from zero on; debiased, that start is divided out again."""
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
            session.run(update, {x: host})
            weight = 1 - 0.5 ** (number + 1) if debiased else 1.0
            close(trial, session.run(shadow), wanted / weight, "float32", *_MOVED["float32"])
