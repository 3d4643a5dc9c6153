"""Adapter of TensorFlow, from 2.11 on. Implements runners.core.adapter.Adapter."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Mapping

import tensorflow as tf

from runners.core.errors import DeviceUnavailable


def version() -> str:
    return str(tf.__version__).split("+")[0]


def open_device(device: str) -> str:
    if device != "cpu":
        raise DeviceUnavailable(f"the TensorFlow adapter cannot open a {device}", "Use tensorflow-cpu.")
    # An operation without a kernel for the device must fail, not move elsewhere.
    tf.config.set_soft_device_placement(False)
    return "/device:CPU:0"


def device_facts(device: str) -> Mapping[str, Any]:
    return {
        "kind": "cpu",
        "inter_op_threads": tf.config.threading.get_inter_op_parallelism_threads(),
        "intra_op_threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "soft_placement": tf.config.get_soft_device_placement(),
    }


@contextlib.contextmanager
def scope(device: str) -> Iterator[None]:
    with tf.device(device):
        yield


def seed(seed: int) -> None:
    tf.random.set_seed(seed)


def tensor(array: Any, dtype: str, device: str, layout: str) -> tf.Tensor:
    """``layout`` is ignored: TensorFlow's tensors have no strides."""
    with tf.device(device):
        return tf.constant(array.astype(tf.as_dtype(dtype).as_numpy_dtype))


def dtype(name: str) -> tf.DType:
    try:
        return tf.as_dtype(name)
    except TypeError as error:
        raise KeyError(name) from error


def dtype_name(leaf: Any) -> str | None:
    return str(leaf.dtype.name) if isinstance(leaf, (tf.Tensor, tf.Variable)) else None


def to_numpy(leaf: Any) -> Any:
    array = leaf.numpy()
    return array.astype("float32") if leaf.dtype == tf.bfloat16 else array


def wait(output: Any) -> None:
    """Nothing to wait for on the CPU: an eager operation or function has ended when its call returns."""


def location(leaf: Any) -> str | None:
    """The device that holds the values: ``.device`` alone names the device of the operation that handed them out."""
    if not isinstance(leaf, (tf.Tensor, tf.Variable)) or not hasattr(leaf, "numpy"):
        return None
    device = leaf.device if isinstance(leaf, tf.Variable) else leaf.backing_device
    return str(device).split("/")[-1].replace("device:", "")


def on_device(location: str, device: str) -> bool:
    return device.endswith(location)


def counters() -> dict[str, int]:
    return {}
