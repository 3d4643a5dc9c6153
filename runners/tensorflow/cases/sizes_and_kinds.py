"""tf.signal.idct, tf.image.adjust_brightness, tf.linalg.svd, tf.math.igammac, tf.fill and diagflat:
all sizes, dtypes and special values that the documentation allows, in one process."""

from __future__ import annotations

import itertools
from typing import Any, Callable

import numpy as np
from scipy import special

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.math import cosines
from runners.tensorflow.cases.tensors import weighted_gradients


def transforms(trial: Trial, kind: int, norm: str | None, dtype: str) -> None:
    """Rows of each length, in tensors of each number of axes, are the sums of cosines."""
    bound = {"float32": 5e-6, "float64": 5e-14}[dtype]
    shapes = [[2], [5], [64], [65], [3, 130], [2, 257], [2, 520], [1, 1030], [2, 3, 7], [2, 2, 3, 4], [2, 1, 2, 2, 9]]
    for shape in shapes if kind == 1 else [[1], [3, 1], *shapes]:
        matrix = cosines(shape[-1], kind, norm).T
        host = trial.random(*shape, dtype=dtype, seed=len(shape))
        expected = host.astype("float64") @ matrix
        scale = float(np.sqrt(shape[-1]) * np.max(np.abs(expected), initial=1.0))
        trial.close(trial.call(trial.tensor(host), type=kind, norm=norm), expected, 0.0, bound * scale, dtype=dtype)


def special_transforms(trial: Trial, kind: int, norm: str | None, dtype: str) -> None:
    """Rows of huge and tiny numbers keep their scale; rows with NaN or infinity are not finite, and others are."""
    host = trial.random(6, 9, dtype=dtype, seed=3)
    scales = np.asarray([1.0, 1e32, 1e-30, 1.0, 1.0, 1.0])[:, None]
    given = (host * scales).astype(dtype)
    expected = host.astype("float64") @ cosines(9, kind, norm).T
    given[3, 4], given[4, 0] = np.nan, np.inf
    output = trial.call(trial.tensor(given), type=kind, norm=norm)
    found = trial.numpy(output)
    trial.equal(found.dtype.name, dtype)
    bound = {"float32": 2e-5, "float64": 1e-12}[dtype]
    for row in (0, 1, 2, 5):
        trial.close(found[row] / scales[row], expected[row], 0.0, bound)
    trial.check(np.isnan(found[3]).any(), "a row with NaN has no NaN")
    trial.check((~np.isfinite(found[4])).any(), "a row with infinity is finite")


def brightness_kinds(trial: Trial, dtype: str) -> None:
    """Images of each number of axes and channels, tall, wide and in large batches, change by delta, of integers by this
    part of the greatest level; what is below the least level is the least."""
    wide_integer = dtype in ("int32", "int64", "uint32")
    integer = not dtype.startswith(("float", "bfloat"))
    limits = (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) if integer else (0, 1)
    shapes = [[70, 2, 3, 3], [2, 3, 1030, 1], [300, 2, 5], [2, 2, 2, 3, 4], [2, 3, 2]]
    for shape, delta in itertools.product(shapes, [-0.75, -0.25, 0.25, 1.5]):
        # The conversion from float32 to wide integers cannot hold the greatest level.
        if wide_integer and delta > 1:
            continue
        top = limits[1] // 2 if wide_integer else limits[1]
        host = trial.random(*shape, dtype="float64", seed=4, low=0.0, high=1.0)
        host = host * top if limits[0] == 0 else (host * 2 - 1) * top
        host.flat[0] = limits[0]
        image = trial.tensor(host.astype(dtype if dtype != "bfloat16" else "float32"), dtype)
        ideal = trial.numpy(image).astype("float64") + delta * limits[1]
        below = ideal < limits[0] - limits[1] * 2.0**-20
        ideal = np.clip(ideal, *limits) if integer else ideal
        output = trial.call(image, delta)
        trial.equal([trial.dtype_name(output), list(output.shape)], [dtype, shape])
        level = max(1.0, limits[1] * 2.0**-21) if integer else None
        found = trial.numpy(output)
        if integer:
            trial.close(found.astype("float64"), ideal, 0.0, level)
            trial.check((found[below] == limits[0]).all(), "a level below the least is not the least")
        else:
            # float64 too is computed in float32.
            bound = 1e-6 if dtype == "float64" else None
            trial.close(output, ideal, bound, bound, dtype=dtype)


def brightness_gradients(trial: Trial, dtype: str) -> None:
    """The gradient of an image of this dtype is the incoming one."""
    host, host_weights = (trial.random(2, 3, 3, dtype=dtype, seed=seed) for seed in (5, 6))
    weights = trial.tensor(host_weights, dtype)

    def body(adjust: Callable[..., Any]) -> Any:
        return weighted_gradients(lambda x: adjust(x, 0.5), [trial.tensor(host, dtype)], weights)

    _, (slope,) = trial.call_inside(body)
    # float64 too is computed in float32.
    bound = 1e-6 if dtype == "float64" else None
    trial.close(slope, trial.numpy(weights).astype("float64"), bound, bound, dtype=dtype)


