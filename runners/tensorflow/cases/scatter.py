"""tf.tensor_scatter_nd_update, compared with assignments in NumPy."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.compare import check_dtype
from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import seen, traced, weighted_gradients

Sizes = Sequence[int]


def _places(shape: Sizes, depth: int, count: int) -> Any:
    """Return distinct places in the first ``depth`` axes, in random order."""
    cells = list(itertools.product(*map(range, shape[:depth])))
    order = np.random.RandomState(12).permutation(len(cells))[:count]
    return np.asarray([cells[number] for number in order], "int64").reshape(count, depth)


def scattered(values: Any, places: Any, updates: Any) -> Any:
    expected = values.copy()
    for place, update in zip(
        places.reshape(-1, places.shape[-1]), updates.reshape(-1, *values.shape[places.shape[-1] :])
    ):
        expected[tuple(place)] = update
    return expected


def scatter_update(
    trial: Trial,
    shape: Sizes,
    depth: int,
    count: int,
    dtype: str = "float32",
    index_dtype: str = "int32",
    special: str | None = None,
) -> None:
    """The given places hold the updates, all others are unchanged, and the input tensor is unchanged."""
    places = _places(shape, depth, count)
    tensor = trial.tensor(trial.random(*shape, dtype=dtype, seed=13, special=special), dtype=dtype)
    rows = [count, *shape[depth:]]
    updates = trial.tensor(trial.random(*rows, dtype=dtype, seed=14, special=special), dtype=dtype)
    before = seen(trial, tensor)
    output = trial.call(tensor, trial.tensor(places, index_dtype), updates)
    trial.exact(output, scattered(before, places, seen(trial, updates)), dtype)
    trial.equal(tensor, before)


def scatter_grids(trial: Trial, shape: Sizes, depth: int, blocks: Sizes, dtype: str = "float32") -> None:
    """Indices may have any number of axes: the updates have the same, and then those of a slice."""
    places = _places(shape, depth, int(np.prod(blocks))).reshape(*blocks, depth)
    tensor = trial.tensor(trial.random(*shape, dtype=dtype, seed=15), dtype=dtype)
    updates = trial.tensor(trial.random(*blocks, *shape[depth:], dtype=dtype, seed=16), dtype=dtype)
    before = seen(trial, tensor)
    output = trial.call(tensor, trial.tensor(places, "int32"), updates)
    trial.exact(output, scattered(before, places, seen(trial, updates)), dtype)


def scatter_blocks(trial: Trial) -> None:
    """Indices with more axes take updates with these axes first."""
    places = _places([5, 4], 2, 6).reshape(2, 3, 2)
    host, host_updates = trial.random(5, 4, 3, seed=15), trial.random(2, 3, 3, seed=16)
    output = trial.call(trial.tensor(host), indices=trial.tensor(places), updates=trial.tensor(host_updates))
    trial.close(output, scattered(host, places, host_updates), dtype="float32")


def scatter_strings(trial: Trial) -> None:
    """Strings, which only the host can hold, are replaced by strings of other lengths."""
    words = np.asarray([b"tensors", b"hold", b"", b"words"], dtype=object)
    updates = trial.tensor(np.asarray([b"several", b"can"], dtype=object), "string")
    output = trial.call(trial.tensor(words, "string"), trial.tensor(np.asarray([[2], [1]], "int32")), updates)
    trial.equal(output, np.asarray([b"tensors", b"can", b"several", b"words"], dtype=object))
    trial.equal(trial.dtype_name(output), "string")


def scatter_gradients(trial: Trial, dtype: str, shape: Sizes = (6, 2), depth: int = 1, blocks: Sizes = (3,)) -> None:
    """The incoming gradient goes to the updates at the given places, and to the tensor at all others."""
    places = _places(shape, depth, int(np.prod(blocks))).reshape(*blocks, depth)
    host = trial.random(*shape, dtype=dtype, seed=17)
    host_updates = trial.random(*blocks, *shape[depth:], dtype=dtype, seed=18)
    host_weights = trial.random(*shape, dtype=dtype, seed=19)
    indices, weights = trial.tensor(places), trial.tensor(host_weights)
    inputs = [trial.tensor(host), trial.tensor(host_updates)]

    def body(scatter: Callable[..., Any]) -> Any:
        return weighted_gradients(lambda x, updates: scatter(x, indices, updates), inputs, weights)

    output, (to_tensor, to_updates) = trial.call_inside(body)
    trial.close(output, scattered(host, places, host_updates), dtype=dtype)
    trial.close(to_tensor, scattered(host_weights, places, np.zeros_like(host_updates)), dtype=dtype)
    trial.close(to_updates, host_weights[tuple(np.moveaxis(places, -1, 0))], dtype=dtype)


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
        trial.close(output, scattered(*host), dtype="float32")


def scatter_far(trial: Trial, dtype: str, index_dtype: str) -> None:
    """Places beyond those that float32 can count are different places."""
    size = 2**24 + 8
    places = np.asarray([[2**24 + 1], [2**24 + 3], [0], [2**24 + 6], [2**16], [2**24 - 1]])
    host_updates = trial.random(len(places), dtype=dtype, seed=22, low=1, high=100)
    output = trial.call(
        tf.zeros([size], trial.dtype(dtype)), trial.tensor(places, index_dtype), trial.tensor(host_updates)
    )
    check_dtype(trial.dtype_name(output), dtype)
    found = trial.numpy(output)
    trial.equal(found[places[:, 0]], host_updates)
    trial.equal([np.count_nonzero(found), list(output.shape)], [len(places), [size]])
