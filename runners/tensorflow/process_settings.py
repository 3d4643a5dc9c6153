"""What all code of a process shares: settings, open scopes, and generators of random numbers that no seed of
TensorFlow moves."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import sys
from typing import Any, Callable, Iterator, Mapping

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1

_READ: Mapping[str, Callable[[], Any]] = {
    "eager execution": tf.executing_eagerly,
    "the scope of names": lambda: v1.get_default_graph().get_name_scope(),
    "the scope of variables": lambda: (v1.get_variable_scope().name, v1.get_variable_scope().reuse),
    "the default session": lambda: id(v1.get_default_session()),
    "the default graph": lambda: (id(v1.get_default_graph()), len(v1.get_default_graph().get_operations())),
    "TensorFlow's level of logging": v1.logging.get_verbosity,
    "functions that run eagerly": tf.config.functions_run_eagerly,
    "soft placement": tf.config.get_soft_device_placement,
    "just-in-time compilation": tf.config.optimizer.get_jit,
    "options of the optimizer": lambda: sorted(tf.config.optimizer.get_experimental_options().items()),
    "TensorFloat-32": tf.config.experimental.tensor_float_32_execution_enabled,
    "synchronous execution": tf.config.experimental.get_synchronous_execution,
    "the dtype of NumPy-like floats": lambda: tf.experimental.numpy.array(1.0).dtype.name,
    "NumPy's print options": lambda: sorted((key, str(value)) for key, value in np.get_printoptions().items()),
    "NumPy's handling of errors": lambda: sorted(np.geterr().items()),
    "Python's limit of recursion": sys.getrecursionlimit,
    "the folder": os.getcwd,
    "standard streams": lambda: (id(sys.stdout), id(sys.stderr), id(sys.stdin)),
    "draws of NumPy": lambda: _shortened(np.random.get_state()),
    "draws of Python": lambda: _shortened(random.getstate()),
}


def process_settings() -> dict[str, Any]:
    """The values now, by what they are."""
    return {name: read() for name, read in _READ.items()}


@contextlib.contextmanager
def unusual_settings() -> Iterator[None]:
    """Settings of NumPy that no code is likely to make: what an earlier call has left behind would hide that of a later
    one."""
    shown = {"precision": 7, "threshold": 998, "edgeitems": 4, "linewidth": 76, "suppress": False}
    with np.printoptions(**shown), np.errstate(divide="print", over="print", under="ignore", invalid="print"):
        yield


def _shortened(state: Any) -> str:
    parts = [part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode() for part in state]
    return hashlib.sha256(b"|".join(parts)).hexdigest()
