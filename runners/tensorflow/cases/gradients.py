"""tf.compat.v1.test.compute_gradient_error: it must find by how much a gradient is wrong, for known errors.

A cubic's central difference is off by exactly the square of the step: ((x + d)^3 - (x - d)^3) / 2d = 3 x^2 + d^2. A
linear function's is exact, so a gradient that is wrong on purpose is off by exactly that.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1


def _error(trial: Trial, graph: tf.Graph, x: Any, x_shape: Any, y: Any, y_shape: Any, **options: Any) -> Any:
    """Time one call in its own session; each call adds to the graph, and can be repeated."""

    def body(compute_gradient_error: Callable[..., Any]) -> Any:
        with building(trial, graph), v1.Session(graph=graph):
            return compute_gradient_error(x, x_shape, y, y_shape, **options)

    return trial.call_inside(body)


def _check(trial: Trial, found: Any, expected: float, tolerance: float) -> None:
    trial.check(
        isinstance(found, (float, np.floating)) and not isinstance(found, np.ndarray),
        f"expected a floating number, got {type(found).__name__} {found!r}",
    )
    trial.close(np.float64(found), np.float64(expected), 0.0, tolerance)


# The rounding error of a difference quotient with a step of about a tenth.
_ROUNDING = {"float16": 5e-2, "float32": 5e-5, "float64": 1e-11, "complex64": 5e-5, "complex128": 1e-11}


def cubic(trial: Trial, shape: Sequence[int], dtype: str, delta: float = 0.125) -> None:
    """For a cubic with a correct gradient the error is the square of the step."""
    host = trial.random(*shape, dtype=dtype, seed=1, low=-1, high=1)
    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype), shape)
        y = x * x * x
    found = _error(trial, graph, x, shape, y, shape, x_init_value=host, delta=delta)
    _check(trial, found, delta**2, _ROUNDING[dtype])


def own_start(trial: Trial, shape: Sequence[int]) -> None:
    """Without a start it takes a random one of the right shape: a cubic's error is the same everywhere."""
    with building(trial) as graph:
        x = v1.placeholder(tf.float64, shape)
        y = tf.reduce_sum(x * x * x, axis=0)
    # The default step is 0.001; sums of cubes of a thousandth keep about ten digits.
    _check(trial, _error(trial, graph, x, tuple(shape), y, tuple(shape[1:])), 1e-6, 1e-9)
    _check(trial, _error(trial, graph, x, np.asarray(shape), y, np.asarray(shape[1:]), delta=0.5), 0.25, 1e-9)


def wrong_gradient(trial: Trial, off: float, dtype: str) -> None:
    """A gradient with two wrong elements is off by the larger of their errors."""
    host = trial.random(2, 3, dtype=dtype, seed=2)
    mistake = np.zeros([2, 3], dtype)
    mistake[1, 0], mistake[0, 2] = off, -off / 2

    @tf.custom_gradient
    def double(x: Any) -> Any:
        return 2.0 * x, lambda upstream: upstream * (2.0 + mistake)

    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype), [2, 3])
        y = double(x)
    found = _error(trial, graph, x, [2, 3], y, [2, 3], x_init_value=host, delta=0.125)
    _check(trial, found, abs(off), _ROUNDING[dtype] * max(1.0, abs(off)))


def right_gradient(trial: Trial, dtype: str) -> None:
    """The gradients of a matrix product and a sine are correct: the error is almost, but not exactly, zero."""
    host, other = trial.random(3, 4, dtype=dtype, seed=3), trial.random(4, 2, dtype=dtype, seed=4)
    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype), [3, 4])
        y = tf.matmul(tf.sin(x), tf.constant(other))
    coarse = _error(trial, graph, x, [3, 4], y, [3, 2], x_init_value=host, delta=0.125)
    wide = host.astype("float64")
    # sin(x + d) - sin(x - d) = 2 cos(x) sin(d): the quotient is cos(x) sin(d) / d.
    error = abs(np.cos(wide)[:, :, None] * other.astype("float64") * (np.sin(0.125) / 0.125 - 1)).max()
    _check(trial, coarse, error, 10 * _ROUNDING[dtype])
    fine = _error(trial, graph, x, [3, 4], y, [3, 2], x_init_value=host, delta=1 / 1024)
    bound = 1e-2 if dtype == "float32" else 1e-6
    trial.check(0 < fine < bound, f"expected an error above 0 and below {bound}, got {fine}")


def several_inputs(trial: Trial) -> None:
    """With a list of inputs, each with its shape and start, the result is the largest error."""
    hosts = [trial.random(2, 2, dtype="float64", seed=5), trial.random(3, dtype="float64", seed=6)]

    @tf.custom_gradient
    def tripled(x: Any) -> Any:
        return 3.0 * x, lambda upstream: 3.75 * upstream

    with building(trial) as graph:
        # One input varies at a time, so the others need their own values.
        first, second = tf.constant(hosts[0]), tf.constant(hosts[1])
        y = tf.reduce_sum(first**3) + tf.reduce_sum(tripled(second))
    both = _error(trial, graph, [first, second], [[2, 2], [3]], y, [], x_init_value=hosts, delta=0.25)
    _check(trial, both, 0.75, 1e-10)
    one = _error(trial, graph, [first], [[2, 2]], y, [], x_init_value=hosts[:1], delta=0.25)
    _check(trial, one, 0.0625, 1e-10)


