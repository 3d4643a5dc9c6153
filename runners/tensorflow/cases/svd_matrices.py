"""tf.linalg.svd of matrices whose singular values are equal, zero, tiny or huge."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

_MATRICES: Mapping[str, Any] = {
    "zero": np.zeros([3, 2]),
    "identity": np.eye(3),
    "negative": -2 * np.eye(2, 4),
    "permuted": np.eye(4)[[2, 0, 3, 1]],
    "one": np.asarray([[-3.0]]),
    "rank one": np.outer([1.0, -2, 2], [3.0, 4]),
    "one column": np.asarray([[3.0], [0], [-4]]),
    "one row": np.asarray([[0.0, -5, 12]]),
    "equal": np.asarray([[1.0, 1], [1, -1], [0, 0]]),
    "triangular": np.tril(np.ones([5, 5])),
    "tiny": 1e-30 * np.asarray([[1.0, 2], [3, 4]]),
    "huge": 1e30 * np.asarray([[1.0, 2], [3, 4]]),
    "graded": np.diag([1e6, 1.0, 1e-6]),
    "zero row": np.asarray([[1.0, 2, 3], [0, 0, 0], [4, 5, 6]]),
}


def factors(trial: Trial, matrix: str, dtype: str, full_matrices: bool) -> None:
    """The singular values are NumPy's, in order, and none is negative; the factors are orthonormal and multiply
    back."""
    host = _MATRICES[matrix].astype(dtype)
    s, u, v = trial.call(trial.tensor(host), full_matrices=full_matrices)
    wide = host.astype("float64")
    scale = max(np.abs(wide).max(), 1e-38)
    expected = np.linalg.svd(wide, compute_uv=False)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    values, left, right = (trial.numpy(each).astype("float64") for each in (s, u, v))
    trial.close(s, expected, tolerance, tolerance * scale, dtype=dtype)
    trial.check((values >= 0).all() and (np.diff(values) <= 0).all(), f"the values are not in order: {values}")
    rank = len(values)
    shapes = [
        [len(wide), len(wide) if full_matrices else rank],
        [wide.shape[1], wide.shape[1] if full_matrices else rank],
    ]
    trial.equal([list(left.shape), list(right.shape)], shapes)
    for each in (left, right):
        off = np.abs(each.T @ each - np.eye(each.shape[1])).max()
        trial.check(off < tolerance, f"the factors are off by {off:.3g} from orthonormal ones")
    off = np.abs((left[:, :rank] * values) @ right[:, :rank].T - wide).max() / scale
    trial.check(off < tolerance, f"the factors do not multiply back: off by {off:.3g}")


def gradient_of_values(trial: Trial, matrix: str, with_factors: bool) -> None:
    """The gradient of the sum of the squares is twice the matrix, also where values are equal or zero, whether the
    factors are computed or not."""
    host = _MATRICES[matrix].astype("float64")
    given = trial.tensor(host)

    def body(svd: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            s = svd(given)[0] if with_factors else svd(given, compute_uv=False)
            total = tf.reduce_sum(s * s)
        return s, tape.gradient(total, given)

    s, slope = trial.call_inside(body)
    trial.close(s, np.linalg.svd(host, compute_uv=False), 1e-12, 1e-12, dtype="float64")
    trial.close(slope, 2 * host, 1e-10, 1e-10, dtype="float64")
