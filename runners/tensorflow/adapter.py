"""Adapter of TensorFlow, from 2.11 on. Implements runners.core.adapter.Adapter."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, ContextManager, Iterator, Mapping, Sequence

from runners.tensorflow import NO_GPU, cuda_libraries

if os.environ.get("CUDA_VISIBLE_DEVICES") != NO_GPU["CUDA_VISIBLE_DEVICES"]:
    # Before the import of TensorFlow, which looks for them.
    cuda_libraries.preload()

import numpy as np
import tensorflow as tf

from runners.core.adapter import OpTrace
from runners.tensorflow import devices, keras_objects, op_trace, placing, replaying, tracing, waiting


def version() -> str:
    return str(tf.__version__).split("+")[0]


def prepare(device: str) -> None:
    """Does nothing: TensorFlow is one package."""


def open_device(device: str) -> str:
    return devices.open_device(device)


def device_facts(device: str) -> Mapping[str, Any]:
    return devices.facts(device)


def device_state(device: str) -> Mapping[str, Any]:
    return devices.state(device)


def scope(device: str) -> ContextManager[object]:
    return placing.placed(device)


@contextlib.contextmanager
def full_precision() -> Iterator[None]:
    """Without TensorFloat-32. On a TPU, the same switch makes products float32, from several in bfloat16."""
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    try:
        yield
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(before)


def float64_mode() -> ContextManager[object]:
    return contextlib.nullcontext()


def seed(seed: int) -> None:
    tf.random.set_seed(seed)


def tensor(array: Any, dtype: str, device: str, layout: str) -> tf.Tensor:
    """``layout`` is ignored: TensorFlow's tensors have no strides."""
    with tf.device(device):
        return tf.constant(np.asarray(array, tf.as_dtype(dtype).as_numpy_dtype))


def host_device() -> str:
    return devices.NAMES["cpu"]


def copied_to(leaf: Any, device: str, dtype_of: Callable[[str], str]) -> Any:
    """Of sparse and ragged tensors, what they consist of is copied. NumPy's arrays are left to the function. Objects of
    Keras are made there."""
    if isinstance(leaf, keras_objects.Unmade):
        return leaf.made(device, dtype_of)
    if isinstance(leaf, (tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices)):
        return tf.nest.map_structure(lambda part: copied_to(part, device, dtype_of), leaf, expand_composites=True)
    if not isinstance(leaf, tf.Tensor):
        return leaf
    copied = tensor(leaf.numpy(), dtype_of(leaf.dtype.name), device, "")
    return replaying.marked(copied) if is_differentiable(leaf) else copied


def in_memory_order(tensor: tf.Tensor, order: Sequence[int]) -> tf.Tensor:
    return tensor


def differentiable(tensor: tf.Tensor) -> tf.Tensor:
    return replaying.marked(tensor)


def is_differentiable(leaf: Any) -> bool:
    return replaying.is_marked(leaf)


def with_gradients(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return replaying.with_gradients(function, args, kwargs)


def as_function(found: Any) -> Callable[..., Any]:
    return replaying.as_function(found)


def dtype(name: str) -> tf.DType:
    try:
        return tf.as_dtype(name)
    except TypeError as error:
        raise KeyError(name) from error


def dtype_name(leaf: Any) -> str | None:
    return str(leaf.dtype.name) if isinstance(leaf, (tf.Tensor, tf.Variable)) else None


def to_numpy(leaf: Any) -> Any:
    # Of one text, TensorFlow gives bytes.
    array = np.array(leaf.numpy(), object) if leaf.dtype == tf.string else leaf.numpy()
    return array.astype("float32") if leaf.dtype == tf.bfloat16 else array


def wait(output: Any) -> None:
    """On the CPU and on XLA_CPU, an eager operation or function has ended when its call returns."""
    waiting.wait()


def wait_as_published(output: Any) -> None:
    if tf.executing_eagerly() and hasattr(output, "numpy"):
        output.numpy()


def calibration_kernel(units: int, device: str) -> Callable[[], Any]:
    with tf.device(device):
        rows = tf.fill([64 * units, 512], 0.5)
        # Each row of the product equals the row.
        square = tf.fill([512, 512], 1.0 / 512)
        # One function, because on an XLA device starting eight operations takes as long as a small product.
        chain = tf.function(_chain, autograph=False).get_concrete_function(rows, square)

    def call() -> Any:
        with tf.device(device):
            return chain(rows, square)

    return call


def _chain(rows: tf.Tensor, square: tf.Tensor) -> Any:
    for _ in range(8):
        rows = tf.matmul(rows, square)
    return {"sum": (tf.reduce_sum(rows),)}


def location(leaf: Any) -> str | None:
    """The device that holds the values. ``.device`` is only the device of the operation that returned them.

    Text, and on a GPU most tensors of int32, are in the host's memory, whatever the scope is.
    """
    if isinstance(leaf, tf.RaggedTensor):
        return location(leaf.flat_values)
    if isinstance(leaf, (tf.SparseTensor, tf.IndexedSlices)):
        return location(leaf.values)
    if not isinstance(leaf, (tf.Tensor, tf.Variable)) or not hasattr(leaf, "numpy"):
        return None
    return op_trace.short(leaf.device if isinstance(leaf, tf.Variable) else leaf.backing_device)


def on_device(location: str, device: str) -> bool:
    return location == op_trace.short(device)


def trace_ops(device: str, counts: bool = True) -> ContextManager[OpTrace]:
    return op_trace.trace_ops(device)


def counters() -> Mapping[str, int]:
    return tracing.counters()
