"""Variables as arguments: a function reads what they hold at the time of the call."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.options import FUNCTIONS
from runners.tensorflow.cases.together import check_slopes, close_output, expected_of, random_hosts

_ROUNDS = (80, 180, 280)


def variables_again(
    trial: Trial,
    subject: str,
    shapes: Sequence[Sequence[int]],
    dtype: str = "float32",
    gradient: bool = True,
    **options: Any,
) -> None:
    """Called again with the same variables after an assignment, the function has the output and the gradients of their
    new values, also in a tf.function that was traced before; earlier outputs stay. The variables are not changed."""
    about = FUNCTIONS[subject]
    rounds = [random_hosts(trial, about, shapes, dtype, seed) for seed in _ROUNDS]
    given = [[trial.tensor(host, dtype) for host in hosts] for hosts in rounds]
    expected = [expected_of(about, hosts, options) for hosts in rounds]
    weights = trial.random(*expected[0].shape, dtype="float64", seed=90)
    variables = [tf.Variable(tensor) for tensor in given[0]]

    def body(function: Callable[..., Any]) -> Any:
        def both() -> Any:
            with tf.GradientTape() as tape:
                output = about.call(function, *variables, **options)
                total = tf.reduce_sum(tf.cast(weights, output.dtype) * output) if gradient else None
            return output, tape.gradient(total, variables, unconnected_gradients="zero") if gradient else []

        traced = tf.function(both, autograph=False)
        found = []
        for tensors in given:
            for variable, tensor in zip(variables, tensors):
                variable.assign(tensor)
            found.append([both(), traced()])
        return found

    outputs = trial.call_inside(body)
    for variable, tensor in zip(variables, given[-1]):
        trial.equal(variable.read_value(), tensor)
    for hosts, wanted, calls in zip(rounds, expected, outputs):
        for output, slopes in calls:
            close_output(trial, about, output, wanted, dtype, options)
            if gradient:
                check_slopes(trial, about, hosts, slopes, weights, options, dtype)
