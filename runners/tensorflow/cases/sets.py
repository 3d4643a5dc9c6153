"""tf.sets.intersection, compared with Python's sets."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import traced

Sizes = Sequence[int]


def _rows_in_both(first: Any, second: Any) -> tuple[list[list[int]], list[Any], list[int]]:
    """Return indices, values and dense shape of the sparse tensor whose rows are the sorted intersections."""
    indices, values, longest = [], [], 0
    for place in np.ndindex(*first.shape[:-1]):
        both = sorted(set(first[place].tolist()) & set(second[place].tolist()))
        longest = max(longest, len(both))
        for number, value in enumerate(both):
            indices.append([*place, number])
            values.append(value)
    return indices, values, [*first.shape[:-1], longest]


def _check_sets(trial: Trial, output: Any, expected: Any, dtype: str) -> None:
    indices, values, dense_shape = expected
    trial.check(isinstance(output, tf.SparseTensor), f"expected a sparse tensor, got {type(output).__name__}")
    kind = object if dtype == "string" else dtype
    trial.close(output.values, np.asarray(values, kind), dtype=dtype)
    trial.close(output.indices, np.asarray(indices, "int64").reshape(len(values), len(dense_shape)), dtype="int64")
    trial.close(output.dense_shape, dense_shape, dtype="int64")


def _sparse(trial: Trial, dense: Any, dtype: str) -> Any:
    """Return a sparse tensor with every element of a dense one."""
    places = np.asarray(list(np.ndindex(*dense.shape)), "int64").reshape(dense.size, dense.ndim)
    shape = trial.tensor(np.asarray(dense.shape, "int64"))
    return tf.SparseTensor(trial.tensor(places), trial.tensor(dense.ravel(), dtype), shape)


def intersection(
    trial: Trial,
    first: Sizes,
    second: Sizes,
    dtype: str = "int32",
    sparse: Sequence[bool] = (False, False),
    values: int = 10,
    low: int = 0,
    validate: bool = True,
) -> None:
    """Each output row holds, sorted and once each, the values in both rows; the input has duplicates and no order."""
    hosts = [
        trial.random(*shape, dtype=dtype, seed=35 + number, low=low, high=values)
        for number, shape in enumerate((first, second))
    ]
    given = [
        _sparse(trial, host, dtype) if as_sparse else trial.tensor(host, dtype)
        for host, as_sparse in zip(hosts, sparse)
    ]
    output = trial.call(*given) if validate else trial.call(*given, False)
    _check_sets(trial, output, _rows_in_both(*hosts), dtype)


def intersection_of_ends(trial: Trial) -> None:
    """The ends of the range of int64 and neighbors that float64 cannot tell apart are different values; sets without a
    common value give rows of no length."""
    wide = [2**63 - 1, -(2**63), 0, 2**53, -1, 2**53 + 1, 2**32]
    first = np.asarray([wide, [1, 2, 3, 4, 5, 6, 7]])
    second = np.asarray([[2**53 + 1, 2**63 - 1, -(2**63), 2**53 + 2], [8, 2**32 + 1, -1, 0]])
    for rows in (slice(None), slice(1, None)):
        pair = [first[rows], second[rows]]
        _check_sets(trial, trial.call(*map(trial.tensor, pair)), _rows_in_both(*pair), "int64")


def intersection_out_of_order(trial: Trial, places: Sequence[Sequence[int]], word: str) -> None:
    """Indices that are not sorted by rows, or not inside of the shape, are refused in both arguments."""
    values, shape = trial.tensor(np.asarray([5, 6])), trial.tensor(np.asarray([2, 3]))
    good = tf.SparseTensor(trial.tensor(np.asarray([[0, 0], [1, 2]])), values, shape)
    bad = tf.SparseTensor(trial.tensor(np.asarray(places)), values, shape)
    for pair in ((bad, good), (good, bad)):
        trial.raises(["InvalidArgumentError"], word, *pair)


def intersection_validates_in_turn(trial: Trial) -> None:
    """Places out of order are an error also after a call that did not look at them."""
    values, shape = trial.tensor(np.asarray([5, 6])), trial.tensor(np.asarray([2, 3]))
    places = trial.tensor(np.asarray([[1, 0], [0, 1]]))
    bad = tf.SparseTensor(places, values, shape)
    good = tf.sparse.reorder(bad)
    for _ in range(2):
        _check_sets(trial, trial.call(good, good, validate_indices=False), ([[0, 0], [1, 0]], [6, 5], [2, 1]), "int64")
        trial.raises(["InvalidArgumentError"], "order", bad, good, validate_indices=True)
        trial.raises(["InvalidArgumentError"], "order", good, bad)


def intersection_of_unordered_places(trial: Trial) -> None:
    """Without validation, places that are out of order within a row are accepted, from each side."""
    places = trial.tensor(np.asarray([[0, 1], [0, 0], [1, 2], [1, 0]]))
    unordered = tf.SparseTensor(places, trial.tensor(np.asarray([7, 2, 9, 4])), trial.tensor(np.asarray([2, 3])))
    dense = trial.tensor(np.asarray([[2, 7, 1], [9, 5, 4]]))
    expected = [[0, 0], [0, 1], [1, 0], [1, 1]], [2, 7, 4, 9], [2, 2]
    _check_sets(trial, trial.call(dense, unordered, False), expected, "int64")
    ordered = tf.sparse.from_dense(dense)
    for pair in ((unordered, ordered), (ordered, unordered), (unordered, unordered)):
        _check_sets(trial, trial.call(*pair, validate_indices=False), expected, "int64")


def intersection_strings(trial: Trial, sparse: bool = False) -> None:
    """Sets of strings are sorted by bytes; the caller can switch off their validation."""
    first = np.asarray([[b"b", b"a", b"zz"], [b"x", b"y", b"x"]], dtype=object)
    second = np.asarray([[b"zz", b"b"], [b"q", b"a"]], dtype=object)
    made = (lambda host: _sparse(trial, host, "string")) if sparse else (lambda host: trial.tensor(host, "string"))
    output = trial.call(made(first), made(second), validate_indices=False)
    _check_sets(trial, output, _rows_in_both(first, second), "string")


def intersection_of_unequal_sets(trial: Trial) -> None:
    """Sparse rows can hold sets of any size, also empty ones."""
    shape = trial.tensor(np.asarray([4, 3], "int64"))

    def rows(places: Any, values: Any) -> Any:
        return tf.SparseTensor(
            trial.tensor(np.asarray(places, "int64")), trial.tensor(np.asarray(values, "int64")), shape
        )

    first = rows([[0, 0], [1, 0], [1, 1], [1, 2], [3, 0]], [9, 5, 3, 7, 2])
    second = rows([[1, 0], [1, 1], [2, 0], [3, 0], [3, 1]], [7, 5, 9, 2, 4])
    expected = ([[1, 0], [1, 1], [3, 0]], [5, 7, 2], [4, 2])
    _check_sets(trial, trial.call(first, second), expected, "int64")


def intersection_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for sets of unknown sizes, intersects sets of several sizes."""
    shapes = [((2, 3), (2, 5)), ((4, 20), (4, 7)), ((1, 0), (1, 2))]
    hosts = [tuple(trial.random(*shape, dtype="int64", seed=37 + shape[1]) for shape in pair) for pair in shapes]
    tensors = [tuple(map(trial.tensor, pair)) for pair in hosts]

    def body(intersect: Callable[..., Any]) -> Any:
        apply = traced(lambda one, two: intersect(one, two), [tf.TensorSpec([None, None], tf.int64)] * 2)
        return [apply(*pair) for pair in tensors]

    for output, pair in zip(trial.call_inside(body), hosts):
        _check_sets(trial, output, _rows_in_both(*pair), "int64")


