"""Functions that move, pick and convert values: reshape, cast, concat, scatter, diagonals, sets, shapes, dtypes.

Also what the neighbouring modules share: gradients under weights, and tracing for tensors of unknown shape.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing import references
from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

Sizes = Sequence[int]


def weighted_gradients(call: Callable[..., Any], inputs: Sequence[Any], weights: Any) -> Any:
    """The output of ``call(*inputs)`` and the gradients of the sum of weights times output to each input."""
    with tf.GradientTape() as tape:
        tape.trace_ops(list(inputs))
        output = call(*inputs)
        total = tf.reduce_sum(weights * output)
    return output, tape.gradient(total, list(inputs))


def traced(call: Callable[..., Any], specs: Sequence[Any]) -> Any:
    """A tf.function that is traced once for tensors that are known only as far as the specs say."""
    return tf.function(call, input_signature=list(specs), autograph=False)


def seen(trial: Trial, tensor: Any) -> Any:
    """The values of a tensor as the function sees them, floating ones in float64."""
    return widened(trial.numpy(tensor))


def unknown_shape(
    trial: Trial,
    reference: str,
    shapes: Sequence[Sizes],
    dtype: str = "float32",
    any_rank: bool = False,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    reference_args: Sequence[Any] | None = None,
    reference_kwargs: Mapping[str, Any] | None = None,
    low: float | None = None,
    high: float | None = None,
) -> None:
    """One tf.function, traced for tensors of unknown sizes (or rank), gives what NumPy gives for each size."""
    tensors = [
        trial.tensor(trial.random(*shape, dtype=dtype, seed=21 + number, low=low, high=high), dtype=dtype)
        for number, shape in enumerate(shapes)
    ]
    spec = tf.TensorSpec(None if any_rank else [None] * len(shapes[0]), trial.dtype(dtype))

    def body(function: Callable[..., Any]) -> Any:
        apply = traced(lambda x: function(x, *args, **(kwargs or {})), [spec])
        return [apply(tensor) for tensor in tensors]

    outputs = trial.call_inside(body)
    compute = references.find("numpy", reference)
    for output, tensor in zip(outputs, tensors):
        given = args if reference_args is None else reference_args
        expected = compute(
            seen(trial, tensor), *given, **(kwargs or {} if reference_kwargs is None else reference_kwargs)
        )
        trial.close(output, np.asarray(expected), dtype=dtype)


# tf.reshape


def reshape_strings(trial: Trial) -> None:
    """A tensor of strings, which only the host can hold, is reshaped in row order."""
    words = np.asarray([[b"a", b"bc", b""], [b"d", b"ef", b"ghi"]], dtype=object)
    output = trial.call(trial.tensor(words, "string"), [3, 2])
    trial.equal(output, words.reshape(3, 2))
    trial.equal(trial.dtype_name(output), "string")


def reshape_gradient(trial: Trial, dtype: str) -> None:
    """The gradient of a reshape has the input's shape and holds the incoming one in row order."""
    host, host_weights = trial.random(3, 4, dtype=dtype, seed=1), trial.random(2, 6, dtype=dtype, seed=2)
    values, weights = trial.tensor(host), trial.tensor(host_weights)

    def body(reshape: Callable[..., Any]) -> Any:
        return weighted_gradients(lambda x: reshape(x, [2, -1]), [values], weights)

    output, (slope,) = trial.call_inside(body)
    trial.close(output, host.reshape(2, 6), dtype=dtype)
    trial.close(slope, host_weights.reshape(3, 4), dtype=dtype)


def reshape_to_computed(trial: Trial) -> None:
    """The new shape may itself be a tensor that is known only when the function runs."""
    host = trial.random(4, 6, seed=3)
    values = trial.tensor(host)
    shapes = [[2, 12], [24], [3, -1, 4]]
    tensors = [trial.tensor(np.asarray(shape, "int32")) for shape in shapes]

    def body(reshape: Callable[..., Any]) -> Any:
        apply = traced(
            lambda x, shape: reshape(x, shape), [tf.TensorSpec(None, tf.float32), tf.TensorSpec([None], tf.int32)]
        )
        return [apply(values, shape) for shape in tensors]

    for output, shape in zip(trial.call_inside(body), shapes):
        trial.close(output, host.reshape(shape), dtype="float32")


# tf.cast


