"""Arguments with arrays of the dtype of a test, the same in each process."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.counterparts import exact_in_half

_SEED = 20230401

DTYPE = "the dtype of the test"
"""In the place of an argument that is this dtype."""


class Drawn(NamedTuple):
    """An array with different values between ``low`` and ``high``; small ones for integers. ``form`` is dense, sparse
    or ragged."""

    shape: Sequence[int]
    low: float = -0.9
    high: float = 0.9
    form: str = "dense"

    def made(self, dtype: str, random: Any) -> Any:
        array = _array(self, tf.as_dtype(dtype), random)
        if self.form == "sparse":
            return tf.sparse.from_dense(array)
        return tf.RaggedTensor.from_tensor(array) if self.form == "ragged" else array


def _array(drawn: Drawn, dtype: tf.DType, random: Any) -> Any:
    size = int(np.prod(drawn.shape, dtype=int))
    places = random.permutation(size)
    found: Any
    if dtype == tf.string:
        return np.array([str(place) for place in places], object).reshape(drawn.shape)
    if dtype.is_bool:
        found = places % 2 == 0
    elif dtype.is_integer:
        found = places % 7 - (3 if dtype.min < 0 and drawn.low < 0 else 0)
    else:
        found = drawn.low + (places + 0.5) / max(1, size) * (drawn.high - drawn.low)
        if dtype.size == 2 and drawn.low < 0:
            found = exact_in_half(found)
    found = np.asarray(found).reshape(drawn.shape)
    if len(drawn.shape) == 2 and drawn.shape[0] == drawn.shape[1] and not dtype.is_bool:
        # Symmetric, with a dominant diagonal: it has an inverse and a Cholesky factor.
        found = found + found.T + np.diag(np.arange(2, 2 + drawn.shape[0]) * 4)
    return found.astype(dtype.as_numpy_dtype)


def made(value: Any, dtype: str) -> Any:
    """A nested argument, or several, for a test in this dtype: with arrays, sparse and ragged tensors."""
    return _made(value, dtype, np.random.RandomState(_SEED))


def _made(value: Any, dtype: str, random: Any) -> Any:
    if isinstance(value, Drawn):
        return value.made(dtype, random)
    if isinstance(value, dict):
        return {key: _made(each, dtype, random) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_made(each, dtype, random) for each in value)
    return dtype if isinstance(value, str) and value == DTYPE else value


def is_drawn(value: Any) -> bool:
    """Whether a nested argument depends on the dtype of the test."""
    if isinstance(value, Drawn) or (isinstance(value, str) and value == DTYPE):
        return True
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, (list, tuple)) and any(map(is_drawn, value))


def combined(choices: Sequence[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """Every combination of one choice for each argument. First those of equal places, with the last choice where an
    argument has fewer; then by the sum of the places, so that no argument keeps its first choice for long."""
    if not all(choices):
        return
    for place in range(max(map(len, choices), default=0)):
        yield [each[min(place, len(each) - 1)] for each in choices]
    for total in range(sum(len(each) - 1 for each in choices) + 1):
        yield from _with_sum(choices, total)


def _with_sum(choices: Sequence[Sequence[Any]], total: int) -> Iterator[Sequence[Any]]:
    if not choices:
        if total == 0:
            yield []
        return
    for place, value in enumerate(choices[0][: total + 1]):
        for rest in _with_sum(choices[1:], total - place):
            yield [value, *rest]
