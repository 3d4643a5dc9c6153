"""tf.Variable: updates of rows, places of many axes, static shapes, Python's numbers, and members of TensorFlow 1."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import beside, building, close

v1 = tf.compat.v1


def rows_updated(trial: Trial, dtype: str) -> None:
    """Each update of rows computes with the old and the new values there, the first and the last row among them, one
    row twice; negative numbers too, and all other rows stay. The value of the update is the new one."""
    host = trial.random(6, 3, dtype=dtype, seed=1, low=-5, high=5)
    rows = np.asarray([5, 0, 2, 5])
    new = trial.random(4, 3, dtype=dtype, seed=2, low=-5, high=5)
    new[new == 0] = 2
    computed: Mapping[str, Any] = {
        "scatter_add": np.add,
        "scatter_sub": np.subtract,
        "scatter_mul": np.multiply,
        "scatter_max": np.maximum,
        "scatter_min": np.minimum,
    }
    if dtype.startswith("float"):
        computed = {**computed, "scatter_div": np.divide}
    rounded = {"float32": 1e-5, "float64": 1e-12}.get(dtype, 0.0)
    trial.repeatable = False
    for name, work in computed.items():
        variable = trial.call(trial.tensor(host))
        before = variable.read_value()
        options = {"use_locking": True, "name": "own"} if name == "scatter_sub" else {}
        update = getattr(variable, name)(tf.IndexedSlices(trial.tensor(new), trial.tensor(rows)), **options)
        expected = host.copy()
        for row, value in zip(rows, new):
            expected[row] = work(expected[row], value)
        trial.close(variable, expected, rounded, rounded, dtype=dtype)
        trial.close(tf.convert_to_tensor(update), expected, rounded, rounded, dtype=dtype)
        trial.exact(before, host, dtype)
    variable = trial.call(trial.tensor(host))
    variable.scatter_update(tf.IndexedSlices(trial.tensor(new[:3]), trial.tensor(rows[:3])))
    expected = host.copy()
    expected[rows[:3]] = new[:3]
    trial.exact(variable, expected, dtype)


def places_of_many_axes(trial: Trial, dtype: str) -> None:
    """gather_nd and the updates of places take indices of any depth and number of axes."""
    host = trial.random(3, 4, 2, 5, dtype=dtype, seed=3)
    grids = [[[1], [2]], [[[2, 3], [0, 1]], [[1, 0], [2, 2]]], [[2, 3, 1], [0, 0, 0]], [[2, 3, 1, 4], [0, 1, 0, 2]]]
    trial.repeatable = False
    for grid in grids:
        places = np.asarray(grid)
        at = tuple(np.moveaxis(places, -1, 0))
        variable = trial.call(trial.tensor(host))
        trial.exact(variable.gather_nd(trial.tensor(places)), host[at], dtype)
        new = trial.random(*host[at].shape, dtype=dtype, seed=4)
        variable.scatter_nd_update(trial.tensor(places), trial.tensor(new))
        expected = host.copy()
        expected[at] = new
        trial.exact(variable, expected, dtype)


def static_shapes(trial: Trial) -> None:
    """set_shape may tell more about the shape, and nothing that contradicts it."""
    host = trial.random(2, 3, seed=5)
    made = trial.call(trial.tensor(host), shape=tf.TensorShape([None, 3]))
    for shape in ([2, 3], [None, 3], None):
        made.set_shape(tf.TensorShape(shape))
    trial.exact(made, host, "float32")
    fixed = trial.call(trial.tensor(host))
    fixed.set_shape(tf.TensorShape([2, None]))
    trial.equal(fixed.shape.as_list(), [2, 3])
    for shape in ([3, 3], [2], [2, 3, 1]):
        trial.raises_inside(
            ["ValueError"], "shape", lambda function, shape=shape: fixed.set_shape(tf.TensorShape(shape))
        )


def as_numbers(trial: Trial) -> None:
    """Python's numbers are made of the newest value of a variable without axes, cut towards zero for integers."""
    for value, dtype in ((2.75, "float32"), (-2.75, "float64"), (0.0, "float64"), (7, "int64"), (-3, "int8")):
        variable = trial.call(trial.tensor(np.asarray(1, dtype)))
        variable.assign(trial.tensor(np.asarray(value, dtype)))
        trial.equal((int(variable), float(variable), bool(variable)), (int(value), float(value), bool(value)))
        trial.equal(complex(variable), complex(value))
        trial.equal(type(int(variable)), int)


