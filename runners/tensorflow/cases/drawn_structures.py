"""What a function does at each place of a structure: draws and gradients of their own."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def _mapped(function: Callable[..., Any], up_to: bool, call: Callable[..., Any], *structures: Any) -> Any:
    return function(structures[0], call, *structures) if up_to else function(call, *structures)


def drawn(trial: Trial, up_to: bool) -> None:
    """A tensor that is in a structure at several places has draws of its own at each of them, and other ones when it is
    mapped again."""
    base = 100.0 * np.arange(50)
    same = trial.tensor(base)
    structure = {"a": [same, same], "b": (same,)}
    calls: list[Any] = []

    def noisy(x: Any) -> Any:
        calls.append(x)
        return x + tf.random.normal([50], dtype=tf.float64)

    def body(function: Callable[..., Any]) -> Any:
        tf.random.set_seed(trial.seed(3))
        return [_mapped(function, up_to, noisy, structure) for _ in range(2)]

    trial.repeatable = False
    found = [each for output in trial.call_inside(body) for each in tf.nest.flatten(output)]
    trial.equal(len(calls), 6)
    trial.check(all(x is same for x in calls), "the function did not get the tensor itself")
    draws = np.stack([np.asarray(each) for each in trial.numpy(found)])
    trial.equal(draws.shape, (6, 50))
    trial.check((abs(draws - base) < 8).all(), "an output is not the tensor and its draws")
    trial.check(np.unique(draws).size == draws.size, "two places have the same draws")


def differentiated(trial: Trial, up_to: bool, count: int) -> None:
    """Each tensor of each of three structures has its own gradient, also one that is at two places."""
    hosts = [[trial.random(3, dtype="float64", seed=10 * n + k) for n in range(count)] for k in range(3)]
    rows = [[trial.tensor(host) for host in row] for row in hosts]
    rows[2][-1], hosts[2][-1] = rows[2][0], hosts[2][0]

    def body(function: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(rows)
            output = _mapped(function, up_to, lambda x, y, z: x * y + 5.0 * z, *rows)
            total = tf.add_n([tf.reduce_sum((n + 1.0) * each) for n, each in enumerate(output)])
        return output, tape.gradient(total, [*rows[0], *rows[1], *rows[2][:-1]])

    output, slopes = trial.call_inside(body)
    x, y, z = (np.stack(row) for row in hosts)
    weights = np.arange(1.0, count + 1)[:, None]
    trial.close(tf.stack(output), x * y + 5 * z, dtype="float64")
    third = np.broadcast_to(5 * weights, z.shape).copy()
    third[0] += 5 * count
    for found, expected in zip(slopes, [*(weights * y), *(weights * x), *third[:-1]]):
        trial.close(found, expected, dtype="float64")
