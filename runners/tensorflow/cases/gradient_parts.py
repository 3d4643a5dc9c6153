"""tf.compat.v1.test.compute_gradient_error: gradients that are wrong in one part of a complex number, and inputs whose
values are fixed by feeds."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1


def _check(trial: Trial, found: Any, expected: float) -> None:
    trial.check(type(found) in (float, np.float64), f"expected a number of float64, got {found!r}")
    trial.close(np.float64(found), np.float64(expected), 0.0, 1e-10)


def parts_of_complex(trial: Trial, part: str, of: str) -> None:
    """A gradient that is wrong for the real or the imaginary part alone is found, of a complex input and of a complex
    output: y = 2 re(x) + 3 im(x), and y = 2 x + 3 x i."""
    off = (0.5, 0.0) if part == "real" else (0.0, 0.5)
    host = trial.random(3, dtype="complex128" if of == "input" else "float64", seed=1)

    @tf.custom_gradient
    def of_input(x: Any) -> Any:
        value = 2.0 * tf.math.real(x) + 3.0 * tf.math.imag(x)
        return value, lambda upstream: tf.complex((2.0 + off[0]) * upstream, (3.0 + off[1]) * upstream)

    @tf.custom_gradient
    def of_output(x: Any) -> Any:
        def slope(upstream: Any) -> Any:
            return (2.0 + off[0]) * tf.math.real(upstream) + (3.0 + off[1]) * tf.math.imag(upstream)

        return tf.complex(2.0 * x, 3.0 * x), slope

    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(host.dtype.name), [3])
        y = of_input(x) if of == "input" else of_output(x)

    def body(compute_gradient_error: Callable[..., Any]) -> Any:
        with building(trial, graph), v1.Session(graph=graph):
            return compute_gradient_error(x, [3], y, [3], x_init_value=host, delta=0.125)

    _check(trial, trial.call_inside(body), 0.5)


def fed(trial: Trial) -> None:
    """Feeds replace the default of a placeholder, a constant and a result in the graph, for all of its runs; the dict
    that holds them is not changed."""
    host = trial.random(2, dtype="float64", seed=2)
    with building(trial) as graph:
        x = v1.placeholder(tf.float64, [2])
        default = v1.placeholder_with_default(tf.constant(1.0, tf.float64), [])
        constant = tf.constant(1.0, tf.float64)
        result = default + 1.0
        cubic = x**3

    def body(compute_gradient_error: Callable[..., Any], y: Any, feeds: Any) -> Any:
        with building(trial, graph), v1.Session(graph=graph):
            return compute_gradient_error(x, [2], y, [2], x_init_value=host, delta=0.125, extra_feed_dict=feeds)

    for factor, value in ((default, 4.0), (constant, 3.0), (result, 8.0)):
        with building(trial, graph):
            y = factor * cubic
        feeds = {factor: value}
        # The error of a cubic is the square of the step.
        _check(trial, trial.call_inside(body, y, feeds), value * 0.125**2)
        trial.equal(len(feeds), 1)
        trial.equal(feeds[factor], value)
