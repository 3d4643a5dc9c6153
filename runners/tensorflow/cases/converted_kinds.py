"""tf.convert_to_tensor: shapes, slices, ranges and classes that have a conversion, and what has none."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


class _Celsius:
    """A class with a registered way to convert it."""

    def __init__(self, degrees: float) -> None:
        self.degrees = degrees


def _converted(value: _Celsius, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    return tf.constant([value.degrees, 32 + 1.8 * value.degrees], dtype, name=name)


tf.register_tensor_conversion_function(_Celsius, _converted)


def kinds(trial: Trial) -> None:
    """Shapes become their sizes, and slices the whole tensor with zeros around; numbers that int32 does not hold are
    int64. A registered function converts objects of its class, with the dtype that is asked for."""
    values, places = trial.tensor([[1.5, -2.0], [3.5, 4.0]], "float32"), trial.tensor(np.asarray([3, 0]))
    slices = tf.IndexedSlices(values, places, trial.tensor(np.asarray([4, 2])))
    trial.close(trial.call(tf.TensorShape([2, 0, 3])), [2, 0, 3], dtype="int32")
    trial.close(trial.call(tf.TensorShape([5]), dtype=tf.int64), [5], dtype="int64")
    trial.close(trial.call(tf.TensorShape([])), np.zeros([0]), dtype="int32")
    trial.close(trial.call(slices), [[3.5, 4.0], [0, 0], [0, 0], [1.5, -2.0]], dtype="float32")
    trial.close(trial.call(range(3, 9, 2)), [3, 5, 7], dtype="int32")
    for number in (2**31, -(2**31) - 1, 2**53 + 1):
        trial.exact(trial.call(number), np.asarray(number), "int64")
        trial.exact(trial.call([1, number]), np.asarray([1, number]), "int64")
    trial.exact(trial.call(2**31 - 1), np.asarray(2**31 - 1, "int32"), "int32")
    trial.close(trial.call(_Celsius(10.0)), [10.0, 50.0], dtype="float32")
    trial.close(trial.call(_Celsius(-5.0), dtype=tf.float64), [-5.0, 23.0], dtype="float64")
    trial.close(trial.call(_Celsius(0.0), dtype_hint=tf.float64), [0.0, 32.0], dtype="float64")


def gradients_of_lists(trial: Trial) -> None:
    """The gradient reaches each tensor and variable of a list, as often as it is there, and not what is a number."""
    host = trial.random(3, seed=1)
    one, two = trial.tensor(host), tf.Variable(trial.tensor(2 * host))

    def body(convert: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(one)
            whole = convert([one, two, one, [0.5, 1.5, 2.5]])
            total = tf.reduce_sum(whole * whole)
        return [whole, *tape.gradient(total, [one, two])]

    found = trial.call_inside(body)
    wide = host.astype("float64")
    expected = [np.stack([wide, 2 * wide, wide, [0.5, 1.5, 2.5]]), 4 * wide, 4 * wide]
    for tensor, wanted in zip(found, expected):
        trial.close(tensor, wanted, dtype="float32")


def refuses(trial: Trial, what: str) -> None:
    """What has no values of one shape is not converted."""
    kinds: Mapping[str, Callable[[], Any]] = {
        "ragged": lambda: tf.ragged.constant([[1], [2, 3]]),
        "sparse": lambda: tf.sparse.from_dense([[1.5]]),
        "shape": lambda: tf.TensorShape([None, 3]),
        "data set": lambda: tf.data.Dataset.range(2),
        "generator": lambda: (number for number in range(3)),
    }
    with trial.on_host():
        value = kinds[what]()
    trial.raises(["TypeError", "ValueError"], "ragged" if what == "ragged" else "convert", value)


def hints(trial: Trial, traced: bool) -> None:
    """A hint decides on the dtype of what has none of its own, lists and numbers of Python, if it can hold the values;
    else it changes nothing. A dtype that is given wins, and tensors and variables keep theirs."""
    float32, int64 = trial.tensor(np.asarray([1.5, 2.5], "float32")), trial.tensor(np.asarray([3, 4]))
    variable = tf.Variable(float32)
    given: list[tuple[Any, dict[str, Any], str, Any]] = [
        ([1, 2], {"dtype_hint": "float16"}, "float16", [1, 2]),
        ((1, 2), {"dtype_hint": tf.int64}, "int64", [1, 2]),
        (3, {"dtype_hint": tf.uint8}, "uint8", 3),
        (3, {"dtype_hint": tf.complex64}, "complex64", 3),
        (2.5, {"dtype_hint": tf.float64}, "float64", 2.5),
        (2.5, {"dtype_hint": tf.int32}, "float32", 2.5),
        ([], {"dtype_hint": tf.int32}, "int32", []),
        ([1, 2], {"dtype_hint": None}, "int32", [1, 2]),
        ([1, 2], {"dtype": tf.float64, "dtype_hint": tf.float16}, "float64", [1, 2]),
        ([1, 2], {"dtype": tf.float64, "dtype_hint": tf.string}, "float64", [1, 2]),
        (float32, {"dtype_hint": tf.float64}, "float32", [1.5, 2.5]),
        (float32, {"dtype_hint": tf.int32}, "float32", [1.5, 2.5]),
        (int64, {"dtype_hint": tf.float32}, "int64", [3, 4]),
        (variable, {"dtype_hint": tf.float64}, "float32", [1.5, 2.5]),
    ]

    def body(convert: Callable[..., Any]) -> Any:
        def all_of_them() -> Any:
            return [convert(value, **options) for value, options, _, _ in given]

        return tf.function(all_of_them, autograph=False)() if traced else all_of_them()

    for output, (_, _, dtype, expected) in zip(trial.call_inside(body), given):
        trial.exact(output, np.asarray(expected, dtype), dtype)
