"""Waits for the work of a device that continues after a call has returned: a GPU, a TPU.

Such a device works in order. A tiny operation is started after all others, and its result is read: that waits for
everything before it, whatever the output is, and moves no large tensor to the host.
``tf.test.experimental.sync_devices`` is newer than 2.11, and does not support TPUs.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from runners.tensorflow import op_trace

_device = ""
_one: Any = None


def wait_behind(device: str) -> None:
    """Makes ``wait`` wait for this device. Compiles what it needs. Raises what the device raises."""
    global _device, _one
    with context.eager_mode(), tf.device(device):
        # float32, because integers of 32 bits are kept in the host's memory.
        _one = tf.constant(1.0, tf.float32)
    _device = device
    _run_last()


def wait() -> None:
    """Returns when the device has finished everything that was started."""
    if context.is_async():
        context.async_wait()
    # While operations are traced, nothing is timed, and this operation must not be among them.
    if _one is not None and not op_trace.is_tracing():
        _run_last()


def _run_last() -> None:
    # A call may have ended inside a graph. There the operation would only be added to the graph.
    with context.eager_mode(), tf.device(_device):
        tf.raw_ops.AddV2(x=_one, y=_one).numpy()
