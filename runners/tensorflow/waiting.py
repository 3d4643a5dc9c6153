"""Waits for the work of a device that goes on working when a call has returned: a GPU, a TPU.

Such a device works off what it is given in order. A tiny operation is started behind all the rest, and its result read:
that waits for everything before it, whatever an output is made of, and moves no large tensor to the host.
``tf.test.experimental.sync_devices`` is younger than 2.11, and not for TPUs.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from runners.tensorflow import op_trace

_device = ""
_one: Any = None


def wait_behind(device: str) -> None:
    """From now on ``wait`` waits for this device. Compiles what it needs. Raises what the device raises."""
    global _device, _one
    with context.eager_mode(), tf.device(device):
        # float32: integers of 32 bits are kept in the host's memory.
        _one = tf.constant(1.0, tf.float32)
    _device = device
    _run_last()


def wait() -> None:
    if context.is_async():
        context.async_wait()
    # While operations are watched nothing is timed, and the operation here is not one of theirs.
    if _one is not None and not op_trace.trace_ops():
        _run_last()


def _run_last() -> None:
    # Inside of a graph, where a call may have ended, the operation would only be added to that.
    with context.eager_mode(), tf.device(_device):
        tf.raw_ops.AddV2(x=_one, y=_one).numpy()