def large_matrices(trial: Trial, dtype: str) -> None:
    """Square, wide and tall matrices of more than a block have NumPy's values, in order; the factors are orthonormal
    and multiply back."""
    tolerance = {"float32": 1e-4, "complex64": 1e-4}.get(dtype, 1e-11)
    for rows, columns in ((35, 70), (131, 66), (130, 130)):
        host = trial.random(rows, columns, dtype=dtype, seed=7)
        wide = host.astype("complex128" if host.dtype.kind == "c" else "float64")
        expected = np.linalg.svd(wide, compute_uv=False)
        matrix = trial.tensor(host)
        values_alone = trial.call(matrix, compute_uv=False)
        s, u, v = (trial.numpy(each) for each in trial.call(matrix))
        trial.equal([u.dtype.name, v.dtype.name], [dtype, dtype])
        for found in (trial.numpy(values_alone), s):
            trial.close(found, expected, 0.0, tolerance * float(expected[0]))
        for factor in (u, v):
            off = np.abs(factor.conj().T @ factor - np.eye(len(expected))).max()
            trial.check(off < tolerance, f"the factors are off by {off:.3g} from orthonormal ones")
        off = np.abs((u * s) @ v.conj().T - wide).max()
        trial.check(off < tolerance * expected[0], f"the factors do not multiply back: off by {off:.3g}")


def gamma_tails(trial: Trial, dtype: str) -> None:
    """The upper tail keeps its relative accuracy where it is tiny, also of tiny and of large a, and is one at zero."""
    rows = [(1, 60), (2, 80), (5, 85), (0.5, 70), (30, 130), (1e-5, 2), (1e-8, 3), (300, 300), (2000, 1900)]
    if dtype == "float64":
        rows += [(1, 280), (5, 690), (0.25, 500), (1e-12, 2), (60, 700)]
    a, x = (np.asarray(each, dtype) for each in zip(*rows))
    expected = special.gammaincc(a.astype("float64"), x.astype("float64"))
    rtol = {"float32": 3e-4, "float64": 1e-9}[dtype]
    trial.close(trial.call(trial.tensor(a), trial.tensor(x)), expected, rtol, 0.0, dtype=dtype)
    shapes = np.asarray([0.5, 1, 2.5, 40, 1e4], dtype)
    for zero in (0.0, -0.0):
        output = trial.call(trial.tensor(shapes), trial.tensor(np.asarray(zero, dtype)))
        trial.close(output, np.ones(5), 0.0, 0.0, dtype=dtype)


def filled(trial: Trial) -> None:
    """Every element is the value with all its bits, whatever the number of axes."""
    numbers = [
        ("float16", -0.0), ("float32", -0.0), ("float64", -0.0), ("float32", np.nan), ("float32", -np.inf),
        ("float32", 3.4e38), ("float64", 0.1), ("bool", True), ("int8", -128), ("uint8", 255), ("int16", -32768),
        ("uint16", 65535), ("int32", -(2**31)), ("int64", 2**62 + 1), ("int64", -(2**63)), ("complex64", -0.0 - 0.0j),
        ("complex128", complex(0.1, -np.inf)),
    ]  # fmt: skip
    shapes = [[], [0], [1], [3], [2, 0, 3], [1, 65], [257, 2], [2, 1, 2, 1, 3], [1, 2, 1, 2, 1, 2, 3], [2] * 9]
    for (dtype, value), shape in itertools.product(numbers, shapes):
        host = np.asarray(value, dtype)
        trial.exact(trial.call(shape, trial.tensor(host)), np.full(shape, host), dtype)


def filled_with_texts(trial: Trial) -> None:
    """Every text is the value with all its bytes, whatever the number of axes."""
    for text in (b" a ", b"a\0b", b"a\0", b"", b"\xff\xfe", b"line\n", b"x" * 300):
        for shape in ([], [2], [1, 2, 2]):
            found = trial.numpy(trial.call(shape, trial.tensor(np.asarray(text, object), "string")))
            trial.equal(np.asarray(found, object).ravel().tolist(), [text] * int(np.prod(shape)))


def diagonals(trial: Trial) -> None:
    """The values are on the diagonal that k says, also far from the main one, for each dtype, and zeros elsewhere."""
    kinds = [
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64", "complex64", "complex128",
    ]  # fmt: skip
    for dtype in kinds:
        for shape, k in itertools.product([[1], [3], [2, 2], [3, 1, 2]], [0, 1, -1, 5, -7]):
            host = (trial.random(*shape, dtype="float64", seed=8) * 9).astype("int8").astype(dtype)
            trial.exact(trial.call(trial.tensor(host), k), np.diagflat(host, k), dtype)
    for length, k in ((3, 70), (2, -130), (2, 260), (65, -3), (130, 1), (5, -66)):
        host = trial.random(length, seed=9)
        for given in (trial.tensor(host), host):
            trial.exact(trial.call(given, k=k), np.diagflat(host, k), "float32")
