"""What replays of recorded calls need of TensorFlow: marked tensors and gradients."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import tensorflow as tf

from runners.core.testing import tree

_MARK = "_portbench_wants_gradient"


def marked(tensor: tf.Tensor) -> tf.Tensor:
    setattr(tensor, _MARK, True)
    return tensor


def is_marked(leaf: Any) -> bool:
    """Whether gradients are wanted of a tensor."""
    return hasattr(leaf, _MARK)


def as_function(found: Callable[..., Any]) -> Callable[..., Any]:
    """Functions of random numbers draw others on another device, also those with a seed as an argument: each device
    has its own algorithm."""
    name = getattr(found, "__name__", "").lower()
    if isinstance(found, type) or not ("random" in f"{found.__module__}{name}" or name.startswith("stateless")):
        return found

    def drawn(*args: Any, **kwargs: Any) -> Any:
        return found(*args, **kwargs)

    drawn.draws_differ = True  # type: ignore[attr-defined]
    return drawn


def with_gradients(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """See runners.core.adapter.Adapter. Tensors never change, so the arguments are returned as they are."""
    inputs = [leaf for leaf in tree.leaves((args, kwargs)) if is_marked(leaf)]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        output = function(*args, **kwargs)
    floats = [leaf for leaf in tree.leaves(output) if isinstance(leaf, tf.Tensor) and _is_floating(leaf)]
    found = tape.gradient(floats, inputs, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return output, [tf.convert_to_tensor(gradient) for gradient in found], (args, kwargs)


def _is_floating(tensor: tf.Tensor) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_complex)
