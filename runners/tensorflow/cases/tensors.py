"""tf.reshape, tf.concat and tf.Tensor.get_shape.

Also helpers of the other modules: weighted gradients, and tracing for tensors of unknown shape.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing import references
from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

Sizes = Sequence[int]


def weighted_gradients(call: Callable[..., Any], inputs: Sequence[Any], weights: Any) -> Any:
    """Return ``call(*inputs)`` and the gradients of the sum of weights times output for each input."""
    with tf.GradientTape() as tape:
        tape.watch(list(inputs))
        output = call(*inputs)
        total = tf.reduce_sum(weights * output)
    return output, tape.gradient(total, list(inputs))


def traced(call: Callable[..., Any], specs: Sequence[Any]) -> Any:
    """Return a tf.function that is traced once for tensors of the given specs."""
    return tf.function(call, input_signature=list(specs), autograph=False)


def seen(trial: Trial, tensor: Any) -> Any:
    """Return the values of a tensor as the function sees them, floating ones in float64."""
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
    """One tf.function, traced for tensors of unknown sizes (or rank), matches NumPy for each size."""
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
    """The new shape can be a tensor that is known only when the function runs."""
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


# tf.concat


def concat_strings(trial: Trial) -> None:
    """Tensors of strings are joined."""
    first = np.asarray([[b"a", b"bc"]], dtype=object)
    second = np.asarray([[b"", b"d"], [b"ef", b"g"]], dtype=object)
    output = trial.call([trial.tensor(first, "string"), trial.tensor(second, "string")], 0)
    trial.equal(output, np.concatenate([first, second]))
    trial.equal(trial.dtype_name(output), "string")


def concat_gradient(trial: Trial, axis: int) -> None:
    """Each part gets its own slice of the incoming gradient; a part that is joined twice gets the sum of both."""
    sizes = (3, 1, 5)
    hosts = [np.moveaxis(trial.random(size, 2, seed=6 + number), 0, axis) for number, size in enumerate(sizes)]
    joined = np.concatenate([*hosts, hosts[0]], axis)
    host_weights = trial.random(*joined.shape, seed=9)
    weights = trial.tensor(host_weights)
    tensors = [trial.tensor(host) for host in hosts]

    def body(concat: Callable[..., Any]) -> Any:
        return weighted_gradients(lambda *parts: concat([*parts, parts[0]], axis), tensors, weights)

    output, slopes = trial.call_inside(body)
    trial.close(output, joined, dtype="float32")
    first, *others, last = np.split(host_weights, np.cumsum(sizes), axis)
    for slope, expected in zip(slopes, [first + last, *others]):
        trial.close(slope, expected, dtype="float32")


def concat_many(trial: Trial, count: int, axis: int, others: Sequence[int] = (3,), length: int | None = None) -> None:
    """Many parts of one ``length``, or of different ones, some empty, are joined in order; ``others`` are the sizes of
    the other axes."""
    lengths = [number % 4 if length is None else length for number in range(count)]
    hosts = [np.moveaxis(trial.random(n, *others, seed=50 + k), 0, axis) for k, n in enumerate(lengths)]
    output = trial.call([trial.tensor(host) for host in hosts], axis=axis, name="joined")
    trial.exact(output, np.concatenate(hosts, axis), "float32")


def concat_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for parts of unknown lengths, joins parts of any length, also an empty one."""
    pairs = [((2, 3), (4, 3)), ((0, 5), (1, 5)), ((3, 1), (0, 1))]
    hosts = [(trial.random(*one, seed=10), trial.random(*two, seed=11)) for one, two in pairs]
    tensors = [(trial.tensor(one), trial.tensor(two)) for one, two in hosts]

    def body(concat: Callable[..., Any]) -> Any:
        join = traced(lambda one, two: concat([one, two], 0), [tf.TensorSpec([None, None], tf.float32)] * 2)
        return [join(*pair) for pair in tensors]

    for output, pair in zip(trial.call_inside(body), hosts):
        trial.close(output, np.concatenate(pair), dtype="float32")


# tf.Tensor.get_shape


def shape_of(trial: Trial, shape: Sizes, dtype: str = "float32") -> None:
    """The static shape of a tensor is a TensorShape with its sizes, rank and number of elements."""
    found = trial.call(trial.tensor(trial.random(*shape, dtype=dtype, seed=38), dtype=dtype))
    trial.check(isinstance(found, tf.TensorShape), f"expected a TensorShape, got {type(found).__name__}")
    trial.equal(found.as_list(), list(shape))
    trial.equal(found.rank, len(shape))
    trial.equal(found.num_elements(), int(np.prod(shape)))
    trial.check(found.is_fully_defined(), f"the shape of an eager tensor is known, not {found}")


def shape_in_function(trial: Trial) -> None:
    """While a function is traced, a shape is known as far as its signature gives it."""
    values = trial.tensor(trial.random(2, 3, 4, seed=39))

    def body(get_shape: Callable[..., Any]) -> Any:
        found: list[Any] = []

        def trace(x: Any) -> Any:
            found.extend(
                get_shape(tensor) for tensor in (x, tf.transpose(x), tf.reduce_sum(x, 1), tf.reshape(x, [-1, 6]), x[0])
            )
            wide, product = x + tf.zeros([5, 1, 3, 4]), tf.matmul(x, tf.zeros([2, 4, 7]))
            joined, part = tf.concat([x, tf.zeros([1, 3, 4])], 0), x[:, 1::2, tf.newaxis]
            found.extend(
                get_shape(tensor) for tensor in (wide, product, joined, part, tf.ensure_shape(x, [2, None, 4]))
            )
            return x

        traced(trace, [tf.TensorSpec([None, 3, None], tf.float32)])(values)
        return found

    found = trial.call_inside(body)
    expected = [[None, 3, None], [None, 3, None], [None, None], [None, 6], [3, None]]
    expected += [[5, None, 3, 4], [2, 3, 7], [None, 3, 4], [None, 1, 1, None], [2, 3, 4]]
    trial.equal([shape.as_list() for shape in found], expected)
    trial.equal([shape.is_fully_defined() for shape in found], [None not in sizes for sizes in expected])


def shape_of_unknown_rank(trial: Trial) -> None:
    """A tensor of unknown rank has an unknown shape, until ``set_shape`` adds what is known."""
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
    """In a legacy graph a placeholder has its given shape, and sums follow from it."""
    with tf.Graph().as_default(), tf.device(trial.device):
        fed = tf.compat.v1.placeholder(tf.float32, [None, 5])
        total = tf.reduce_sum(fed, axis=0, keepdims=True)
        open_ended = tf.compat.v1.placeholder(tf.float32)
    trial.equal(trial.call(fed).as_list(), [None, 5])
    trial.equal(trial.call(total).as_list(), [1, 5])
    trial.check(trial.call(open_ended).rank is None, "a placeholder without a shape has no rank")
