"""What data sets tell about themselves: their elements, number, options and name."""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import beside, close

_AXES = [3, 1]
_CALLS: dict[str, Callable[..., Any]] = {
    "shard": lambda f: f(tf.data.Dataset.range(4, 7), 3, 1),
    "list": lambda f: f([5]),
}
_OPERATIONS = {"shard": "ShardDataset", "list": "ListDataset"}


def named(trial: Trial, how: str) -> None:
    """The name that is given is kept with the data set's operation, and only there; the elements are the same."""

    def body(function: Callable[..., Any]) -> Any:
        with beside(tf.Graph()) as graph:
            made = [_CALLS[how](each) for each in (functools.partial(function, name="kept"), function)]
            return graph, [tf.data.experimental.get_single_element(each) for each in made]

    graph, elements = trial.call_inside(body)
    made = [operation for operation in graph.get_operations() if operation.type == _OPERATIONS[how]]
    trial.equal([b"kept" in operation.get_attr("metadata") for operation in made], [True, False])
    with tf.compat.v1.Session(graph=graph) as session:
        for found in session.run(elements):
            close(trial, found, 5, "int64" if how == "shard" else "int32")


def keeps_description(trial: Trial) -> None:
    """A part of a data set has elements of the same kind, a known number of them, and the options that were set; the
    whole keeps its own."""
    values = trial.tensor(trial.random(12, *_AXES, seed=1))
    whole = tf.data.Dataset.from_tensor_slices({"a": values, "b": tf.range(12)}).batch(2, drop_remainder=True)
    options = tf.data.Options()
    options.deterministic = False
    options.experimental_optimization.noop_elimination = False
    whole = whole.with_options(options)
    for index, number in enumerate((2, 2, 1, 1)):
        part = trial.call(whole, 4, index)
        trial.equal((part.cardinality().numpy(), len(part)), (number, number))
        trial.check(part.element_spec == whole.element_spec, f"the elements became {part.element_spec}")
        trial.equal(part.element_spec["a"].shape.as_list(), [2, *_AXES])
        kept = part.options()
        trial.equal((kept.deterministic, kept.experimental_optimization.noop_elimination), (False, False))
    trial.equal(len(whole), 6)
    endless = trial.call(whole.repeat(), 4, 1)
    trial.equal(endless.cardinality().numpy(), tf.data.INFINITE_CARDINALITY)
    unknown = trial.call(whole.filter(lambda each: True), 4, 1)
    trial.equal(unknown.cardinality().numpy(), tf.data.UNKNOWN_CARDINALITY)


def kinds_of_numbers(trial: Trial) -> None:
    """Elements that are numbers have the dtypes of tensors that are made of them, those of Python and those of NumPy,
    with the sign of zero."""
    rows = {
        "float32": [0.1, -0.0, 1e10],
        "bool": [True, False, True],
        "float64": [np.float64(0.1), np.float64(-0.0), np.float64(1e300)],
    }
    for dtype, row in rows.items():
        found = list(trial.call(row))
        trial.equal(len(found), len(row))
        for value, expected in zip(found, row):
            trial.exact(value, np.asarray(expected, dtype), dtype)


def listed_values(trial: Trial) -> None:
    """Numbers and texts of Python and arrays of NumPy come as they are: not finite, wide, with digits that a narrower
    dtype has not, of any bytes; those of dictionaries under their keys, in whichever order they were put in."""
    wide = [2**63 - 1, -(2**63), 2**53 + 1, 2**32 + 1, -(2**31) - 1]
    fine = [1 + 2.0**-40, 1e300, -5e-300, 2.0**24 + 1]
    single = np.asarray([1e-38, np.nan, -np.inf, -0.0], "float32")
    rows: list[tuple[str, list[Any]]] = [
        ("float32", [float("nan"), float("inf"), float("-inf"), -0.0, 0.1]),
        ("int32", [2**31 - 1, -(2**31), 0, -1]),
        ("int64", [2**31, -(2**31) - 1, 2**53 + 1]),
        ("int64", [np.int64(each) for each in wide]),
        ("int64", [np.asarray([each, 1]) for each in wide]),
        ("float64", [np.asarray([[each]]) for each in [*fine, np.nan, -np.inf]]),
        ("float32", [np.roll(single, number) for number in range(4)]),
        ("bool", [[True, False], [False, False]]),
    ]
    for dtype, row in rows:
        made = trial.call(row)
        found = list(made)
        trial.equal((len(found), made.cardinality()), (len(row), len(row)))
        trial.equal(made.options() == tf.data.Options(), True)
        for value, given in zip(found, row):
            trial.exact(value, np.asarray(given, dtype), dtype)
        if isinstance(row[0], list):
            continue
        keyed = [{"z": each, "a": (np.int64(place), "x"), "m": -1} for place, each in enumerate(row)]
        for place, (part, given) in enumerate(zip(trial.call(keyed), row)):
            trial.exact(part["z"], np.asarray(given, dtype), dtype)
            trial.equal(trial.numpy((part["a"], part["m"])), ((place, b"x"), -1))
    words = ["", " ", "a\0b", "Ger\u00e4t \u20ac", "a ", b"", b"\xff\0", b"\0"]
    for word, text in zip(words, trial.call(words)):
        expected = word if isinstance(word, bytes) else word.encode()
        trial.equal(text, np.asarray(expected, object))


def listed_unequal(trial: Trial, dtype: str) -> None:
    """Lists and arrays of unequal lengths stay so, also nested ones and those of two axes; only what all have in common
    is known of them."""
    lengths = [1, 2, 0, 5, 3]
    hosts = [np.arange(1, length + 1).astype(dtype) for length in lengths]
    given: list[Any] = [host.tolist() for host in hosts] if dtype == "int32" else list(hosts)
    if dtype == "int32":
        given[2] = hosts[2]  # An empty list has another dtype.
    made = trial.call(given)
    trial.equal(made.element_spec, tf.TensorSpec([None], trial.dtype(dtype)))
    for _ in range(2):
        elements = list(made)
        trial.equal(len(elements), len(hosts))
        for found, host in zip(elements, hosts):
            trial.exact(found, host, dtype)
    nested = trial.call([{"z": (host,), "a": np.stack([host, host])} for host in hosts])
    shapes = [part.shape.as_list() for part in tf.nest.flatten(nested.element_spec)]
    trial.equal(shapes, [[2, None], [None]])
    for found, host in zip(nested, hosts):
        trial.exact(found["z"][0], host, dtype)
        trial.exact(found["a"], np.stack([host, host]), dtype)


def shards_of_shards(trial: Trial) -> None:
    """A shard of a shard is that of its elements, with the same numbers as the first, or others. The outer data sets
    stay as they were, and a shard has the very options of its source, also where none were set."""
    source = tf.data.Dataset.range(50, 91)
    every = list(range(50, 91))
    for first, second in (((2, 1), (2, 1)), ((3, 0), (2, 1)), ((1, 0), (1, 0)), ((4, 3), (1, 0)), ((2, 0), (30, 20))):
        part = trial.call(source, *first)
        whole = trial.call(part, num_shards=second[0], index=second[1])
        last = trial.call(whole, 2, 1)
        expected = every[first[1] :: first[0]], every[first[1] :: first[0]][second[1] :: second[0]]
        for found, numbers in zip((part, whole, last, source), (*expected, expected[1][1::2], every)):
            trial.equal([int(each) for each in found], numbers)
            trial.equal(int(found.cardinality()), len(numbers))
            trial.check(found.options() == source.options(), "the options are not those of the source")