def by_session(trial: Trial) -> None:
    """In a graph, eval gives the value of its session, the default one or the given one, not the first value. A
    first value of unknown shape is accepted if it is not validated, and then not known."""

    def body(variable: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            made = variable([1.0, 2.0], name="made")
            change = made.assign([5.0, 7.0])
            unknown = v1.placeholder_with_default(tf.constant([[1.5, 2.5]]), None)
            free = variable(lambda: unknown, validate_shape=False, name="free")
            return graph, made, change, free

    trial.repeatable = False
    graph, made, change, free = trial.call_inside(body)
    trial.equal(free.shape.rank, None)
    with v1.Session(graph=graph) as one, v1.Session(graph=graph) as two:
        for session in (one, two):
            session.run([made.initializer, free.initializer])
        one.run(change)
        with one.as_default():
            close(trial, made.eval(), [5.0, 7.0], "float32")
            close(trial, made.eval(two), [1.0, 2.0], "float32")
        close(trial, made.eval(session=one), [5.0, 7.0], "float32")
        close(trial, two.run(made.initial_value), [1.0, 2.0], "float32")
        close(trial, two.run(free), [[1.5, 2.5]], "float32")


def cached(trial: Trial) -> None:
    """In a graph a variable with a device for its cache is read there, one without where it is. The cluster of the
    device need not be there: nothing runs."""
    place = "/job:reader/task:3"

    def body(variable: Callable[..., Any]) -> Any:
        with beside(tf.Graph()):
            return variable(1.5, caching_device=place).value().device, variable(1.5).value().device

    cached_at, plain = trial.call_inside(body)
    trial.equal((cached_at, "reader" in plain), (place, False))


def described_by_message(trial: Trial) -> None:
    """A variable can be made again from the message that describes it, in a graph that was imported into a scope: it is
    the imported one, with its value."""
    host = trial.random(3, seed=6)
    with building(trial) as graph:
        with v1.variable_scope("part"):
            made = v1.get_variable("own", initializer=tf.constant(host), use_resource=True, trainable=False)
        message = made.to_proto()

    def body(variable: Callable[..., Any]) -> Any:
        with building(trial) as other:
            tf.import_graph_def(graph.as_graph_def(), name="outer")
            return other, variable(variable_def=message, import_scope="outer")

    trial.repeatable = False
    other, again = trial.call_inside(body)
    trial.equal((again.name, again.trainable, again.dtype), ("outer/part/own:0", False, tf.float32))
    with v1.Session(graph=other) as session:
        session.run(again.initializer)
        close(trial, session.run(again.value()), host, "float32")


def counts_up(trial: Trial, dtype: str) -> None:
    """count_up_to gives the number before the step, up to the limit alone, and then stops with an error. It is an
    operation of the host."""
    trial.repeatable = False
    trial.exact(trial.call(trial.tensor(np.asarray(1, dtype))), 1, dtype)
    with trial.on_host():
        made = trial.make(trial.tensor(np.asarray(1, dtype)))
        for number in (1, 2):
            trial.exact(made.count_up_to(3), number, dtype)
        trial.raises_inside(["OutOfRangeError"], "limit", lambda function: made.count_up_to(3))
        trial.exact(made, 3, dtype)
        made.assign_sub(5)
        trial.exact(made.count_up_to(limit=3), -2, dtype)
        trial.exact(made, -1, dtype)


def wide_rows(trial: Trial, name: str) -> None:
    """A row far beyond the last one, or far before the first, is an error or has no effect; no row at all changes,
    in particular none that remains if the number is cut to 32 bits."""
    host = trial.random(4, 2, seed=1, low=1, high=2)
    values = trial.tensor(np.full([1, 2], 3.0, "float32"))
    trial.repeatable = False
    for row in (2**32 + 1, 2**32, 2**33 + 3, -(2**32) + 1, -(2**32) + 3):
        variable = trial.call(trial.tensor(host))
        rows = trial.tensor(np.asarray([row], "int64"))
        try:
            if name == "scatter_nd_update":
                variable.scatter_nd_update(rows[:, None], values)
            else:
                getattr(variable, name)(tf.IndexedSlices(values, rows))
        except tf.errors.InvalidArgumentError as error:
            trial.check("indices" in str(error), f"another error: {error}")
        trial.exact(variable, host, "float32")
