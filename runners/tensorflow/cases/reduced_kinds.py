"""tf.math.reduce_mean and tf.math.reduce_logsumexp: each dtype, each choice of axes, long axes and special rows."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import special

from runners.core.testing.trial import Trial

_SHAPES = ([7], [300, 3], [2, 300], [270, 2, 2], [2, 270, 3], [2, 3, 290], [2, 2, 2, 3], [2, 1, 3, 1, 2, 2])


def _all_axes(rank: int) -> list[object]:
    axes = [*range(-rank, rank), None, list(range(rank)), [-1, 0] if rank > 1 else [0], list(range(1, rank))]
    return [*axes, [-2, -1] if rank > 1 else [-1], []]


def means(trial: Trial, dtype: str) -> None:
    """Along each axis and several ones, kept or not; of integers the sum is divided and rounded towards zero."""
    real = "float32" if dtype == "bfloat16" else dtype
    whole = np.dtype(real).kind in "iu"
    bound = {"float16": 4e-3, "bfloat16": 3e-2, "float64": 1e-12, "complex128": 1e-12}.get(dtype, 2e-6)
    for shape in _SHAPES:
        top = 100 // (max(shape) if dtype in ("int8", "uint8") else 1) + 1
        host = trial.random(*shape, dtype=real, seed=1, **({"low": 0, "high": top} if whole else {}))
        tensor = trial.tensor(host if np.dtype(real).kind == "u" or not whole else -host, dtype)
        wide = trial.numpy(tensor).astype("complex128" if host.dtype.kind == "c" else "float64")
        for axis, keepdims in itertools.product(_all_axes(len(shape)), (False, True)):
            axes = tuple(axis) if isinstance(axis, list) else axis
            expected = wide if axes == () else np.mean(wide, axis=axes, keepdims=keepdims)
            for given in (axis, None if axis is None else trial.tensor(np.asarray(axis, "int32"))):
                output = trial.call(tensor, given, keepdims=keepdims)
                if not whole:
                    trial.close(output, expected, bound, bound, dtype=dtype)
                    continue
                found = trial.numpy(output)
                trial.equal([trial.dtype_name(output), found.shape], [dtype, np.shape(expected)])
                trial.close(found.astype("float64"), np.trunc(np.round(expected, 9)), 0.0, 0.0)


def sums_of_exponentials(trial: Trial, dtype: str) -> None:
    """Along each axis and several ones, kept or not, also where the exponential overflows or vanishes."""
    real = "float32" if dtype == "bfloat16" else dtype
    bound = {"float16": 4e-3, "bfloat16": 3e-2, "float64": 1e-12}.get(dtype, 3e-6)
    far = [(_SHAPES[1], 1000.0), (_SHAPES[1], -2000.0), (_SHAPES[6], 1000.0), (_SHAPES[6], -2000.0)]
    for shape, offset in [*((shape, 0.0) for shape in _SHAPES), *far]:
        tensor = trial.tensor(trial.random(*shape, dtype=real, seed=2) + np.asarray(offset, real), dtype)
        wide = trial.numpy(tensor).astype("float64")
        for axis, keepdims in itertools.product(_all_axes(len(shape)), (False, True)):
            axes = tuple(axis) if isinstance(axis, list) else axis
            expected = wide if axes == () else special.logsumexp(wide, axis=axes, keepdims=keepdims)
            trial.close(trial.call(tensor, axis, keepdims=keepdims), expected, bound, bound, dtype=dtype)


def special_rows(trial: Trial, dtype: str, mean: bool) -> None:
    """Rows with NaN, infinities, the largest numbers and zeros of both signs, along both axes and in all."""
    real = "float32" if dtype == "bfloat16" else dtype
    top = 60000.0 if dtype == "float16" else 1e38 if real == "float32" else 1e300
    infinity = np.inf
    rows = [[1.0, 2.0, 4.0], [1.0, np.nan, 2.0], [infinity, 1.0, 2.0], [-infinity, 1.0, 2.0], [-infinity] * 3]
    rows += [[infinity, -infinity, 0.0], [np.nan, infinity, 1.0], [infinity] * 3, [-0.0] * 3, [top, -top, 0.0]]
    rows += [[-top] * 3, [top, -infinity, 1.0]] if not mean else [[top, -infinity, 1.0]]
    tensor = trial.tensor(np.asarray(rows, real), dtype)
    wide = trial.numpy(tensor).astype("float64")
    with np.errstate(all="ignore"):
        for axis in (1, 0, -1, None):
            expected = np.mean(wide, axis=axis) if mean else special.logsumexp(wide, axis=axis)
            bound = 3e-2 if dtype == "bfloat16" else 4e-3 if dtype == "float16" else 2e-6
            trial.close(trial.call(tensor, axis), expected, bound, bound, dtype=dtype)
