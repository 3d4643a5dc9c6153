"""Functions that move or choose values: each dtype, many axes, and each axis longer than a block, in one process."""

from __future__ import annotations

import itertools
from typing import Any, Sequence

import numpy as np

from runners.core.testing.trial import Trial

Sizes = Sequence[int]


def _given(trial: Trial, shape: Sizes, dtype: str, seed: int) -> tuple[Any, Any]:
    """A tensor of values that are different from their neighbors, with special ones, and its values on the host."""
    kind = "f" if dtype == "bfloat16" else np.dtype(dtype).kind
    size = int(np.prod(shape, dtype="int64"))
    numbers = np.arange(seed, seed + size) * 37 % (2 if kind == "b" else 127)
    if kind in "fc":
        host = (numbers - 63.0).astype("float32" if dtype == "bfloat16" else dtype)
        if size > 9:
            host[[size // 7, size // 5, size // 3, size // 2, -1]] = [np.nan, -0.0, np.inf, -np.inf, -0.0]
        if kind == "c":
            host.imag = numbers[::-1]
    else:
        host = numbers.astype(dtype)
        if kind != "b" and size > 9:
            host[[size // 3, -1]] = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    tensor = trial.tensor(host.reshape(shape), dtype)
    found = np.array(trial.numpy(tensor))
    return tensor, found.astype("float64") if kind == "f" else found


_LONG = ([300, 3], [2, 300], [270, 2, 2], [2, 270, 3], [2, 3, 290], [70, 2, 2, 2], [2, 2, 270, 2], [2, 2, 2, 300])
_MANY_AXES = ([7], [2, 3], [2, 1, 3, 2], [2, 1, 2, 1, 3], [2, 1, 2, 3, 1, 2], [1, 2, 1, 2, 2, 1, 2, 3])


def concatenated(trial: Trial, dtype: str) -> None:
    """Along each axis, counted from both ends; one part and more than a hundred; parts that are empty."""
    for shape in (*_LONG, *_MANY_AXES):
        tensor, host = _given(trial, shape, dtype, 1)
        for axis in {0, len(shape) - 1, -1, -len(shape), len(shape) // 2}:
            other, other_host = _given(
                trial, [2 if n == axis % len(shape) else s for n, s in enumerate(shape)], dtype, 5
            )
            trial.exact(trial.call([tensor, other], axis), np.concatenate([host, other_host], axis), dtype)
    for count, sizes in ((1, [3, 4]), (25, [2, 3]), (130, [1, 2]), (70, [0, 2])):
        pairs = [_given(trial, sizes if n % 3 else [1, *sizes[1:]], dtype, n) for n in range(count)]
        for axis in (0, trial.tensor(np.int32(0)), trial.tensor(np.int32(-2))):
            output = trial.call([tensor for tensor, _ in pairs], axis)
            trial.exact(output, np.concatenate([host for _, host in pairs], 0), dtype)


def reshaped(trial: Trial, dtype: str) -> None:
    """To shapes of each number of axes, with the size that is left out in any place, as a list or a tensor."""
    for shape in (*_LONG, *_MANY_AXES, [0, 3], []):
        tensor, host = _given(trial, shape, dtype, 2)
        for new in ([-1], [1, -1], [*shape, 1, 1], [1, 1, 1, 1, *shape], [-1, 1, *shape[-1:]], shape[::-1]):
            if -1 in new and not host.size and len(new) > 2:
                continue
            for given in (new, trial.tensor(np.asarray(new, "int32")), trial.tensor(np.asarray(new, "int64"))):
                trial.exact(trial.call(tensor, given), host.reshape(new), dtype)
    one, host = _given(trial, [1, 1], dtype, 3)
    trial.exact(trial.call(one, []), host.reshape([]), dtype)


def clipped(trial: Trial, dtype: str) -> None:
    """With both bounds, one bound, bounds that are broadcast and that are equal."""
    for shape in (*_LONG, *_MANY_AXES, [0, 3], []):
        tensor, host = _given(trial, shape, dtype, 4)
        low, high = (np.asarray(each, host.dtype) for each in (9, 40))
        row = np.full(shape[-1:], 11, host.dtype)
        bounds = [(low, high), (low, None), (None, high), (row, high), (low, row), (high, high)]
        for least, most in bounds:
            arguments = [None if each is None else trial.tensor(each, dtype) for each in (least, most)]
            expected = host if least is None else np.maximum(host, least)
            expected = expected if most is None else np.minimum(expected, most)
            trial.close(trial.call(tensor, *arguments), expected, 0.0, 0.0, dtype=dtype)


def scattered(trial: Trial, dtype: str) -> None:
    """Elements and slices at indices of each depth, of both dtypes, many at once, none, and in more than one axis."""
    random = np.random.RandomState(1)
    for shape in (*_LONG, *_MANY_AXES):
        tensor, host = _given(trial, shape, dtype, 6)
        for depth, kind in itertools.product(range(1, min(len(shape), 6) + 1), ("int32", "int64")):
            places = random.permutation(int(np.prod(shape[:depth])))[:300]
            indices = np.stack(np.unravel_index(places, shape[:depth]), -1).astype(kind)
            for batch in ([len(places)], [0], [1, len(places), 1])[: 2 if kind == "int64" else 3]:
                chosen = (indices[:0] if batch == [0] else indices).reshape([*batch, depth])
                updates, update_host = _given(trial, [*batch, *shape[depth:]], dtype, 9)
                expected = host.copy()
                expected[tuple(np.moveaxis(chosen, -1, 0))] = update_host
                trial.exact(trial.call(tensor, trial.tensor(chosen), updates), expected, dtype)
        trial.exact(tensor, host, dtype)


def _with_diagonals(host: Any, diagonals: Any, low: int, high: int, align: str) -> Any:
    result = host.copy()
    rows, columns = host.shape[-2:]
    for d in range(low, high + 1):
        length = min(rows + min(d, 0), columns - max(d, 0))
        values = diagonals[..., high - d, :]
        to_left = align.split("_")[0 if d >= 0 else 1] == "LEFT"
        values = values[..., :length] if to_left else values[..., values.shape[-1] - length :]
        steps = np.arange(length)
        result[..., steps + max(-d, 0), steps + max(d, 0)] = values
    return result


def with_diagonals(trial: Trial, dtype: str) -> None:
    """One diagonal and bands, on both sides of the main one, of each alignment, of square, wide and tall matrices and
    of batches; all other elements are kept."""
    for shape in ([3, 3], [2, 3, 5], [2, 1, 6, 4], [1, 2, 1, 2, 4, 4], [70, 66], [3, 300], [290, 2], [70, 2, 3]):
        tensor, host = _given(trial, shape, dtype, 7)
        rows, columns = shape[-2:]
        bands = {(0, 0), (1, 1), (-1, -1), (-1, 1), (columns - 1, columns - 1), (1 - rows, 1 - rows)}
        bands |= (
            {(1 - rows, columns - 1), (-1, 0), (0, 1), (1, columns - 1), (1 - rows, -1)} if max(shape) < 70 else set()
        )
        for low, high in sorted(bands):
            width = max(min(rows + min(d, 0), columns - max(d, 0)) for d in range(low, high + 1))
            if low == high:
                diagonal, diagonal_host = _given(trial, [*shape[:-2], width], dtype, 9)
                expected = _with_diagonals(host, diagonal_host[..., None, :], low, high, "LEFT_LEFT")
                for k in (low, (low, high)):
                    trial.exact(trial.call(tensor, diagonal, k=k), expected, dtype)
                continue
            diagonals, diagonal_host = _given(trial, [*shape[:-2], high - low + 1, width], dtype, 8)
            for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
                expected = _with_diagonals(host, diagonal_host, low, high, align)
                trial.exact(trial.call(tensor, diagonals, k=(low, high), align=align), expected, dtype)
        trial.exact(tensor, host, dtype)


def in_batches(trial: Trial, dtype: str) -> None:
    """One to three axes are cut into blocks, after zeros on one or both sides; batches, blocks and what is left of each
    element are small and large."""
    calls = [
        ([3, 4, 6], [2], [[0, 0]]), ([1, 4, 6, 2], [2, 3], [[0, 0], [0, 0]]), ([2, 3, 5, 2], [2, 3], [[1, 0], [0, 1]]),
        ([1, 5, 3, 4, 2], [3, 1, 2], [[0, 1], [2, 0], [1, 1]]), ([2, 14], [7], [[0, 0]]), ([70, 2, 3], [2], [[1, 1]]),
        ([1, 297, 2, 3], [3, 2], [[0, 0], [0, 0]]), ([1, 2, 290, 2], [1, 5], [[0, 0], [5, 0]]),
        ([2, 2, 2, 270], [2, 2], [[0, 0], [0, 0]]), ([1, 2, 2, 2, 1, 3], [2, 1], [[0, 0], [0, 0]]),
        ([2, 4, 4, 1], [1, 1], [[0, 0], [1, 2]]), ([1, 6, 6, 1], [6, 6], [[3, 3], [0, 6]]),
    ]  # fmt: skip
    for shape, blocks, paddings in calls:
        tensor, host = _given(trial, shape, dtype, 1)
        padded = np.pad(host, [(0, 0), *paddings, *[(0, 0)] * (len(shape) - 1 - len(blocks))])
        parts = [
            padded[(slice(None), *(slice(n, None, b) for n, b in zip(offsets, blocks)))]
            for offsets in itertools.product(*map(range, blocks))
        ]
        trial.exact(trial.call(tensor, blocks, paddings), np.concatenate(parts, 0), dtype)
