"""Objects of Keras that are made where they are called: on that device, in that precision, with fixed weights."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

_SEED = 20230401


class Unmade:
    """A class of Keras and its settings; ``dtype`` is that of its weights, which exist after ``build``."""

    def __init__(
        self, kind: Any, settings: Mapping[str, Any], dtype: str, build: Callable[[Any], None] | None = None
    ) -> None:
        self.kind, self.settings, self.dtype, self._build = kind, settings, dtype, build

    def made(self, device: str = "", dtype_of: Callable[[str], str] = str, kind: Any = None) -> Any:
        """The object on a device, or on the present one. ``dtype_of`` gives the dtype that its weights have there.
        ``kind`` is called in the place of the class."""
        settings = {name: value.make() if isinstance(value, Inner) else value for name, value in self.settings.items()}
        if "dtype" in inspect.signature(self.kind).parameters or issubclass(self.kind, tf.keras.layers.Layer):
            settings["dtype"] = dtype_of(self.dtype)
        with tf.device(device) if device else contextlib.nullcontext():
            found = (kind or self.kind)(**settings)
            if self._build is not None:
                self._build(found)
            if isinstance(found, tf.keras.layers.Layer):
                found.set_weights(_weights(found.get_weights()))
        return found


class Inner:
    """A setting that is an object of Keras itself, and is created for each call."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def _weights(before: Sequence[Any]) -> Sequence[Any]:
    random = np.random.RandomState(_SEED)
    return [
        random.uniform(0.1, 0.9, each.shape).astype(each.dtype) if each.dtype.kind not in "biuOSU" else each
        for each in before
    ]
