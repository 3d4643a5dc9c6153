"""tf.compat.v1.test.compute_gradient_error: where it starts without a start of the caller, and what it runs before."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1
_DELTA = 0.125


@tf.custom_gradient
def _off_by_itself(x: Any) -> Any:
    """x, with a gradient that is wrong by x: the error is the largest absolute value of the start."""
    return tf.identity(x), lambda upstream: upstream * (1.0 + x)


def drawn(trial: Trial, shapes: Sequence[Sequence[int]], dtype: str) -> None:
    """A start that is not given is drawn by NumPy's generator, uniform from 0 to 1, for one input after the other;
    NumPy's seed repeats it. A start that is given draws nothing, and is not changed."""
    with building(trial) as graph:
        # One input varies at a time, so the others need values of their own.
        inputs = [tf.identity(tf.zeros(shape, trial.dtype(dtype))) for shape in shapes]
        y = tf.add_n([tf.reduce_sum(_off_by_itself(x)) for x in inputs])
    hosts = [trial.random(*shape, dtype=dtype, seed=number) for number, shape in enumerate(shapes)]
    kept = [host.copy() for host in hosts]

    def body(compute_gradient_error: Callable[..., Any]) -> Any:
        found = []
        with building(trial, graph), v1.Session(graph=graph):
            for seed, start in ((4, None), (5, None), (4, None), (4, hosts)):
                np.random.seed(seed)
                one = compute_gradient_error(
                    inputs if len(inputs) > 1 else inputs[0],
                    shapes if len(inputs) > 1 else shapes[0],
                    y,
                    [],
                    x_init_value=start if start is None or len(inputs) > 1 else start[0],
                    delta=_DELTA,
                )
                found.append((one, np.random.random_sample()))
        return found

    trial.repeatable = False
    state = np.random.get_state()
    try:
        found = trial.call_inside(body)
    finally:
        np.random.set_state(state)
    tolerance = {"float32": 1e-4, "float64": 1e-12}[dtype]
    for (one, after), seed in zip(found, (4, 5, 4, None)):
        numpy_draws = np.random.RandomState(4 if seed is None else seed)
        starts = kept if seed is None else [numpy_draws.random_sample(shape) for shape in shapes]
        trial.close(np.float64(one), max(abs(start).max() for start in starts), tolerance, tolerance)
        trial.equal(after, numpy_draws.random_sample())
    trial.equal(hosts, kept)


def targets(trial: Trial, kind: str) -> None:
    """All operations of init_targets run, in their order and once, before y is computed; without them variables keep
    the values that they had."""
    host = trial.random(3, dtype="float64", seed=1)
    with building(trial) as graph:
        x = v1.placeholder(tf.float64, [3])
        weight = v1.get_variable("weight", initializer=tf.constant(1.0, tf.float64), use_resource=True)
        y = weight * x**3
        start = v1.global_variables_initializer()
        double, add = weight.assign(2.0 * weight).op, weight.assign_add(1.0).op
    together = {"list": list, "tuple": tuple}[kind]

    def body(compute_gradient_error: Callable[..., Any]) -> Any:
        found = []
        with building(trial, graph), v1.Session(graph=graph) as session:
            session.run(start)
            for given in (None, [double, add], [add, double], [start, add, add], None):
                error = compute_gradient_error(
                    x, [3], y, [3], host, _DELTA, given if given is None else together(given)
                )
                found.append((error, session.run(weight)))
        return found

    # The error of a cubic is the square of the step.
    for (error, value), expected in zip(trial.call_inside(body), (1.0, 3.0, 8.0, 3.0, 3.0)):
        trial.equal(float(value), expected)
        trial.close(np.float64(error), expected * _DELTA**2, 0.0, 1e-10)
