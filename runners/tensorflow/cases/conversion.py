"""tf.convert_to_tensor: arrays of any memory layout, and conversions while a graph is built."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

v1 = tf.compat.v1


def _view(host: Any, layout: str) -> Any:
    """Return the same kind of values in memory that is not in row order, or not in the machine's byte order."""
    if layout == "transposed":
        return host.T
    if layout == "strided":
        return host[::2, 1::3]
    if layout == "reversed":
        return host[::-1, ::-1]
    return host.astype(host.dtype.newbyteorder())


def from_layout(trial: Trial, layout: str, dtype: str) -> None:
    """An array that is a view of other memory has its own values, also converted to another dtype."""
    host = _view(trial.random(7, 9, dtype=dtype, seed=1), layout)
    trial.exact(trial.call(host), widened(host), dtype)
    trial.close(trial.call(host, dtype=tf.float32), widened(host), dtype="float32")


def from_arrays(trial: Trial) -> None:
    """Arrays in a list are stacked, and NumPy's and Python's scalars have their own dtypes."""
    hosts = [trial.random(3, dtype="float64", seed=seed) for seed in (2, 3)]
    trial.exact(trial.call([hosts[0], hosts[1], [0.5, 1, -0.0]]), [*hosts, [0.5, 1, -0.0]], "float64")
    for value, dtype in ((np.float16(1.5), "float16"), (np.int8(-7), "int8"), (np.uint32(7), "uint32"), (True, "bool")):
        trial.exact(trial.call(value), np.asarray(value).astype(widened(value).dtype), dtype)


def in_graph(trial: Trial) -> None:
    """In a graph the new tensor has the name and is constant; a tensor stays itself, and is not converted to another
    dtype."""
    host = trial.random(2, 3, seed=4)

    def body(convert: Callable[..., Any]) -> Any:
        with tf.Graph().as_default() as graph, tf.device(trial.device):
            made = convert(host, name="weights")
            same = convert(made, name="unused")
            try:
                convert(made, dtype=tf.int32)
                raised = None
            except ValueError as error:
                raised = error
            with v1.Session(graph=graph) as session:
                return made.name, same is made, raised, session.run(made + 0.0)

    name, is_same, raised, values = trial.call_inside(body)
    trial.equal(name, "weights:0")
    trial.check(is_same, "a tensor was converted, expected the same object")
    trial.check(raised is not None, "a float32 tensor was accepted as int32")
    trial.close(values, host, 0.0, 0.0)
