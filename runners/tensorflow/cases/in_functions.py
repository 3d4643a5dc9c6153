"""What holds outside of tf.function and graphs holds inside: assertions, functions with state, constants."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.asserts import error_of
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1
_INF, _NAN = np.inf, np.nan


def less_special(trial: Trial, dtype: str, how: str) -> None:
    """NaN, equal infinities and zeros fail at any of three places, and ordered infinities pass: in a tf.function, in
    one that has the values as constants, or when a session runs the assertion (``how``)."""
    failing = [(_NAN, 1.0), (1.0, _NAN), (_NAN, _NAN), (-0.0, 0.0), (_INF, _INF), (-_INF, -_INF), (_INF, 1e4), (2, 1)]
    held = [(-_INF, -1e4), (1e4, _INF), (-_INF, _INF), (-1e4, 1e4), (-1, 0.0)]
    hosts = []
    for number, pair in enumerate(failing + held):
        places = np.asarray([[0, 1]] * 3, dtype)
        places[number % 3] = pair
        hosts.append(places)

    def compared(assert_less: Callable[..., Any]) -> list[Any]:
        def check(x: Any, y: Any) -> Any:
            operation = assert_less(x, y)
            trial.check(isinstance(operation, tf.Operation), f"expected an operation, got {operation!r}")
            with tf.control_dependencies([operation]):
                return x + y

        if how == "function":
            spec = tf.TensorSpec([3], trial.dtype(dtype))
            program = tf.function(check, input_signature=[spec, spec], autograph=False)
            return [error_of(program, *map(trial.tensor, host.T.copy())) for host in hosts]

        def constant(host: Any) -> Any:
            return tf.function(lambda: check(*map(tf.constant, host.T)), autograph=False)()

        return [error_of(constant, host) for host in hosts]

    def run(assert_less: Callable[..., Any]) -> list[Any]:
        with building(trial) as graph:
            fed = [v1.placeholder(dtype, [3]) for _ in range(2)]
            operation = assert_less(*fed)
        with v1.Session(graph=graph) as session:
            return [error_of(session.run, operation, dict(zip(fed, host.T))) for host in hosts]

    found = trial.call_inside(run if how == "session" else compared)
    for error, pair in zip(found, failing + held):
        if pair in held:
            trial.check(error is None, f"{pair[0]} is less than {pair[1]}, but it raised {error!r}")
        else:
            trial.check(isinstance(error, tf.errors.InvalidArgumentError), f"{pair[0]} < {pair[1]}: got {error!r}")


def host_state(trial: Trial, how: str) -> None:
    """A function of the host that counts its calls is called in each run, also if its inputs are constants or it has
    none: in a tf.function or in a graph (``how``)."""
    counts: list[float] = []

    def count(*values: Any) -> Any:
        counts.append(1.0)
        return np.asarray([len(counts), sum(np.sum(value) for value in values)], "float64")

    trial.repeatable = False

    def body(numpy_function: Callable[..., Any]) -> Any:
        def both() -> Any:
            first = numpy_function(count, [tf.constant([1.5, 2.0], tf.float64), 3.0], tf.float64)
            with tf.control_dependencies([first]):
                return first, numpy_function(count, [], tf.float64)

        if how == "function":
            program = tf.function(both, autograph=False)
            return [trial.numpy(program()) for _ in range(3)]
        with tf.Graph().as_default() as graph:
            fetched = both()
        with v1.Session(graph=graph) as session:
            return [session.run(fetched) for _ in range(3)]

    for number, pair in enumerate(trial.call_inside(body)):
        trial.equal([each.dtype.name for each in pair], ["float64"] * 2)
        trial.equal([each.tolist() for each in pair], [[2 * number + 1.0, 6.5], [2 * number + 2.0, 0.0]])


def constants(trial: Trial, dtype: str, how: str) -> None:
    """Constants with one value everywhere, with one other value, and of a single element are read whole: in a
    tf.function or in a graph (``how``)."""
    one = np.float64(1 if dtype == "bool" else 3 + trial.seed(0) % 2)
    hosts = [np.full([3, 5], one), np.full([17], one), np.full([1, 1], one), np.zeros([2, 3]), np.full([2, 2], one)]
    hosts[4][1, 1] = 0
    hosts = [host.astype("float32" if dtype == "bfloat16" else dtype) for host in hosts]

    def body(constant: Callable[..., Any]) -> Any:
        def made() -> list[Any]:
            kind = trial.dtype(dtype)
            whole = [constant(host, kind) for host in hosts]
            spread = constant(hosts[0].flat[0].item(), kind, [2, 9])
            return [*whole, spread, *[tf.identity(each)[..., -1] for each in whole]]

        if how == "function":
            return tf.function(made, autograph=False)()
        with building(trial) as graph:
            fetched = made()
        with v1.Session(graph=graph) as session:
            return session.run(fetched)

    expected = [*hosts, np.full([2, 9], hosts[0].flat[0]), *[host[..., -1] for host in hosts]]
    for found, host in zip(trial.call_inside(body), expected):
        values = found.numpy() if isinstance(found, tf.Tensor) else np.asarray(found)
        trial.equal(values.dtype, np.dtype(trial.dtype(dtype).as_numpy_dtype))
        trial.equal(values.astype("complex128").tolist(), host.astype("complex128").tolist())
