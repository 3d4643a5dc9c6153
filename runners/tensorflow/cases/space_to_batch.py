"""tf.nn.space_to_batch, compared with slices in NumPy."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import seen, traced, weighted_gradients

Sizes = Sequence[int]


def blocks_to_batch(values: Any, block: Sizes, paddings: Sequence[Sizes]) -> Any:
    """Give each position in a block its own batch: position first, then the old batch."""
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
    special: str | None = None,
) -> None:
    """The batches hold the padded input's values at each position in a block."""
    values = trial.tensor(trial.random(*shape, dtype=dtype, seed=31, special=special), dtype=dtype)
    if as_tensors:
        given = trial.tensor(np.asarray(block, "int64")), trial.tensor(np.asarray(paddings, "int64"))
        output = trial.call(values, *given)
    else:
        output = trial.call(values, block_shape=list(block), paddings=[list(pair) for pair in paddings])
    trial.exact(output, blocks_to_batch(seen(trial, values), block, paddings), dtype)


def space_to_batch_gradient(trial: Trial, dtype: str) -> None:
    """The gradient returns each weight to its value's place; padding gets none."""
    shape, block, paddings = (2, 4, 5, 2), (2, 3), [[0, 0], [0, 1]]
    host = trial.random(*shape, dtype=dtype, seed=32)
    values = trial.tensor(host)
    host_weights = trial.random(12, 2, 2, 2, dtype=dtype, seed=33)
    weights = trial.tensor(host_weights)

    def body(to_batch: Callable[..., Any]) -> Any:
        return weighted_gradients(lambda x: to_batch(x, list(block), paddings), [values], weights)

    output, (slope,) = trial.call_inside(body)
    trial.close(output, blocks_to_batch(host, block, paddings), dtype=dtype)
    # Numbered cells are rearranged in the same way: zero is padding, other numbers are the original place.
    numbers = blocks_to_batch(np.arange(1, host.size + 1).reshape(shape), block, paddings)
    expected = np.zeros(host.size + 1)
    expected[numbers.ravel()] = host_weights.ravel()
    trial.close(slope, expected[1:].reshape(shape), dtype=dtype)


def space_to_batch_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for images of unknown sizes, rearranges images of several sizes."""
    shapes = [(1, 4, 6, 1), (3, 2, 2, 2), (0, 4, 2, 1)]
    hosts = [trial.random(*shape, seed=34) for shape in shapes]
    tensors = [trial.tensor(host) for host in hosts]

    def body(to_batch: Callable[..., Any]) -> Any:
        apply = traced(lambda x: to_batch(x, [2, 2], [[0, 0], [1, 1]]), [tf.TensorSpec([None] * 4, tf.float32)])
        return [apply(tensor) for tensor in tensors]

    for output, host in zip(trial.call_inside(body), hosts):
        trial.close(output, blocks_to_batch(host, [2, 2], [[0, 0], [1, 1]]), dtype="float32")
