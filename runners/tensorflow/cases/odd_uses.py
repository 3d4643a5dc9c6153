"""Texts of any bytes, bounds that are variables, and what is known of a shape before a function runs."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

_TEXTS = [b"", b" a ", b"A", b"a", b"a\0b", b"a\0", b"\xff\xfe", b"caf\xc3\xa9", b"line\nline\t", b"x" * 300]
"""Texts that are equal to others if anything of them is left out: spaces, case, what follows a zero, other bytes."""


def texts(trial: Trial, how: str) -> None:
    """Texts keep all their bytes."""
    count = len(_TEXTS)
    words = np.asarray(_TEXTS, object)
    if how == "reshape":
        output = trial.call(trial.tensor(words, "string"), [2, -1])
        trial.equal(output, words.reshape(2, -1))
    elif how == "constant":
        output = trial.call(list(_TEXTS), shape=[count // 2, 2])
        trial.equal(output, words.reshape(-1, 2))
        for text, expected in (("caf\u00e9 \u20ac", "caf\u00e9 \u20ac".encode()), (b"a\0 ", b"a\0 ")):
            trial.equal(trial.numpy(trial.call(text)), expected)
    elif how == "intersection":
        rows = [[*_TEXTS, b"one"], [b"two", *_TEXTS[::-1]]]
        output = trial.call(*(trial.tensor(np.asarray([row], object), "string") for row in rows))
        trial.equal(sorted(trial.numpy(output.values).tolist()), sorted(_TEXTS))
        trial.equal(trial.numpy(output.dense_shape), [1, count])
    elif how == "table":
        for keys, values in ((_TEXTS, np.arange(count)), (np.arange(count), words)):
            dtypes = [np.asarray(each).dtype.kind for each in (keys, values)]
            names = ["int64" if kind == "i" else "string" for kind in dtypes]
            keys, values = np.asarray(keys, object if names[0] == "string" else None), np.asarray(values)
            made = trial.call(trial.tensor(keys, names[0]), trial.tensor(values, names[1]))
            missing = -1 if names[1] == "int64" else b"none"
            table = tf.lookup.StaticHashTable(made, trial.tensor(np.asarray(missing, values.dtype), names[1]))
            trial.equal(table.lookup(trial.tensor(keys[::-1].copy(), names[0])), values[::-1])
            other = [b"a\0c", b" a", b"CAF\xc3\xa9"] if names[0] == "string" else [-1, 2**32, 2**32 + 1]
            asked = np.asarray(other, object if names[0] == "string" else "int64")
            trial.equal(table.lookup(trial.tensor(asked, names[0])), np.asarray([missing] * 3, values.dtype))
    else:
        raise ValueError(how)


def variable_bounds(trial: Trial, dtype: str) -> None:
    """Start, limit and step that are variables have the values of the time of the call, also in a tf.function; the
    numbers of an earlier call stay."""
    rounds = [(2, 11, 3), (0, 4, 1), (5, -7, -4), (3, 3, 1)]
    variables = [tf.Variable(trial.tensor(np.asarray(each, dtype))) for each in rounds[0]]

    def body(function: Callable[..., Any]) -> Any:
        traced = tf.function(lambda: function(*variables), autograph=False)
        found = []
        for numbers in rounds:
            for variable, number in zip(variables, numbers):
                variable.assign(number)
            found.append([function(*variables), traced(), function(variables[1]) if numbers[1] >= 0 else None])
        return found

    trial.repeatable = False
    for numbers, (eager, inside, counted) in zip(rounds, trial.call_inside(body)):
        trial.exact(eager, np.arange(*numbers, dtype=dtype), dtype)
        trial.exact(inside, np.arange(*numbers, dtype=dtype), dtype)
        if counted is not None:
            trial.exact(counted, np.arange(numbers[1], dtype=dtype), dtype)


def known_sizes(trial: Trial) -> None:
    """While a tf.function is traced, sizes of the new shape that are constants are known, in a list beside tensors and
    in a tensor that was made of both; the other sizes are found when it runs."""
    host = trial.random(4, 6, seed=1)
    seen: list[Any] = []

    def body(reshape: Callable[..., Any]) -> Any:
        def traced(x: Any) -> Any:
            rows = tf.shape(x)[0]
            made = [
                reshape(x, [rows, 3, 2]),
                reshape(x, tf.stack([3, rows, 2])),
                reshape(x, tf.concat([[2], [rows], [3]], 0)),
                reshape(x, [2, -1]),
                reshape(x, tf.constant([-1, 8])),
                reshape(x, tf.reverse(tf.shape(x), [0])),
            ]
            seen.append([each.shape.as_list() for each in made])
            return made

        program = tf.function(traced, autograph=False, input_signature=[tf.TensorSpec([None, 6], tf.float32)])
        return program(trial.tensor(host))

    found = trial.call_inside(body)
    trial.equal(seen[-1][:3], [[None, 3, 2], [3, None, 2], [2, None, 3]])
    trial.equal(seen[-1][3:5], [[2, None], [None, 8]])
    sizes: Sequence[Sequence[int]] = ([4, 3, 2], [3, 4, 2], [2, 4, 3], [2, 12], [3, 8], [6, 4])
    for output, shape in zip(found, sizes):
        trial.exact(output, host.reshape(shape), "float32")


def dtypes_given_as(trial: Trial, how: str) -> None:
    """A dtype is given as TensorFlow's, NumPy's or Python's object or as a name, in the place for it or by its name."""
    given = {
        "float64": [tf.float64, np.float64, np.dtype("float64"), "float64", "double"],
        "float32": [tf.float32, np.float32, float, "float"],
        "float16": [tf.float16, np.float16, "half"],
        "int64": [np.int64, np.dtype("int64"), "int64"],
        "int32": [np.int32, "int32"],
    }
    if how != "range":
        given["bool"] = [tf.bool, bool, np.bool_, "bool"]
        given["uint8"] = [np.uint8, "uint8"]
    else:
        del given["float16"]
    for name, kinds in given.items():
        for kind in kinds:
            if how == "placeholder":
                with tf.Graph().as_default():
                    for made in (trial.call(kind, [2]), trial.call(shape=[2], dtype=kind)):
                        trial.equal(made.dtype.name, name)
                continue
            calls = {
                "zeros": lambda k: [trial.call([2, 1], k), trial.call(shape=[2, 1], dtype=k)],
                "constant": lambda k: [trial.call(np.asarray([[0], [1]], tf.as_dtype(k).name), k)],
                "range": lambda k: [trial.call(0, 2, 1, k), trial.call(2, dtype=k)],
                "mask": lambda k: [trial.call([0, 1], 1, k), trial.call([0, 1], dtype=k)],
            }[how](kind)
            expected = np.asarray({"zeros": [[0], [0]], "range": [0, 1]}.get(how, [[0], [1]]))
            for output in calls:
                trial.exact(output, expected.astype("bool" if name == "bool" else "float64"), name)


def known_ranks(trial: Trial) -> None:
    """While a tf.function is traced it is known how many axes the common elements have, with dense and sparse sets."""
    rows = [trial.tensor(np.asarray(each, "int32")) for each in ([[1, 2, 3], [4, 5, 6]], [[3, 1, 7], [8, 9, 10]])]
    seen: list[Any] = []

    def body(intersection: Callable[..., Any]) -> Any:
        def traced(a: Any, b: Any) -> Any:
            common = intersection(a, b)
            seen.append([part.shape.as_list() for part in (common.indices, common.values, common.dense_shape)])
            again = intersection(common, b)
            return common, again

        return tf.function(traced, autograph=False)(*rows)

    for found in trial.call_inside(body):
        trial.equal([found.values, found.indices], [np.asarray([1, 3], "int32"), np.asarray([[0, 0], [0, 1]])])
        trial.equal(found.dense_shape, np.asarray([2, 2]))
    trial.equal(seen[-1], [[None, 2], [None], [2]])