def complex_input(trial: Trial, dtype: str) -> None:
    """Complex numbers count as pairs of real ones: for a linear function it is exact, for a square it has the
    conjugate."""
    host = trial.random(3, dtype=dtype, seed=7)

    @tf.custom_gradient
    def turned(x: Any) -> Any:
        # Correct would be the conjugate, -2j: the imaginary parts are off by 4.
        return x * 2j, lambda upstream: upstream * 2j

    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype), [3])
        right, wrong = x * x * 2j, turned(x)
    found = _error(trial, graph, x, [3], right, [3], x_init_value=host, delta=0.125)
    trial.check(found <= _ROUNDING[dtype], f"expected an error of at most {_ROUNDING[dtype]}, got {found}")
    _check(trial, _error(trial, graph, x, [3], wrong, [3], x_init_value=host, delta=0.125), 4.0, _ROUNDING[dtype])


def variables(trial: Trial) -> None:
    """The given operations run first, so that the variables have values; feeds fix other inputs."""
    host = trial.random(4, dtype="float64", seed=8)
    with building(trial) as graph:
        weight = v1.get_variable("weight", initializer=tf.constant(3.0, tf.float64), use_resource=True)
        x, factor = v1.placeholder(tf.float64, [4]), v1.placeholder(tf.float64, [])
        y = weight * factor * x**3
        start = v1.global_variables_initializer()
    for given in (2.0, 5.0):
        found = _error(
            trial,
            graph,
            x,
            [4],
            y,
            [4],
            x_init_value=host,
            delta=0.125,
            init_targets=[start],
            extra_feed_dict={factor: given},
        )
        _check(trial, found, 3 * given * 0.125**2, 1e-10)


def empty(trial: Trial) -> None:
    """An output without elements has no error; with an empty input the error is that of the other input."""
    host = trial.random(3, dtype="float64", seed=9)
    with building(trial) as graph:
        x = v1.placeholder(tf.float64, [3])
        cubed = x**3
        y = cubed[:0], cubed[:1]
    # Nothing was computed: a plain 0.
    trial.equal(_error(trial, graph, x, [3], y[0], [0], x_init_value=host), 0)
    _check(trial, _error(trial, graph, x, [3], y[1], [1], x_init_value=host, delta=0.5), 0.25, 1e-11)


def sparse(trial: Trial) -> None:
    """A gradient of gathered rows is sparse: duplicate rows are added, and so is the cubic's error."""
    host = trial.random(4, 2, dtype="float64", seed=10)
    with building(trial) as graph:
        x = v1.placeholder(tf.float64, [4, 2])
        y = tf.reduce_sum(tf.gather(x, [1, 3, 1]) ** 3, axis=0)
    _check(trial, _error(trial, graph, x, [4, 2], y, [2], x_init_value=host, delta=0.25), 2 * 0.0625, 1e-10)


def refuses(trial: Trial, what: str) -> None:
    """Integers have no gradient, a start of another shape does not fit, and an output that does not depend on the input
    has no gradient."""
    with building(trial) as graph:
        x = v1.placeholder(tf.int32 if what == "integers" else tf.float32, [2])
        y = tf.stop_gradient(x) * 2 if what == "independent" else x * 2
    options = {"x_init_value": np.ones(3, "float32")} if what == "shape" else {}

    def body(compute_gradient_error: Callable[..., Any]) -> Any:
        with building(trial, graph), v1.Session(graph=graph):
            return compute_gradient_error(x, [2], y, [2], **options)

    word = {"integers": "int32", "shape": "shape", "independent": "dx"}[what]
    trial.raises_inside(["AssertionError", "TypeError", "ValueError"], word, body)


def several_wrong(trial: Trial, place: int, dtype: str) -> None:
    """The largest error counts, whichever of the inputs it is in."""
    shapes = [[2, 2], [3], [1, 2]]
    hosts = [trial.random(*shape, dtype=dtype, seed=8 + number) for number, shape in enumerate(shapes)]

    def scaled(x: Any, off: float) -> Any:
        return tf.custom_gradient(lambda x: (2.0 * x, lambda upstream: (2.0 + off) * upstream))(x)

    with building(trial) as graph:
        inputs = [tf.constant(host) for host in hosts]
        terms = [scaled(x, -2.0 if number == place else 0.25) for number, x in enumerate(inputs)]
        y = tf.add_n([tf.reduce_sum(term) for term in terms])
    found = _error(trial, graph, inputs, shapes, y, [], x_init_value=hosts, delta=0.125)
    _check(trial, found, 2.0, 4 * _ROUNDING[dtype])
