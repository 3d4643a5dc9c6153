"""tf.keras.optimizers.experimental.Adadelta: many rows, many axes, low precision, and NaN at one place."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.optimizers import expected_steps

_ALLOWED = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 1e-5}


def steps(trial: Trial, shape: Sequence[int], dtype: str = "float32", rows: Sequence[int] | None = None) -> None:
    """Two steps change each place by its own gradients; NaN in the second one stays at its place. With ``rows``, the
    gradients are those of some rows of the first axis, and all other rows stay."""
    start = trial.random(*shape, dtype=dtype, seed=1)
    given = shape if rows is None else [len(rows), *shape[1:]]
    parts = [trial.random(*given, dtype=dtype, seed=2 + step) for step in range(2)]
    parts[1].reshape(-1)[-1] = np.nan
    weight = tf.Variable(trial.tensor(start, dtype))
    optimizer = trial.make(learning_rate=1.0, epsilon=1e-2)
    wide = []
    for step, part in enumerate(parts):
        tensor = trial.tensor(part, dtype)
        rounded = trial.numpy(tensor).astype("float64")
        slope: Any = tensor
        if rows is not None:
            slope = tf.IndexedSlices(tensor, trial.tensor(np.asarray(rows)), tf.constant(list(shape), tf.int64))
            rounded, rounded_rows = np.zeros(shape), rounded
            rounded[list(rows)] = rounded_rows
        wide.append(rounded)
        # Only the last step is repeated for the steady time, because it ends the check.
        trial.repeatable = step == 1
        counted = trial.call_method(optimizer, "apply_gradients", [(slope, weight)])
        trial.close(tf.convert_to_tensor(counted), step + 1, dtype="int64")
        expected = expected_steps(start, wide, lambda _: 1.0, 0.95, 1e-2)[-1]
        trial.close(weight, expected, _ALLOWED[dtype], _ALLOWED[dtype], dtype=dtype)
