"""tf.constant of what a ``call`` test cannot give: tensors, NumPy arrays of any layout and other dtypes."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

v1 = tf.compat.v1


def from_tensor(trial: Trial) -> None:
    """An eager tensor is returned itself, so that gradients flow through it, or reshaped."""
    host = trial.random(2, 3, seed=1)
    given = trial.tensor(host)
    trial.check(trial.call(given) is given, "the tensor was copied, expected the same object")
    trial.exact(trial.call(given, shape=[3, 2]), host.reshape(3, 2), "float32")

    def body(constant: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            total = tf.reduce_sum(constant(given * given))
        return tape.gradient(total, given)

    trial.close(trial.call_inside(body), 2 * host.astype("float64"), dtype="float32")


def from_layouts(trial: Trial, dtype: str) -> None:
    """Arrays that are transposed, reversed, strided, broadcast or in the other byte order give their values."""
    host = trial.random(4, 7, dtype=dtype, seed=2)
    swapped = host.astype(host.dtype.newbyteorder())
    views = [host.T, host[::-1, ::-2], host[1::2], np.broadcast_to(host[0], (3, 7)), np.asfortranarray(host), swapped]
    for view in views:
        trial.exact(trial.call(view), view.astype(dtype), dtype)
    trial.exact(trial.call(host.T, shape=(2, 14)), host.T.reshape(2, 14), dtype)


def converted(trial: Trial, source: str, dtype: str) -> None:
    """An array is cast to the requested dtype, fractions towards zero, and may be reshaped."""
    host = (trial.random(3, 5, dtype="float64", seed=3) * 9).astype(source)
    expected = host.astype(dtype)
    trial.exact(trial.call(host, trial.dtype(dtype)), expected, dtype)
    trial.exact(trial.call(host, dtype=trial.dtype(dtype), shape=[5, 1, 3]), expected.reshape(5, 1, 3), dtype)


def in_graph(trial: Trial) -> None:
    """In a graph it is an operation of type Const with the given name, shape and value; a symbolic tensor is
    refused."""
    host = trial.random(3, dtype="float64", seed=4)
    graph = tf.Graph()
    refused: list[str] = []

    def body(constant: Callable[..., Any]) -> Any:
        with graph.as_default(), tf.device(trial.device):
            made = constant(host, shape=[3, 1], name="weights")
            try:
                constant(v1.placeholder(tf.float64, [2]))
            except (TypeError, ValueError) as error:
                refused[:] = [str(error)]
            return made

    # The names of a second call have numbers.
    trial.repeatable = False
    made = trial.call_inside(body)
    trial.equal((made.op.type, made.name, made.shape.as_list()), ("Const", "weights:0", [3, 1]))
    trial.check(refused and "tensor" in refused[0].lower(), f"a symbolic tensor became a constant; errors: {refused}")
    with v1.Session(graph=graph) as session:
        trial.equal(session.run(made), host.reshape(3, 1))


def from_scalars(trial: Trial) -> None:
    """Numbers of NumPy, alone, in lists and in nested tuples, keep their dtype; numbers of several kinds become
    floats, and a range becomes a vector."""
    trial.exact(trial.call([np.float64(0.1), np.float64(-0.0)]), [0.1, -0.0], "float64")
    trial.exact(trial.call(((np.float16(0.1),), (np.float16(-7),))), np.asarray([[0.1], [-7]], "float16"), "float16")
    trial.exact(trial.call(np.int8(-128)), -128, "int8")
    trial.exact(trial.call(np.complex64(1 - 2j)), 1 - 2j, "complex64")
    trial.exact(trial.call([1, 2.5, -3]), [1.0, 2.5, -3.0], "float32")
    trial.exact(trial.call(range(3, 12, 4)), [3, 7, 11], "int32")
    trial.exact(trial.call([True, False, True], trial.dtype("float64")), [1.0, 0.0, 1.0], "float64")
    trial.raises(["ValueError", "OverflowError"], "range", 2**70)


def stacked(trial: Trial, count: int, as_tensors: bool) -> None:
    """A list of many arrays, or of tensors, becomes one tensor with them in order."""
    hosts = [trial.random(2, 1, 3, seed=number) for number in range(count)]
    output = trial.call([trial.tensor(host) for host in hosts] if as_tensors else hosts)
    trial.exact(output, np.stack(hosts), "float32")


def zeros_in_function(trial: Trial) -> None:
    """A number that fills a shape in a tf.function keeps its sign if it is zero, whichever zero came before."""
    calls = [(value, dtype) for value in (-0.0, 0.0, -0.0) for dtype in ("float16", "bfloat16", "float32", "float64")]
    several = [0.0, -0.0, 2.5, -1.0]

    def body(constant: Callable[..., Any]) -> Any:
        program = tf.function(lambda: [constant(value, dtype, shape=(3, 2)) for value, dtype in calls])
        return [*program(), tf.function(lambda: constant(several, shape=(2, 2)))()]

    *filled, last = trial.call_inside(body)
    trial.exact(last, np.reshape(several, (2, 2)), "float32")
    for found, (value, dtype) in zip(filled, calls):
        trial.exact(found, np.full((3, 2), value), dtype)


def of_wide_kinds(trial: Trial) -> None:
    """A number of NumPy keeps its dtype alone too, complex numbers of Python are complex128, and what is too large for
    the dtype that is asked for becomes infinite, with its sign."""
    for value, dtype in ((np.float64(0.1), "float64"), (np.bool_(False), "bool"), (np.uint64(2**64 - 1), "uint64")):
        trial.exact(trial.call(value), value, dtype)
    trial.exact(trial.call(0.1 - 2j), 0.1 - 2j, "complex128")
    trial.exact(trial.call([0.1j, -3 + 0.3j]), [0.1j, -3 + 0.3j], "complex128")
    for dtype in ("float16", "bfloat16", "float32"):
        for given in (np.float64(-1e300), np.asarray([1e300, -1e300, 0.5])):
            trial.exact(
                trial.call(given, trial.dtype(dtype)), np.sign(given) * np.where(abs(given) > 1, np.inf, 0.5), dtype
            )


def refuses_wide_integers(trial: Trial) -> None:
    """An integer that int64 cannot hold is an error, alone and in a list, and no number of another dtype."""
    for value in (2**63, 2**64 - 1, -(2**63) - 1):
        for given in (value, [1, value], [[0], [value]]):
            trial.raises(["ValueError", "OverflowError"], "range", given)
