"""tf.cast: dtypes given in several ways, tensors with parts, and gradients between real and complex numbers."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import weighted_gradients


def dtype_given_as(trial: Trial) -> None:
    """The dtype can be Python's, NumPy's, a class or an object, and a name."""
    host = np.asarray([-2.75, 0.0, 1.5, 100.25], "float64")
    value = trial.tensor(host)
    given: list[Any] = [float, bool, np.float16, np.dtype("int16"), "uint8", "half", np.int32, tf.complex64]
    names = ["float32", "bool", "float16", "int16", "uint8", "float16", "int32", "complex64"]
    for dtype, name in zip(given, names):
        if name == "uint8":  # Negative numbers have no defined value.
            trial.exact(trial.call(abs(value), dtype), [2, 0, 1, 100], name)
        else:
            trial.equal(trial.dtype_name(trial.call(value, dtype)), name)
            trial.close(trial.call(value, dtype), host.astype(name), dtype=name)


def keeps_parts(trial: Trial) -> None:
    """Ragged tensors keep their rows and the dtype of their splits; sparse tensors and slices keep the size of the
    whole, with rows and columns that hold nothing."""
    values = trial.tensor(np.asarray([1.75, -2.5, 40.0], "float32"))
    for splits in ("int32", "int64"):
        rows = tf.RaggedTensor.from_row_splits(values, trial.tensor(np.asarray([0, 2, 2, 3], splits)))
        output = trial.call(rows, tf.int32)
        trial.check(isinstance(output, tf.RaggedTensor), f"a ragged tensor became {type(output).__name__}")
        trial.exact(output.values, [1, -2, 40], "int32")
        trial.close(output.row_splits, [0, 2, 2, 3], dtype=splits)
    places, size = trial.tensor(np.asarray([[0, 1], [2, 0], [2, 3]])), trial.tensor(np.asarray([7, 9]))
    sparse = trial.call(tf.SparseTensor(places, values, size), "int64")
    trial.exact(sparse.values, [1, -2, 40], "int64")
    trial.close(sparse.dense_shape, [7, 9], dtype="int64")
    trial.close(sparse.indices, [[0, 1], [2, 0], [2, 3]], dtype="int64")
    slices = tf.IndexedSlices(values, trial.tensor(np.asarray([4, 0, 4])), size[:1])
    output = trial.call(slices, tf.float64)
    trial.exact(output.values, [1.75, -2.5, 40.0], "float64")
    trial.equal((trial.numpy(output.indices).tolist(), trial.numpy(output.dense_shape).tolist()), ([4, 0, 4], [7]))


def gradient_to_and_from_complex(trial: Trial, source: str, target: str) -> None:
    """Between real and complex numbers of any precision the gradient is the real part of the incoming one, in the dtype
    of the input."""
    host = trial.random(3, dtype=source, seed=1)
    host_weights = trial.random(3, dtype=target, seed=2)
    value, weights = trial.tensor(host), trial.tensor(host_weights)

    def body(cast: Callable[..., Any]) -> Any:
        return weighted_gradients(lambda x: cast(x, trial.dtype(target)), [value], weights)

    output, (slope,) = trial.call_inside(body)
    both = source.startswith("complex") and target.startswith("complex")
    expected = np.conj(host_weights) if both else np.real(host_weights)
    trial.close(output, host if target.startswith("complex") else np.real(host), dtype=target)
    trial.close(slope, expected, rtol=1e-6, atol=1e-6, dtype=source)
