"""tf.lookup.KeyValueTensorInitializer: the construction is timed, and tables created with it are read."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def _column(dtype: str, size: int, seed: int) -> Any:
    """Return distinct values of a dtype in random order, in NumPy's own dtypes, text as objects."""
    numbers = np.random.RandomState(seed).permutation(size)
    if dtype == "string":
        return np.asarray([f"entry {number}" for number in numbers], object)
    if dtype == "bool":
        return numbers % 2 == 0
    return (numbers * 3 - size).astype(dtype)


def _comparable(values: Any) -> Any:
    """Return text as bytes, as TensorFlow does."""
    array = np.asarray(values)
    return np.asarray([text.encode() for text in array]) if array.dtype == object else array


def table(trial: Trial, keys: str, values: str, size: int) -> None:
    """A table filled by the initializer gives each key's value, and the default for a missing key."""
    host_keys, host_values = _column(keys, size + 1, seed=1), _column(values, size + 1, seed=2)
    known_keys, known_values = host_keys[:size], host_values[:size]
    initializer = trial.call(trial.tensor(known_keys, dtype=keys), trial.tensor(known_values, dtype=values))
    trial.equal([initializer.key_dtype.name, initializer.value_dtype.name], [keys, values])
    filled = tf.lookup.StaticHashTable(initializer, trial.tensor(host_values[size], dtype=values))
    trial.equal(filled.size(), size)
    order = np.random.RandomState(3).permutation(size + 1)
    found = filled.lookup(trial.tensor(host_keys[order], dtype=keys))
    trial.equal(trial.dtype_name(found), values)
    found = trial.numpy(found)
    trial.equal(found.astype("S") if values == "string" else found, _comparable(host_values[order]))


def python_lists(trial: Trial) -> None:
    """Python lists become keys and values of the requested dtypes."""
    initializer = trial.call(
        keys=[5, 6, 7], values=[0.5, 0.25, -1.0], key_dtype=trial.dtype("int64"), value_dtype=trial.dtype("float64")
    )
    trial.equal([initializer.key_dtype.name, initializer.value_dtype.name], ["int64", "float64"])
    filled = tf.lookup.StaticHashTable(initializer, np.float64(9.0))
    found = filled.lookup(trial.tensor(np.asarray([[7, 5], [8, 6]])))
    trial.close(found, [[-1.0, 0.5], [9.0, 0.25]], dtype="float64")


def vocabulary(trial: Trial, buckets: int) -> None:
    """As a vocabulary it gives known words their numbers and other words larger ones, the same word always the same."""
    words = ["emerson", "lake", "palmer"]
    initializer = trial.call(trial.tensor(words, dtype="string"), trial.tensor(np.asarray([2, 0, 1])))
    numbered = tf.lookup.StaticVocabularyTable(initializer, buckets)
    asked = [*words, "king", "crimson", "king"]
    found = numbered.lookup(trial.tensor(asked, dtype="string"))
    trial.equal(trial.dtype_name(found), "int64")
    found = trial.numpy(found)
    trial.equal(found[:3], [2, 0, 1])
    trial.check(((found[3:] >= 3) & (found[3:] < 3 + buckets)).all(), f"unknown words got the numbers {found[3:]}")
    trial.equal(found[3], found[5])


def fills_table(trial: Trial) -> None:
    """``initialize`` in a graph returns an operation that fills the table when a session runs it."""
    graph = tf.Graph()
    with graph.as_default(), tf.device(trial.device):
        initializer = trial.make(tf.constant(["x", "y"]), tf.constant([10, 20], tf.int64))
        filled = tf.lookup.StaticHashTable(initializer, -1)
        found = filled.lookup(tf.constant(["y", "z", "x"]))
        # Each call adds an operation to the graph, which is complete here.
        trial.repeatable = False
        filling = trial.call_method(initializer, "initialize", filled)
    with tf.compat.v1.Session(graph=graph) as session:
        session.run(filling)
        trial.equal(session.run(found), [20, -1, 10])


def in_function(trial: Trial) -> None:
    """Created in a tf.function, under tf.init_scope, the table exists for every later call."""
    keys, values = trial.tensor(np.asarray([1, 2, 3])), trial.tensor(np.asarray([10.0, 20.0, 30.0], "float32"))
    asked = [trial.tensor(np.asarray([3, 1])), trial.tensor(np.asarray([[2], [4], [1]]))]

    def body(initializer: Callable[..., Any]) -> Any:
        tables: list[Any] = []

        def look_up(query: Any) -> Any:
            if not tables:
                with tf.init_scope():
                    tables.append(tf.lookup.StaticHashTable(initializer(keys, values), -1.0))
            return tables[0].lookup(query) + 0.5

        traced = tf.function(look_up)
        return [traced(query) for query in asked]

    first, second = trial.call_inside(body)
    trial.close(first, [30.5, 10.5], dtype="float32")
    trial.close(second, [[20.5], [-0.5], [10.5]], dtype="float32")


