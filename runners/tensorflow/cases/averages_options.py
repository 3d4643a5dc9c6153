"""tf.train.ExponentialMovingAverage of several variables with its options together."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

_STEPS = 4


def several(
    trial: Trial,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[str],
    decay: float = 0.5,
    decay_as: str = "number",
    count_as: str | None = None,
    traced: bool = False,
) -> None:
    """Several variables of several shapes and dtypes are averaged by one object, each on its own. The decay is a
    number, a tensor or a variable, and the number of updates, which limits it, a number or a variable."""
    hosts = [
        [
            trial.random(*shape, dtype=dtype, seed=10 * step + number)
            for number, (shape, dtype) in enumerate(zip(shapes, dtypes))
        ]
        for step in range(_STEPS)
    ]
    values = [[trial.tensor(host) for host in row] for row in hosts]

    def body(average: Callable[..., Any]) -> Any:
        variables = [tf.Variable(value) for value in values[0]]
        given = {"number": decay, "tensor": tf.constant(decay), "variable": tf.Variable(decay)}[decay_as]
        count: Any = {"number": 7, "variable": tf.Variable(0, dtype=tf.int64), None: None}[count_as]
        made = average(given, num_updates=count)
        made.apply(variables)

        def step(*new: Any) -> Any:
            for variable, value in zip(variables, new):
                variable.assign(value)
            if count_as == "variable":
                count.assign_add(1)
            made.apply(variables)
            return [tf.identity(made.average(variable)) for variable in variables]

        program = tf.function(step, autograph=False) if traced else step
        return [program(*row) for row in values[1:]]

    means = [host.astype("float64") for host in hosts[0]]
    for number, (row, found) in enumerate(zip(hosts[1:], trial.call_inside(body)), 1):
        updates = {"number": 7, "variable": number, None: None}[count_as]
        share = decay if updates is None else min(decay, (1 + updates) / (10 + updates))
        means = [share * mean + (1 - share) * host for mean, host in zip(means, row)]
        for output, mean, dtype in zip(found, means, dtypes):
            # The decay is a float32, for variables of every dtype.
            tolerance = {"float16": 5e-3, "float32": 5e-6, "float64": 1e-6}[dtype]
            trial.close(output, mean, tolerance, tolerance, dtype=dtype)


def special_values(trial: Trial, dtype: str) -> None:
    """Of 37 elements, one that is NaN or infinite changes no other one, in this update and the next; zeros of both
    signs and negative values are averaged like others."""
    hosts = [trial.random(37, dtype=dtype, seed=number) for number in range(3)]
    hosts[0][:3], hosts[1][:3] = [0.0, -0.0, -4.0], [-2.0, 0.0, -0.0]
    hosts[1][[5, 17, 36]] = [np.nan, np.inf, -np.inf]
    given = [trial.tensor(host) for host in hosts]

    def body(average: Callable[..., Any]) -> Any:
        variable = tf.Variable(given[0])
        made = average(0.75)
        found = []
        for value in given:
            variable.assign(value)
            made.apply([variable])
            found.append(tf.identity(made.average(variable)))
        return found

    mean = hosts[0].astype("float64")
    tolerance = {"float32": 5e-6, "float64": 1e-12}[dtype]
    for host, output in zip(hosts, trial.call_inside(body)):
        mean = 0.75 * mean + 0.25 * host
        known = np.isfinite(mean)
        trial.equal(list(np.isfinite(trial.numpy(output))), list(known))
        trial.close(tf.boolean_mask(output, known), mean[known], tolerance, tolerance, dtype=dtype)