def intersection_of_padded(trial: Trial, dtype: str, sparse: Sequence[bool]) -> None:
    """What fills the rows of a sparse argument, also of empty ones, is no element: a zero or an empty text is common
    only if both have it."""
    rows = [[[0, 3, 5], [7]], [[0], []], [[], [0, 2]], [[4, 0, 9], [9, 4]], [[], []]]
    sides = []
    for side, as_sparse in enumerate(sparse):
        parts = [row[side] if as_sparse else (row[side] + [0, 0, 0])[:3] for row in rows]
        sides.append([[str(each or "").encode() if dtype == "string" else each for each in part] for part in parts])
    given = []
    for parts, as_sparse in zip(sides, sparse):
        host = np.asarray([each for part in parts for each in part], object if dtype == "string" else dtype)
        places = np.asarray([[row, column] for row, part in enumerate(parts) for column in range(len(part))])
        values, shape = trial.tensor(host if as_sparse else host.reshape(5, 3), dtype), np.asarray([5, 4])
        given.append(tf.SparseTensor(trial.tensor(places), values, trial.tensor(shape)) if as_sparse else values)
    both = [sorted(set(first) & set(second)) for first, second in zip(*sides)]
    indices = [[row, column] for row, part in enumerate(both) for column in range(len(part))]
    values = [each for part in both for each in part]
    _check_sets(trial, trial.call(*given), (indices, values, [5, max(map(len, both))]), dtype)


def intersection_of_lists(trial: Trial, size: int) -> None:
    """Lists and arrays are sets, too, of the dtypes of tensors that are made of them; a common row of any length is
    found as a whole, in rising order."""
    first = np.random.RandomState(5).permutation(size)
    second = np.arange(-size, size + 1, dtype="int32")
    expected = [[0, place] for place in range(size)], np.arange(size), [1, size]
    _check_sets(trial, trial.call([first.tolist()], [second.tolist()]), expected, "int32")
    _check_sets(trial, trial.call([first.tolist()], second[None]), expected, "int32")
    _check_sets(trial, trial.call(first[None].astype("int64"), second[None].astype("int64")), expected, "int64")
