"""tf.cast and tf.dtypes.as_dtype."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import weighted_gradients
from runners.tensorflow.graph_mode import building

# tf.cast


def cast_sparse(trial: Trial) -> None:
    """A cast of a sparse tensor changes its values and keeps its places."""
    indices = trial.tensor(np.asarray([[0, 1], [2, 0], [2, 3]], "int64"))
    values = trial.tensor(np.asarray([1.75, -2.5, 40.0], "float32"))
    given = tf.SparseTensor(indices, values, trial.tensor(np.asarray([3, 4], "int64")))
    output = trial.call(given, tf.int32)
    trial.close(output.values, [1, -2, 40], dtype="int32")
    trial.equal(output.indices, [[0, 1], [2, 0], [2, 3]])
    trial.equal(output.dense_shape, [3, 4])


def cast_slices(trial: Trial) -> None:
    """A cast of slices changes their values and keeps their rows and the whole shape."""
    rows, shape = trial.tensor(np.asarray([3, 0, 3], "int64")), trial.tensor(np.asarray([5, 2], "int64"))
    values = trial.tensor(np.asarray([[1.75, -2.5], [7.0, 0.25], [-9.5, 4.0]], "float64"))
    output = trial.call(x=tf.IndexedSlices(values, rows, shape), dtype=tf.int16)
    trial.check(isinstance(output, tf.IndexedSlices), f"slices became {type(output).__name__}")
    trial.close(output.values, [[1, -2], [7, 0], [-9, 4]], dtype="int16")
    trial.close(output.indices, [3, 0, 3], dtype="int64")
    trial.close(output.dense_shape, [5, 2], dtype="int64")


def cast_gradient(trial: Trial, source: str, target: str) -> None:
    """The gradient has the dtype of the input, and is real if that is; a cast to an integer has none."""
    host = trial.random(5, dtype=source, seed=4)
    host_weights = trial.random(5, dtype=target if target.startswith("complex") else source, seed=5)
    values = trial.tensor(host, dtype=source)
    weights = trial.tensor(host_weights, dtype=target)

    def body(cast: Callable[..., Any]) -> Any:
        output, (slope,) = weighted_gradients(lambda x: cast(x, trial.dtype(target)), [values], weights)
        with tf.GradientTape() as tape:
            tape.watch(values)
            whole = cast(values, tf.int32)
        return output, slope, whole, tape.gradient(whole, values)

    output, slope, whole, nothing = trial.call_inside(body)
    narrow = sorted((source, target))[0] if "float16" in (source, target) else "float32"
    rtol = {"float16": 1e-3, "float32": 1e-6}[narrow]
    trial.close(output, host, rtol=rtol, atol=rtol, dtype=target)
    trial.close(slope, host_weights.real, rtol=rtol, atol=rtol, dtype=source)
    trial.close(whole, np.trunc(host), dtype="int32")
    trial.check(nothing is None, f"a cast to integers has no gradient, got {nothing}")


def cast_there_and_back(trial: Trial, how: str, kinds: Sequence[Sequence[str]]) -> None:
    """Values that are cast to another dtype and back have lost what that cannot hold: in a tf.function or in a graph
    (``how``). ``kinds`` has pairs: the dtype of the values, and the other one."""
    hosts = [trial.random(40, dtype=kind, seed=6, low=-120, high=120) for kind, _ in kinds]
    others = [trial.dtype(other) for _, other in kinds]

    def body(cast: Callable[..., Any]) -> Any:
        def moved(*given: Any) -> list[Any]:
            return [cast(cast(x, other), x.dtype) for x, other in zip(given, others)]

        if how == "function":
            return tf.function(moved, autograph=False)(*map(trial.tensor, hosts))
        with building(trial) as graph:
            fed = [tf.compat.v1.placeholder(host.dtype, [40]) for host in hosts]
            fetched = moved(*fed)
        with tf.compat.v1.Session(graph=graph) as session:
            return session.run(fetched, dict(zip(fed, hosts)))

    for found, host, other in zip(trial.call_inside(body), hosts, others):
        trial.equal(found, host.astype(other.as_numpy_dtype).astype(host.dtype))


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
    """A name, also a short one, gives its single dtype object."""
    _check_dtype_object(trial, trial.call(name), expected)


def dtype_of_numpy(trial: Trial, name: str) -> None:
    """NumPy's scalar types and dtype objects give the dtype of the same name, and convert back."""
    for given in (getattr(np, "bool_" if name == "bool" else name), np.dtype(name)):
        found = trial.call(given)
        _check_dtype_object(trial, found, name)
        trial.equal(np.dtype(found.as_numpy_dtype).name, name)


def dtype_of_number(trial: Trial, number: int, expected: str) -> None:
    """The number used in protocol buffers gives its dtype, and converts back."""
    found = trial.call(number)
    _check_dtype_object(trial, found, expected)
    trial.equal(found.as_datatype_enum, number)


def dtype_of_python(trial: Trial) -> None:
    """Python's float and bool give float32 and bool; object gives string."""
    for given, expected in ((float, "float32"), (bool, "bool"), (object, "string")):
        _check_dtype_object(trial, trial.call(given), expected)


def dtype_of_dtype(trial: Trial, name: str) -> None:
    """A DType gives itself; a legacy reference type has it as its base."""
    given = getattr(tf, name)
    _check_dtype_object(trial, trial.call(given), name)
    reference = trial.call(name + "_ref")
    trial.equal(reference.name, name + "_ref")
    _check_dtype_object(trial, reference.base_dtype, name)


_NUMBERS = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "complex64": 8, "int64": 9,
    "bool": 10, "qint8": 11, "quint8": 12, "qint32": 13, "bfloat16": 14, "qint16": 15, "quint16": 16, "uint16": 17,
    "complex128": 18, "float16": 19, "resource": 20, "variant": 21, "uint32": 22, "uint64": 23,
}  # fmt: skip
"""The numbers of protocol buffers, which are documented and never change."""


def dtype_table(trial: Trial) -> None:
    """Each dtype has one object, for its name, its number, itself and NumPy's dtype of any byte order."""
    for name, number in _NUMBERS.items():
        known = getattr(tf, name)
        for given in (name, number, known):
            found = trial.call(given)
            trial.check(found is known, f"{given!r} gave {found!r}, expected tf.{name}")
        trial.equal((known.name, known.as_datatype_enum), (name, number))
        if hasattr(np, name):
            for order in "<>":
                found = trial.call(np.dtype(name).newbyteorder(order))
                trial.check(found is known, f"NumPy's {name} of order {order} gave {found!r}")
    for given, name in (("float", "float32"), (np.dtype("S5"), "string"), (np.dtype("U3"), "string")):
        trial.check(trial.call(given) is getattr(tf, name), f"{given!r} is not tf.{name}")
    trial.check(trial.call(np.zeros(2, "uint16").dtype) is tf.uint16, "the dtype of an array is another")