def cast_sparse(trial: Trial) -> None:
    """A sparse tensor is cast in its values; its places stay."""
    indices = trial.tensor(np.asarray([[0, 1], [2, 0], [2, 3]], "int64"))
    values = trial.tensor(np.asarray([1.75, -2.5, 40.0], "float32"))
    given = tf.SparseTensor(indices, values, trial.tensor(np.asarray([3, 4], "int64")))
    output = trial.call(given, tf.int32)
    trial.close(output.values, [1, -2, 40], dtype="int32")
    trial.equal(output.indices, [[0, 1], [2, 0], [2, 3]])
    trial.equal(output.dense_shape, [3, 4])


def cast_gradient(trial: Trial, source: str, target: str) -> None:
    """The gradient comes back in the dtype that the values came from; to an integer there is none."""
    host, host_weights = trial.random(5, dtype=source, seed=4), trial.random(5, dtype=source, seed=5)
    values = trial.tensor(host, dtype=source)
    weights = trial.tensor(host_weights, dtype=target)

    def body(cast: Callable[..., Any]) -> Any:
        output, (slope,) = weighted_gradients(lambda x: cast(x, trial.dtype(target)), [values], weights)
        with tf.GradientTape() as tape:
            tape.trace_ops(values)
            whole = cast(values, tf.int32)
        return output, slope, whole, tape.gradient(whole, values)

    output, slope, whole, nothing = trial.call_inside(body)
    narrow = sorted((source, target))[0] if "float16" in (source, target) else "float32"
    rtol = {"float16": 1e-3, "float32": 1e-6}[narrow]
    trial.close(output, host, rtol=rtol, atol=rtol, dtype=target)
    trial.close(slope, host_weights, rtol=rtol, atol=rtol, dtype=source)
    trial.close(whole, np.trunc(host), dtype="int32")
    trial.check(nothing is None, f"a cast to integers has no gradient, got {nothing}")


# tf.concat


def concat_strings(trial: Trial) -> None:
    """Tensors of strings are joined."""
    first = np.asarray([[b"a", b"bc"]], dtype=object)
    second = np.asarray([[b"", b"d"], [b"ef", b"g"]], dtype=object)
    output = trial.call([trial.tensor(first, "string"), trial.tensor(second, "string")], 0)
    trial.equal(output, np.concatenate([first, second]))
    trial.equal(trial.dtype_name(output), "string")


def concat_gradient(trial: Trial, axis: int) -> None:
    """Each part gets its own slice of the incoming gradient."""
    shapes = [(2, 3), (2, 3), (2, 3)]
    hosts = [trial.random(*shape, seed=6 + number) for number, shape in enumerate(shapes)]
    joined = np.concatenate(hosts, axis)
    host_weights = trial.random(*joined.shape, seed=9)
    weights = trial.tensor(host_weights)
    tensors = [trial.tensor(host) for host in hosts]

    def body(concat: Callable[..., Any]) -> Any:
        return weighted_gradients(lambda *parts: concat(list(parts), axis), tensors, weights)

    output, slopes = trial.call_inside(body)
    trial.close(output, joined, dtype="float32")
    for slope, expected in zip(slopes, np.split(host_weights, 3, axis)):
        trial.close(slope, expected, dtype="float32")


