"""The same sum on the device, on the host, and on both: a runner must record where it was computed.

These are the only cases that name a device, because they are about the host.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

v1 = tf.compat.v1

HOST = "/device:CPU:0"

Add = Callable[..., Any]


def _hosts(trial: Trial) -> tuple[Any, Any]:
    return trial.random(32, 8, seed=1), trial.random(32, 8, seed=2)


def on_device(trial: Trial) -> None:
    """An eager operation on tensors of the device."""
    left, right = _hosts(trial)
    output = trial.call(trial.tensor(left), trial.tensor(right))
    trial.close(output, left + right, dtype="float32")


def in_function(trial: Trial) -> None:
    """The same in a tf.function that is called on the device."""
    left, right = _hosts(trial)
    tensors = trial.tensor(left), trial.tensor(right)
    output = trial.call_inside(lambda add: tf.function(lambda x, y: add(x, y) * 2.0)(*tensors))
    trial.close(output, 2 * (left + right), dtype="float32")


def in_session(trial: Trial) -> None:
    """The same in a session of a graph that names no device."""
    left, right = _hosts(trial)
    output = trial.call_inside(lambda add: _run(lambda x, y: add(x, y), left, right))
    trial.close(output, left + right)


def on_host(trial: Trial) -> None:
    """An eager operation on the host; its result is moved to the device and looks as if computed there."""
    left, right = _hosts(trial)
    tensors = trial.tensor(left), trial.tensor(right)

    def body(add: Add) -> Any:
        with tf.device(HOST):
            output = add(*tensors)
        return tf.identity(output)

    trial.close(trial.call_inside(body), left + right, dtype="float32")


def in_host_function(trial: Trial) -> None:
    """A tf.function that is called on the host."""
    left, right = _hosts(trial)
    tensors = trial.tensor(left), trial.tensor(right)

    def body(add: Add) -> Any:
        with tf.device(HOST):
            return tf.function(lambda x, y: add(x, y))(*tensors)

    trial.close(trial.call_inside(body), left + right, dtype="float32")


def in_host_session(trial: Trial) -> None:
    """A graph with an operation on the host."""
    left, right = _hosts(trial)

    def body(add: Add) -> Any:
        def added(x: Any, y: Any) -> Any:
            with tf.device(HOST):
                return add(x, y)

        return _run(added, left, right)

    trial.close(trial.call_inside(body), left + right)


def half_on_host(trial: Trial) -> None:
    """One sum on the device, and one on the host."""
    left, right = _hosts(trial)
    tensors = trial.tensor(left), trial.tensor(right)

    def body(add: Add) -> Any:
        output = add(*tensors)
        with tf.device(HOST):
            return add(output, output)

    trial.close(trial.call_inside(body), 2 * (left + right), dtype="float32")


def by_numpy(trial: Trial) -> None:
    """One sum on the device; the result is read, added to itself by NumPy, and moved back."""
    left, right = _hosts(trial)
    tensors = trial.tensor(left), trial.tensor(right)

    def body(add: Add) -> Any:
        array = add(*tensors).numpy()
        return tf.constant(np.add(array, array))

    trial.close(trial.call_inside(body), 2 * (left + right), dtype="float32")


def _run(add: Add, left: Any, right: Any) -> Any:
    with tf.Graph().as_default() as graph:
        x, y = v1.placeholder(tf.float32, [32, 8]), v1.placeholder(tf.float32, [32, 8])
        output = add(x, y)
        with v1.Session(graph=graph) as session:
            return session.run(output, {x: left, y: right})
