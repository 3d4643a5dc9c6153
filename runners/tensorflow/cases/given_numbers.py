"""Sizes, bounds and values that are numbers of NumPy or tensors, where Python's are usual."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def ranges(trial: Trial) -> None:
    """Bounds and steps of NumPy keep all digits and their dtype, alone and beside tensors of the same dtype; changed
    arrays of no axes give the new numbers."""
    large, third = 2**53 + 1, 1 / 3
    whole, real = trial.tensor(np.asarray(large + 9)), trial.tensor(np.asarray(3.0 + third))
    cases = [
        ((np.int64(large), np.int64(large + 7), np.int64(3)), "int64"),
        ((np.int64(large), whole), "int64"),
        ((np.float64(third), np.float64(3), np.float64(0.7)), "float64"),
        ((np.float64(third), real, np.float64(0.7)), "float64"),
        ((np.float32(0.1), np.float32(2), np.float32(0.3)), "float32"),
        ((np.int32(16777217), np.int32(16777222)), "int32"),
    ]
    for given, dtype in cases:
        numbers = [np.asarray(trial.numpy(each)).item() for each in given]
        trial.close(trial.call(*given), np.arange(*numbers), dtype=dtype)
    bound = np.asarray(4)
    trial.repeatable = False
    for size in (4, 7, 0):
        bound[...] = size
        trial.exact(trial.call(bound), np.arange(size), "int64")


def sizes(trial: Trial, fills: bool, dtype: str) -> None:
    """Sizes are numbers of NumPy, tensors of one number, in lists and tuples, a shape, or an array that has changed
    since it was given."""
    two, three = trial.tensor(np.asarray(2, "int32")), trial.tensor(np.asarray(3, "int64"))
    kind = trial.dtype(dtype)
    # As float64, which has all values of bfloat16.
    host = np.asarray(trial.numpy(trial.tensor(np.asarray(-2.625), dtype)), "float64") if fills else np.float64(0)
    value = trial.tensor(host, dtype)

    def check(size: Any, expected: Any) -> None:
        output = trial.call(size, value) if fills else trial.call(size, kind)
        trial.exact(output, np.full(expected, host), dtype)

    check([np.int64(2), np.int32(3)], (2, 3))
    check((two, 3), (2, 3))
    check([2, three], (2, 3))
    check(tf.TensorShape([2, 0, 3]), (2, 0, 3))
    check(np.asarray([], "int32"), ())
    array = np.asarray([4, 1])
    trial.repeatable = False
    for changed in ([4, 1], [1, 4], [3, 70]):
        array[...] = changed
        check(array, tuple(changed))


def shapes(trial: Trial, count: int) -> None:
    """A tensor of a graph has a shape of many axes, sizes beyond 2**32, and what is found out later is seen in the next
    call, not in the shape that was returned before."""
    sizes: list[Any] = [[None, 2**40 + 1, 1, 7][n % 4] for n in range(count)]
    sizes[-1] = 11

    def body(get_shape: Callable[..., Any]) -> Any:
        with tf.Graph().as_default(), tf.device(trial.device):
            found = tf.compat.v1.placeholder(tf.float32, sizes)
            unknown = tf.compat.v1.placeholder(tf.float32)
            first = [get_shape(found), get_shape(unknown)]
            found.set_shape([5, *[None] * (count - 1)])
            unknown.set_shape([None] * 3)
            middle = get_shape(unknown)
            unknown.set_shape([None, 2**33, None])
            return first, [get_shape(found), middle, get_shape(unknown)]

    first, later = trial.call_inside(body)
    trial.equal(first[0].as_list(), sizes)
    trial.equal(first[1].rank, None)
    trial.equal(later[0].as_list(), [5, *sizes[1:]])
    trial.equal([each.as_list() for each in later[1:]], [[None] * 3, [None, 2**33, None]])


def filled(trial: Trial) -> None:
    """The value may be a number of Python or NumPy, an array or list without axes, a text, a truth or a variable: it is
    converted as tf.convert_to_tensor does, with all digits. An array may be changed afterwards."""
    given: list[Any] = [
        (2.5, "float32", 2.5),
        (3, "int32", 3),
        (True, "bool", True),
        (np.float64(0.1), "float64", 0.1),
        (np.float32(0.1), "float32", np.float32(0.1)),
        (np.float16(0.1), "float16", np.float16(0.1)),
        (np.int8(-7), "int8", -7),
        (np.uint64(2**64 - 1), "uint64", np.uint64(2**64 - 1)),
        (np.int64(2**53 + 1), "int64", 2**53 + 1),
        (np.bool_(True), "bool", True),
        (np.complex64(1.5 - 2j), "complex64", 1.5 - 2j),
        (np.asarray(0.1), "float64", 0.1),
        (np.asarray(-9, "int16"), "int16", -9),
        (tf.Variable(trial.tensor(np.asarray(0.1))), "float64", 0.1),
    ]
    for value, dtype, expected in given:
        trial.exact(trial.call([2, 3], value), np.full([2, 3], expected, dtype), dtype)
        trial.exact(trial.call([], value), np.full([], expected, dtype), dtype)
        trial.exact(trial.call(dims=(0, 2), value=value), np.zeros([0, 2], dtype), dtype)
    array = np.asarray(1.5)
    trial.repeatable = False
    outputs = []
    for changed in (1.5, 2.5, -3.5):
        array[...] = changed
        outputs.append(trial.call([4], array))
    for output, changed in zip(outputs, (1.5, 2.5, -3.5)):
        trial.exact(output, np.full([4], changed), "float64")