def concat_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for parts of unknown lengths, joins parts of any lengths, an empty one too."""
    pairs = [((2, 3), (4, 3)), ((0, 5), (1, 5)), ((3, 1), (0, 1))]
    hosts = [(trial.random(*one, seed=10), trial.random(*two, seed=11)) for one, two in pairs]
    tensors = [(trial.tensor(one), trial.tensor(two)) for one, two in hosts]

    def body(concat: Callable[..., Any]) -> Any:
        join = traced(lambda one, two: concat([one, two], 0), [tf.TensorSpec([None, None], tf.float32)] * 2)
        return [join(*pair) for pair in tensors]

    for output, pair in zip(trial.call_inside(body), hosts):
        trial.close(output, np.concatenate(pair), dtype="float32")


# tf.tensor_scatter_nd_update


def _places(shape: Sizes, depth: int, count: int) -> Any:
    """Distinct places in the first ``depth`` axes, in no order."""
    cells = list(itertools.product(*map(range, shape[:depth])))
    order = np.random.RandomState(12).permutation(len(cells))[:count]
    return np.asarray([cells[number] for number in order], "int64").reshape(count, depth)


def _scattered(values: Any, places: Any, updates: Any) -> Any:
    expected = values.copy()
    for place, update in zip(
        places.reshape(-1, places.shape[-1]), updates.reshape(-1, *values.shape[places.shape[-1] :])
    ):
        expected[tuple(place)] = update
    return expected


def scatter_update(
    trial: Trial, shape: Sizes, depth: int, count: int, dtype: str = "float32", index_dtype: str = "int32"
) -> None:
    """The named places hold the updates, all others what they held, and the tensor that was given stays as it was."""
    places = _places(shape, depth, count)
    tensor = trial.tensor(trial.random(*shape, dtype=dtype, seed=13), dtype=dtype)
    rows = [count, *shape[depth:]]
    updates = trial.tensor(trial.random(*rows, dtype=dtype, seed=14), dtype=dtype)
    before = seen(trial, tensor)
    output = trial.call(tensor, trial.tensor(places, index_dtype), updates)
    trial.close(output, _scattered(before, places, seen(trial, updates)), dtype=dtype)
    trial.equal(tensor, before)


def scatter_blocks(trial: Trial) -> None:
    """Indices with axes of their own take updates with these axes in front."""
    places = _places([5, 4], 2, 6).reshape(2, 3, 2)
    host, host_updates = trial.random(5, 4, 3, seed=15), trial.random(2, 3, 3, seed=16)
    output = trial.call(trial.tensor(host), indices=trial.tensor(places), updates=trial.tensor(host_updates))
    trial.close(output, _scattered(host, places, host_updates), dtype="float32")


def scatter_strings(trial: Trial) -> None:
    """Strings, which only the host can hold, are replaced by strings of other lengths."""
    words = np.asarray([b"tensors", b"hold", b"", b"words"], dtype=object)
    updates = trial.tensor(np.asarray([b"several", b"can"], dtype=object), "string")
    output = trial.call(trial.tensor(words, "string"), trial.tensor(np.asarray([[2], [1]], "int32")), updates)
    trial.equal(output, np.asarray([b"tensors", b"can", b"several", b"words"], dtype=object))
    trial.equal(trial.dtype_name(output), "string")


def scatter_gradients(trial: Trial, dtype: str) -> None:
    """The incoming gradient goes to the updates at the named places, and to the tensor at all others."""
    places = _places([6], 1, 3)
    host, host_updates = trial.random(6, 2, dtype=dtype, seed=17), trial.random(3, 2, dtype=dtype, seed=18)
    host_weights = trial.random(6, 2, dtype=dtype, seed=19)
    indices, weights = trial.tensor(places), trial.tensor(host_weights)
    inputs = [trial.tensor(host), trial.tensor(host_updates)]

    def body(scatter: Callable[..., Any]) -> Any:
        return weighted_gradients(lambda x, updates: scatter(x, indices, updates), inputs, weights)

    output, (to_tensor, to_updates) = trial.call_inside(body)
    trial.close(output, _scattered(host, places, host_updates), dtype=dtype)
    trial.close(to_tensor, _scattered(host_weights, places, np.zeros_like(host_updates)), dtype=dtype)
    trial.close(to_updates, host_weights[places[:, 0]], dtype=dtype)


def scatter_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for unknown sizes, updates tensors of several sizes."""
    cases = [(5, 2), (40, 17), (3, 0)]
    hosts = [(trial.random(n, 4, seed=20), _places([n], 1, k), trial.random(k, 4, seed=21)) for n, k in cases]
    tensors = [tuple(map(trial.tensor, host)) for host in hosts]
    specs = [
        tf.TensorSpec([None, 4], tf.float32),
        tf.TensorSpec([None, 1], tf.int64),
        tf.TensorSpec([None, 4], tf.float32),
    ]

    def body(scatter: Callable[..., Any]) -> Any:
        apply = traced(lambda x, places, updates: scatter(x, places, updates), specs)
        return [apply(*given) for given in tensors]

    for output, host in zip(trial.call_inside(body), hosts):
        trial.close(output, _scattered(*host), dtype="float32")


# tf.linalg.set_diag


def _with_diagonals(matrix: Any, diagonals: Any, low: int, high: int, align: str) -> Any:
    """The documented layout: row d of the band holds diagonal high - d, set to the left or right of the row."""
    output = matrix.copy()
    rows, columns = matrix.shape[-2:]
    width = diagonals.shape[-1]
    above, below = align.split("_")
    for number, k in enumerate(range(high, low - 1, -1)):
        length = min(rows, columns - k) if k >= 0 else min(rows + k, columns)
        left = (k >= 0 and above == "LEFT") or (k <= 0 and below == "LEFT")
        start = 0 if left else width - length
        for step in range(length):
            row, column = (step, step + k) if k >= 0 else (step - k, step)
            output[..., row, column] = diagonals[..., number, start + step]
    return output


