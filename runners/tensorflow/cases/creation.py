"""Creating tensors: constant, convert_to_tensor, fill, zeros, range, sequence_mask, diagflat."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import seen, traced, weighted_gradients

Sizes = Sequence[int]


def from_array(trial: Trial, shape: Sizes, dtype: str) -> None:
    """A host NumPy array becomes a tensor on the target with its dtype, shape and values."""
    kind = trial.dtype(dtype).as_numpy_dtype
    host = trial.random(*shape, dtype=dtype, seed=1).astype(kind)
    output = trial.call(host)
    wide = host.astype("complex128" if dtype.startswith("complex") else "float64" if "float" in dtype else dtype)
    trial.exact(output, wide, dtype)


def from_text(trial: Trial) -> None:
    """Python strings and bytes become byte strings in UTF-8."""
    output = trial.call([["tensor", b"flow"], ["", "Zürich"]])
    trial.equal(trial.dtype_name(output), "string")
    trial.equal(output, np.asarray([[b"tensor", b"flow"], [b"", "Zürich".encode()]], dtype=object))


# tf.constant


def constant_in_function(trial: Trial) -> None:
    """In a tf.function a constant is part of the graph: created once, used in each call."""
    host = trial.random(3, 2, seed=2)
    steps = [trial.tensor(np.float32(step)) for step in (1.5, -2.0)]

    def body(constant: Callable[..., Any]) -> Any:
        kinds: list[bool] = []

        def apply(x: Any) -> Any:
            made = constant(host)
            kinds.append(tf.is_tensor(made))
            return made + x

        add = traced(apply, [tf.TensorSpec([], tf.float32)])
        return [add(step) for step in steps], kinds

    outputs, kinds = trial.call_inside(body)
    trial.equal(kinds, [True])
    for output, step in zip(outputs, (1.5, -2.0)):
        trial.close(output, host.astype("float64") + step, dtype="float32")


# tf.convert_to_tensor


class _ArrayLike:
    """An object that NumPy can convert."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._array if dtype is None else self._array.astype(dtype)


def converts_array_like(trial: Trial) -> None:
    """An object with ``__array__`` is converted as the array that it returns."""
    host = trial.random(2, 3, dtype="float64", seed=4)
    trial.exact(trial.call(_ArrayLike(host)), host, "float64")


def keeps_tensor(trial: Trial, dtype: str) -> None:
    """A tensor is returned unchanged, with or without its own dtype requested; a hint does not change it."""
    host = trial.random(2, 3, dtype=dtype, seed=5)
    tensor = trial.tensor(host)
    for output in (trial.call(tensor), trial.call(tensor, dtype=tensor.dtype), trial.call(tensor, dtype_hint=tf.int32)):
        trial.check(output is tensor, "the tensor was converted, expected the same object")
        trial.exact(output, host, dtype)


def converts_variable(trial: Trial) -> None:
    """A variable is converted to its current value."""
    first, second = trial.random(3, 4, seed=6), trial.random(3, 4, seed=7)
    variable = tf.Variable(trial.tensor(first))
    before = trial.call(variable)
    variable.assign(trial.tensor(second))
    after = trial.call(variable)
    for output, expected in ((before, first), (after, second)):
        trial.check(not isinstance(output, tf.Variable), "the result is a variable, expected a plain tensor")
        trial.exact(output, expected, "float32")


def converts_hinted(trial: Trial) -> None:
    """A hint decides on the dtype if the values allow it, and is ignored otherwise."""
    trial.close(trial.call([1, 2, 3], dtype_hint=tf.float64), [1.0, 2.0, 3.0], dtype="float64")
    trial.close(trial.call([1.5, 2.0], dtype_hint=tf.int32), [1.5, 2.0], dtype="float32")


def stacks_tensors(trial: Trial) -> None:
    """A list of tensors and numbers becomes one tensor, and gradients flow to each of them."""
    hosts = [np.float32(1.5), np.float32(-2.25)]
    host_weights = np.asarray([3.0, 5.0, 7.0], "float32")
    weights = trial.tensor(host_weights)

    def body(convert: Callable[..., Any], *inputs: Any) -> Any:
        return weighted_gradients(lambda one, two: convert([one, 4.0, two]), inputs, weights)

    output, slopes = trial.call_inside(body, *map(trial.tensor, hosts))
    trial.close(output, [1.5, 4.0, -2.25], dtype="float32")
    for slope, expected in zip(slopes, (3.0, 7.0)):
        trial.close(slope, expected, dtype="float32")


# tf.fill and tf.zeros


def fill_text(trial: Trial) -> None:
    """A tensor can be filled with a string."""
    output = trial.call([2, 3], "word")
    trial.equal(trial.dtype_name(output), "string")
    trial.equal(output, np.full([2, 3], b"word", dtype=object))


def fill_computed(trial: Trial) -> None:
    """Sizes and value can both be tensors that are known only when the function runs."""
    cases = [([2, 3], 1.5), ([0, 4], 2.0), ([7, 1], -3.25)]
    tensors = [(trial.tensor(np.asarray(dims, "int32")), trial.tensor(np.float32(value))) for dims, value in cases]

    def body(fill: Callable[..., Any]) -> Any:
        specs = [tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.float32)]
        make = traced(lambda dims, value: fill(dims, value), specs)
        return [make(*given) for given in tensors]

    for output, (dims, value) in zip(trial.call_inside(body), cases):
        trial.close(output, np.full(dims, value), dtype="float32")


