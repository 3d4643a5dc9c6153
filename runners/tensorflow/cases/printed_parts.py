"""tf.print of parts of tensors: slices, views backwards, transposed and gathered ones."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.printed import check_written, new_file

_PARTS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "whole": (lambda x: x, lambda x: x),
    "every second": (lambda x: x[::2], lambda x: x[::2]),
    "a column": (lambda x: x[:, 1], lambda x: x[:, 1]),
    "a block": (lambda x: x[1:3, 1:], lambda x: x[1:3, 1:]),
    "columns": (lambda x: x[:, ::2], lambda x: x[:, ::2]),
    "backwards": (lambda x: x[::-1], lambda x: x[::-1]),
    "transposed": (tf.transpose, np.transpose),
    "an element": (lambda x: x[2, 1], lambda x: x[2, 1]),
    "nothing": (lambda x: x[4:], lambda x: x[4:]),
    "three axes": (lambda x: tf.reshape(x, [2, 2, 3]), lambda x: x.reshape(2, 2, 3)),
    "of a vector": (lambda x: tf.reshape(x, [12])[::2], lambda x: x.reshape(12)[::2]),
    "of a vector's end": (lambda x: tf.reshape(x, [12])[3::4], lambda x: x.reshape(12)[3::4]),
    "gathered": (lambda x: tf.gather(x, [3, 0]), lambda x: x[[3, 0]]),
    "repeated": (lambda x: tf.broadcast_to(x[:1], [2, 3]), lambda x: x[[0, 0]]),
}


def formatted(values: Any, depth: int = 1) -> str:
    """The text of an array of whole numbers: rows are lines, and axes before them are apart by further line ends."""
    if values.ndim == 0:
        return str(int(values))
    ends = "\n" * (values.ndim - 1) + " " * depth if values.ndim > 1 else " "
    return "[" + ends.join(formatted(item, depth + 1) for item in values) + "]"


def parts(trial: Trial, dtype: str, how: str) -> None:
    """Each part of a tensor is written with its own elements, and no others, eagerly, in a tf.function or in a graph
    of constants: ``how``."""
    file = new_file()
    host = (np.arange(12).reshape(4, 3) * 7 % 12 + trial.seed(0) % 5).astype("int64")
    tensor = trial.tensor(host, dtype)
    kinds: set[Any] = set()
    trial.repeatable = False

    def body(tf_print: Callable[..., Any]) -> None:
        def report(values: Any) -> None:
            for name, (take, _) in _PARTS.items():
                found = tf_print(name, take(values), output_stream=f"file://{file}", summarize=-1)
                kinds.add(type(found) if how == "eager" else isinstance(found, tf.Operation))

        if how == "function":
            tf.function(report, autograph=False)(tensor)
        elif how == "constants":
            tf.function(lambda: report(tf.constant(host, trial.dtype(dtype))), autograph=False)()
        else:
            report(tensor)

    trial.call_inside(body)
    trial.check(kinds == {type(None) if how == "eager" else True}, f"returned {kinds}")
    lines = [f"{name} {formatted(take(host))}\n" for name, (_, take) in _PARTS.items()]
    check_written(trial, file, "".join(lines))