def edges(trial: Trial) -> None:
    """Keys at the ends of their range, and values that are NaN, infinite, zeros of both signs or subnormal, are kept;
    a pair may be there twice."""
    host_keys = np.asarray([-(2**63), 2**63 - 1, 0, -1, 2**31, 2**32, 0])
    host_values = np.asarray([np.nan, -np.inf, -0.0, 5e-324, 1.7976931348623157e308, 0.1, -0.0])
    filled = tf.lookup.StaticHashTable(trial.call(trial.tensor(host_keys), trial.tensor(host_values)), 7.5)
    trial.equal(filled.size(), 6)
    asked = np.concatenate([host_keys[::-1], [1, -(2**31), 2**32 + 1]])
    trial.exact(filled.lookup(trial.tensor(asked)), [*host_values[::-1], 7.5, 7.5, 7.5], "float64")


def inferred_dtypes(trial: Trial) -> None:
    """Without dtypes, lists are converted as tf.constant converts them; texts are keys as they are, also empty ones."""
    words = ["", "a", "A", "a ", "Gerät"]
    initializer = trial.call(words, [5, 4, 3, 2, 1])
    trial.equal([initializer.key_dtype.name, initializer.value_dtype.name], ["string", "int32"])
    filled = tf.lookup.StaticHashTable(initializer, -1)
    found = filled.lookup(trial.tensor([[*words, "b"], ["Gerat", *words[::-1]]], dtype="string"))
    trial.close(found, [[5, 4, 3, 2, 1, -1], [-1, 1, 2, 3, 4, 5]], dtype="int32")
    keys, values = filled.export()
    pairs = dict(zip(trial.numpy(keys).tolist(), trial.numpy(values).tolist()))
    trial.equal(pairs, {word.encode(): 5 - place for place, word in enumerate(words)})


_BITS = {"int64": [0, 1, 7, 31, 32, 33, 52, 53, 62], "int32": [0, 1, 7, 15, 16, 23, 24, 30]}


def _ends(dtype: str) -> Any:
    """Return values of a dtype that another dtype, or fewer bits, would change: the ends of its range first."""
    if dtype in _BITS:
        near = [sign * (2**bit + step) for bit in _BITS[dtype] for sign in (1, -1) for step in (0, 1)]
        ends = np.iinfo(dtype)
        return np.asarray([ends.min, ends.max, ends.min + 1, ends.max - 1, *sorted(set(near))], dtype)
    if dtype == "string":
        return np.asarray(["", "\x00", "a\x00", "a\x00b", "a", "ä", "a" * 300, "a" * 301], object)
    if dtype == "bool":
        return np.asarray([True, False])
    info = np.finfo(dtype)
    near = [info.max, info.min, info.tiny, -0.0, 0.0, 1 + info.eps, 1 - info.epsneg, np.inf, np.nan, 1 / 3, -1e-30]
    return np.asarray(near, dtype)


def ends(trial: Trial, keys: str, values: str, as_lists: bool = False) -> None:
    """Keys and values keep all their bits, in tensors and in lists: ends of their ranges, numbers next to powers of
    two, text with zero bytes. A key that differs from another in high bits only is another key."""
    host_keys, host_values = _ends(keys), _ends(values)
    count = len(host_keys) - 1  # The last one is not in the table.
    columns = host_keys[:count], np.resize(host_values, count)
    if as_lists:
        dtypes = {"key_dtype": trial.dtype(keys), "value_dtype": trial.dtype(values)}
        initializer = trial.call(*(column.tolist() for column in columns), **dtypes)
    else:
        initializer = trial.call(*(trial.tensor(part, dtype) for part, dtype in zip(columns, (keys, values))))
    default = host_values[-1]
    filled = tf.lookup.StaticHashTable(initializer, trial.tensor(default, values))
    trial.equal(filled.size(), count)
    found = filled.lookup(trial.tensor(host_keys[::-1], keys))
    expected = [default, *columns[1][::-1]]
    if values == "string":
        trial.equal(trial.dtype_name(found), values)
        trial.equal(trial.numpy(found).tolist(), [text.encode() for text in expected])
    else:
        trial.exact(found, np.asarray(expected, values), values)