def fill_gradient(trial: Trial, dtype: str, dims: Sizes = (4, 5)) -> None:
    """The gradient of the value is the sum of the incoming one."""
    host_weights = trial.random(*dims, dtype=dtype, seed=8)
    weights = trial.tensor(host_weights)
    value = trial.tensor(np.asarray(0.75, dtype))

    def body(fill: Callable[..., Any]) -> Any:
        return weighted_gradients(lambda x: fill(list(dims), x), [value], weights)

    output, (slope,) = trial.call_inside(body)
    trial.close(output, np.full(dims, 0.75), dtype=dtype)
    trial.close(slope, host_weights.astype("float64").sum(), dtype=dtype)


def zeros_text(trial: Trial) -> None:
    """The zero of strings is the empty string."""
    output = trial.call([2, 2], tf.string)
    trial.equal(trial.dtype_name(output), "string")
    trial.equal(output, np.full([2, 2], b"", dtype=object))


def zeros_computed(trial: Trial) -> None:
    """The shape can be a tensor that is known only when the function runs, or a TensorShape."""
    shapes = [[2, 3], [0], [1, 4, 2]]
    tensors = [trial.tensor(np.asarray(shape, "int64")) for shape in shapes]

    def body(zeros: Callable[..., Any]) -> Any:
        make = traced(lambda shape: zeros(shape, tf.float64), [tf.TensorSpec([None], tf.int64)])
        return [*map(make, tensors), zeros(tf.TensorShape([3, 2]), tf.float64)]

    for output, shape in zip(trial.call_inside(body), [*shapes, [3, 2]]):
        trial.close(output, np.zeros(shape), dtype="float64")


def zeros_are_written(trial: Trial) -> None:
    """Zeros can be updated by addition: they do not share memory."""
    host = trial.random(50, 40, seed=9)
    output = trial.call([50, 40])
    trial.close(output, np.zeros([50, 40]), dtype="float32")
    trial.close(output + trial.tensor(host), host, dtype="float32")
    trial.close(output, np.zeros([50, 40]), dtype="float32")


# tf.range


def range_computed(trial: Trial, dtype: str) -> None:
    """Start, limit and step, and so the length, can be tensors that are known only when the function runs."""
    cases = [(0, 6, 1), (3, 18, 4), (10, -5, -3), (5, 5, 2)]
    tensors = [[trial.tensor(np.asarray(part, dtype)) for part in case] for case in cases]

    def body(make_range: Callable[..., Any]) -> Any:
        count = traced(
            lambda start, limit, delta: make_range(start, limit, delta), [tf.TensorSpec([], trial.dtype(dtype))] * 3
        )
        return [count(*given) for given in tensors]

    for output, case in zip(trial.call_inside(body), cases):
        trial.close(output, np.arange(*case), dtype=dtype)


# tf.sequence_mask


def mask(trial: Trial, lengths: Any, maxlen: Any = None, dtype: str = "", lengths_dtype: str = "int32") -> None:
    """In each row the first elements, as many as its length, are true (or one), the others false (or zero)."""
    host = np.asarray(lengths, lengths_dtype)
    options = {}
    if maxlen is not None:
        options["maxlen"] = maxlen
    if dtype:
        options["dtype"] = trial.dtype(dtype)
    output = trial.call(trial.tensor(host), **options)
    width = int(host.max(initial=0)) if maxlen is None else maxlen
    expected = np.arange(width) < host[..., None]
    trial.exact(output, expected if not dtype else expected.astype("float64"), dtype or "bool")


def mask_large(trial: Trial, rows: int, width: int, dtype: str) -> None:
    """Many random lengths, up to the width and beyond."""
    host = trial.random(rows, dtype="int64", seed=10, low=0, high=width + 20)
    output = trial.call(trial.tensor(host), width, trial.dtype(dtype))
    trial.exact(output, (np.arange(width) < host[:, None]).astype("float64"), dtype)


def mask_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for lengths of unknown shape, makes masks as wide as the longest of each."""
    cases = [[3, 1, 0], [[2, 5], [7, 1]], [4]]
    tensors = [trial.tensor(np.asarray(case, "int64")) for case in cases]

    def body(sequence_mask: Callable[..., Any]) -> Any:
        make = traced(lambda lengths: sequence_mask(lengths), [tf.TensorSpec(None, tf.int64)])
        return [make(tensor) for tensor in tensors]

    for output, case in zip(trial.call_inside(body), cases):
        host = np.asarray(case)
        trial.close(output, np.arange(host.max()) < host[..., None], dtype="bool")


# tf.experimental.numpy.diagflat


def diagflat_gradient(trial: Trial, k: int) -> None:
    """The gradient is the incoming one's diagonal, in the input's shape."""
    host = trial.random(2, 3, seed=11)
    size = 6 + abs(k)
    host_weights = trial.random(size, size, seed=12)
    weights = trial.tensor(host_weights)

    def body(diagflat: Callable[..., Any], values: Any) -> Any:
        return weighted_gradients(lambda x: diagflat(x, k), [values], weights)

    output, (slope,) = trial.call_inside(body, trial.tensor(host))
    trial.close(output, np.diagflat(host, k), dtype="float32")
    trial.close(slope, np.diagonal(host_weights, k).reshape(2, 3), dtype="float32")


def diagflat_rounded(trial: Trial, dtype: str) -> None:
    """The diagonal of the square matrix holds exactly the values, and all else is zero."""
    values = trial.tensor(trial.random(3, 5, dtype=dtype, seed=13), dtype=dtype)
    trial.exact(trial.call(values, k=1), np.diagflat(seen(trial, values), 1), dtype)