def set_diagonal(trial: Trial, shape: Sizes, dtype: str = "float32", k: int = 0) -> None:
    """One diagonal of each matrix is replaced; all else stays as it was."""
    rows, columns = shape[-2:]
    length = min(rows, columns - k) if k >= 0 else min(rows + k, columns)
    matrix = trial.tensor(trial.random(*shape, dtype=dtype, seed=22), dtype=dtype)
    diagonal = trial.tensor(trial.random(*shape[:-2], length, dtype=dtype, seed=23), dtype=dtype)
    output = trial.call(matrix, diagonal, k=k) if k else trial.call(matrix, diagonal)
    expected = _with_diagonals(seen(trial, matrix), seen(trial, diagonal)[..., None, :], k, k, "LEFT_LEFT")
    trial.close(output, expected, dtype=dtype)


def set_band(trial: Trial, shape: Sizes, low: int, high: int, align: str) -> None:
    """A band of diagonals is replaced, each read from the side of its row that ``align`` says."""
    rows, columns = shape[-2:]
    width = min(rows + min(high, 0), columns - max(low, 0))
    host = trial.random(*shape, seed=24)
    host_band = trial.random(*shape[:-2], high - low + 1, width, seed=25)
    output = trial.call(trial.tensor(host), trial.tensor(host_band), k=(low, high), align=align)
    trial.close(output, _with_diagonals(host, host_band, low, high, align), dtype="float32")


def set_diagonal_gradients(trial: Trial, dtype: str) -> None:
    """The incoming gradient's diagonal goes to the diagonal, the rest of it to the matrix."""
    host, host_diagonal = trial.random(2, 3, 4, dtype=dtype, seed=26), trial.random(2, 3, dtype=dtype, seed=27)
    host_weights = trial.random(2, 3, 4, dtype=dtype, seed=28)
    weights = trial.tensor(host_weights)

    def body(set_diag: Callable[..., Any], *inputs: Any) -> Any:
        return weighted_gradients(set_diag, inputs, weights)

    output, (to_matrix, to_diagonal) = trial.call_inside(body, trial.tensor(host), trial.tensor(host_diagonal))
    trial.close(output, _with_diagonals(host, host_diagonal[:, None], 0, 0, "LEFT_LEFT"), dtype=dtype)
    zeros = np.zeros([2, 1, 3], dtype)
    trial.close(to_matrix, _with_diagonals(host_weights, zeros, 0, 0, "LEFT_LEFT"), dtype=dtype)
    trial.close(to_diagonal, np.diagonal(host_weights, axis1=1, axis2=2), dtype=dtype)


def set_diagonal_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for matrices of unknown sizes, sets the diagonals of wide and of high ones."""
    shapes = [(2, 3, 5), (1, 6, 2), (3, 1, 1)]
    hosts = [(trial.random(*shape, seed=29), trial.random(shape[0], min(shape[1:]), seed=30)) for shape in shapes]
    tensors = [tuple(map(trial.tensor, host)) for host in hosts]

    def body(set_diag: Callable[..., Any]) -> Any:
        specs = [tf.TensorSpec([None, None, None], tf.float32), tf.TensorSpec([None, None], tf.float32)]
        apply = traced(lambda matrix, diagonal: set_diag(matrix, diagonal), specs)
        return [apply(*given) for given in tensors]

    for output, (matrix, diagonal) in zip(trial.call_inside(body), hosts):
        trial.close(output, _with_diagonals(matrix, diagonal[:, None], 0, 0, "LEFT_LEFT"), dtype="float32")


# tf.nn.space_to_batch


def _blocks_to_batch(values: Any, block: Sizes, paddings: Sequence[Sizes]) -> Any:
    """Each position within a block becomes a batch of its own: position first, then the old batch."""
    rank = len(block)
    padded = np.pad(values, [(0, 0), *map(tuple, paddings), *[(0, 0)] * (values.ndim - 1 - rank)])
    parts = [
        padded[(slice(None), *(slice(start, None, step) for start, step in zip(starts, block)))]
        for starts in itertools.product(*map(range, block))
    ]
    return np.concatenate(parts)


def space_to_batch(
    trial: Trial,
    shape: Sizes,
    block: Sizes,
    paddings: Sequence[Sizes],
    dtype: str = "float32",
    as_tensors: bool = False,
) -> None:
    """The batches hold the padded input's values at each position within a block."""
    values = trial.tensor(trial.random(*shape, dtype=dtype, seed=31), dtype=dtype)
    if as_tensors:
        given = trial.tensor(np.asarray(block, "int64")), trial.tensor(np.asarray(paddings, "int64"))
        output = trial.call(values, *given)
    else:
        output = trial.call(values, block_shape=list(block), paddings=[list(pair) for pair in paddings])
    trial.close(output, _blocks_to_batch(seen(trial, values), block, paddings), dtype=dtype)


def space_to_batch_gradient(trial: Trial, dtype: str) -> None:
    """The gradient puts each weight back to where its value came from; padding gets none."""
    shape, block, paddings = (2, 4, 5, 2), (2, 3), [[0, 0], [0, 1]]
    host = trial.random(*shape, dtype=dtype, seed=32)
    values = trial.tensor(host)
    host_weights = trial.random(12, 2, 2, 2, dtype=dtype, seed=33)
    weights = trial.tensor(host_weights)

    def body(to_batch: Callable[..., Any]) -> Any:
        return weighted_gradients(lambda x: to_batch(x, list(block), paddings), [values], weights)

    output, (slope,) = trial.call_inside(body)
    trial.close(output, _blocks_to_batch(host, block, paddings), dtype=dtype)
    # Numbered cells go through the same rearrangement: a zero is padding, else the number says where it came from.
    numbers = _blocks_to_batch(np.arange(1, host.size + 1).reshape(shape), block, paddings)
    expected = np.zeros(host.size + 1)
    expected[numbers.ravel()] = host_weights.ravel()
    trial.close(slope, expected[1:].reshape(shape), dtype=dtype)


def space_to_batch_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for images of unknown sizes, rearranges images of several."""
    shapes = [(1, 4, 6, 1), (3, 2, 2, 2), (0, 4, 2, 1)]
    hosts = [trial.random(*shape, seed=34) for shape in shapes]
    tensors = [trial.tensor(host) for host in hosts]

    def body(to_batch: Callable[..., Any]) -> Any:
        apply = traced(lambda x: to_batch(x, [2, 2], [[0, 0], [1, 1]]), [tf.TensorSpec([None] * 4, tf.float32)])
        return [apply(tensor) for tensor in tensors]

    for output, host in zip(trial.call_inside(body), hosts):
        trial.close(output, _blocks_to_batch(host, [2, 2], [[0, 0], [1, 1]]), dtype="float32")


# tf.sets.intersection


def _rows_in_both(first: Any, second: Any) -> tuple[list[list[int]], list[Any], list[int]]:
    """Indices, values and dense shape of the sparse tensor whose rows are the sorted intersections."""
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
    """A sparse tensor with every element of a dense one."""
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
) -> None:
    """Row by row the output holds, sorted and once each, what both rows hold; rows have duplicates and no order."""
    hosts = [
        trial.random(*shape, dtype=dtype, seed=35 + number, low=0, high=values)
        for number, shape in enumerate((first, second))
    ]
    given = [
        _sparse(trial, host, dtype) if as_sparse else trial.tensor(host, dtype)
        for host, as_sparse in zip(hosts, sparse)
    ]
    _check_sets(trial, trial.call(*given), _rows_in_both(*hosts), dtype)


def intersection_strings(trial: Trial) -> None:
    """Sets of strings, sorted by bytes; the sets need not be checked if the caller says so."""
    first = np.asarray([[b"b", b"a", b"zz"], [b"x", b"y", b"x"]], dtype=object)
    second = np.asarray([[b"zz", b"b"], [b"q", b"a"]], dtype=object)
    output = trial.call(trial.tensor(first, "string"), trial.tensor(second, "string"), validate_indices=False)
    _check_sets(trial, output, _rows_in_both(first, second), "string")


def intersection_of_unequal_sets(trial: Trial) -> None:
    """Sparse rows may hold sets of any size, none at all too."""
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


# tf.Tensor.get_shape


def shape_of(trial: Trial, shape: Sizes, dtype: str = "float32") -> None:
    """The static shape of a tensor, as a TensorShape with its sizes, rank and number of elements."""
    found = trial.call(trial.tensor(trial.random(*shape, dtype=dtype, seed=38), dtype=dtype))
    trial.check(isinstance(found, tf.TensorShape), f"expected a TensorShape, got {type(found).__name__}")
    trial.equal(found.as_list(), list(shape))
    trial.equal(found.rank, len(shape))
    trial.equal(found.num_elements(), int(np.prod(shape)))
    trial.check(found.is_fully_defined(), f"the shape of an eager tensor is known, not {found}")


def shape_in_function(trial: Trial) -> None:
    """While a function is traced a shape is known as far as its signature says, and follows from there."""
    values = trial.tensor(trial.random(2, 3, 4, seed=39))

    def body(get_shape: Callable[..., Any]) -> Any:
        found: list[Any] = []

        def trace(x: Any) -> Any:
            found.extend(
                get_shape(tensor) for tensor in (x, tf.transpose(x), tf.reduce_sum(x, 1), tf.reshape(x, [-1, 6]), x[0])
            )
            return x

        traced(trace, [tf.TensorSpec([None, 3, None], tf.float32)])(values)
        return found

    found = trial.call_inside(body)
    expected = [[None, 3, None], [None, 3, None], [None, None], [None, 6], [3, None]]
    trial.equal([shape.as_list() for shape in found], expected)
    trial.equal([shape.is_fully_defined() for shape in found], [False] * 5)


def shape_of_unknown_rank(trial: Trial) -> None:
    """A tensor of unknown rank has a shape that says so, until ``set_shape`` says more."""
    values = trial.tensor(trial.random(2, 3, seed=40))

    def body(get_shape: Callable[..., Any]) -> Any:
        found: list[Any] = []

        def trace(x: Any) -> Any:
            found.append(get_shape(x))
            x.set_shape([2, None])
            found.append(get_shape(x))
            return x

        traced(trace, [tf.TensorSpec(None, tf.float32)])(values)
        return found

    unknown, refined = trial.call_inside(body)
    trial.check(unknown.rank is None, f"expected an unknown rank, got {unknown}")
    trial.equal(refined.as_list(), [2, None])


def shape_in_graph(trial: Trial) -> None:
    """In a graph of the first TensorFlow a placeholder has the shape that it was made with, and sums follow from it."""
    with tf.Graph().as_default(), tf.device(trial.device):
        fed = tf.compat.v1.placeholder(tf.float32, [None, 5])
        total = tf.reduce_sum(fed, axis=0, keepdims=True)
        open_ended = tf.compat.v1.placeholder(tf.float32)
    trial.equal(trial.call(fed).as_list(), [None, 5])
    trial.equal(trial.call(total).as_list(), [1, 5])
    trial.check(trial.call(open_ended).rank is None, "a placeholder without a shape has no rank")


# tf.dtypes.as_dtype


def _check_dtype_object(trial: Trial, found: Any, expected: str) -> None:
    known = getattr(tf, expected)
    trial.check(isinstance(found, tf.DType), f"expected a DType, got {type(found).__name__}")
    trial.equal(found.name, expected)
    trial.check(found == known and found is known, f"{found!r} is not tf.{expected}")
    made = trial.tensor(np.ones([2]), dtype=expected) if expected not in ("string", "resource", "variant") else None
    if made is not None:
        trial.check(made.dtype == found, f"a tensor of {expected} has the dtype {made.dtype}")


def dtype_of_name(trial: Trial, name: str, expected: str) -> None:
    """A name, also a short one, stands for the dtype object of which there is one."""
    _check_dtype_object(trial, trial.call(name), expected)


def dtype_of_numpy(trial: Trial, name: str) -> None:
    """NumPy's scalar types and dtype objects stand for the dtype of the same name, and lead back."""
    for given in (getattr(np, "bool_" if name == "bool" else name), np.dtype(name)):
        found = trial.call(given)
        _check_dtype_object(trial, found, name)
        trial.equal(np.dtype(found.as_numpy_dtype).name, name)


def dtype_of_number(trial: Trial, number: int, expected: str) -> None:
    """The number that the protocol buffers use stands for its dtype, and leads back."""
    found = trial.call(number)
    _check_dtype_object(trial, found, expected)
    trial.equal(found.as_datatype_enum, number)


def dtype_of_python(trial: Trial) -> None:
    """Python's float and bool are float32 and bool; object is string."""
    for given, expected in ((float, "float32"), (bool, "bool"), (object, "string")):
        _check_dtype_object(trial, trial.call(given), expected)


def dtype_of_dtype(trial: Trial, name: str) -> None:
    """A DType stands for itself; the reference type of the first TensorFlow has it as its base."""
    given = getattr(tf, name)
    _check_dtype_object(trial, trial.call(given), name)
    reference = trial.call(name + "_ref")
    trial.equal(reference.name, name + "_ref")
    _check_dtype_object(trial, reference.base_dtype, name)
