"""Graphs that grow after a session or a context has used them, and arrays that change before they are fed again."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, close

v1 = tf.compat.v1


def _fetch(function: Callable[..., Any], how: str, session: Any, tensor: Any, feeds: Any) -> Any:
    return function(tensor, feeds, session) if how == "eval" else function(session, tensor, feeds)


def fetched(trial: Trial, how: str) -> None:
    """A session that has run computes operations and variables that are added later, with arrays that have changed
    since they were fed, and keeps what it returned."""
    host, other = trial.random(6, 2, dtype="float64", seed=1), trial.random(6, 2, dtype="float64", seed=2)
    given = host.copy()
    with building(trial) as graph:
        x = v1.placeholder(tf.float64, [None, 2])
        first = x * 2.0
    session = v1.Session(graph=graph)

    def body(function: Callable[..., Any]) -> Any:
        given[...] = host
        found = [_fetch(function, how, session, first, {x: given})]
        with building(trial, graph):
            weights = v1.get_variable(f"weights{len(graph.get_operations())}", initializer=host[0], use_resource=True)
            second = first + weights
        session.run(weights.initializer)
        given[...] = other
        found += [_fetch(function, how, session, second, {x: given}), _fetch(function, how, session, first, {x: given})]
        given[-1, -1] = 99.0
        return [*found, _fetch(function, how, session, second, {x: given})]

    trial.repeatable = False
    last = other.copy()
    last[-1, -1] = 99.0
    expected = [2 * host, 2 * other + host[0], 2 * other, 2 * last + host[0]]
    for found, wanted in zip(trial.call_inside(body), expected):
        close(trial, found, wanted, "float64")


def fed(trial: Trial, count: int) -> None:
    """Each of many placeholders, some made after the session has run, gets its own feed: an array, a number of Python
    or NumPy, or a list; one array is fed again after it has changed."""
    given = trial.random(2, dtype="float64", seed=3)
    values: list[Any] = [given, [0.1, -1e-310], np.asarray([np.inf, -0.0]), np.float64(1 / 3), 2**53 - 1, 0.7]
    kinds: set[str] = set()

    def body(placeholder: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            made = [placeholder(tf.float64) for _ in range(count)]
            session = v1.Session(graph=graph)
            feeds = {each: values[n % 6] for n, each in enumerate(made)}
            found = session.run([tf.identity(each) for each in made], feeds)
            expected = [np.array(values[n % 6], "float64") for n in range(count)]
            given[...] = -given
            last = placeholder(tf.float64, [2])
            found += session.run([last - 1.0, tf.identity(made[0])], {last: given, made[0]: given})
            kinds.update(each.op.type for each in [*made, last])
            return found, [*expected, given - 1, given.copy()]

    trial.repeatable = False
    found_ones, expected_ones = trial.call_inside(body)
    trial.equal(kinds, {"Placeholder"})
    for found, expected in zip(found_ones, expected_ones):
        trial.exact(tf.constant(found), expected, "float64")


def drawn(trial: Trial) -> None:
    """In one run a tensor of draws has one value wherever it is fetched and used; two tensors have draws of their
    own."""
    base = 100.0 * np.arange(100)
    with building(trial) as graph:
        first, second = (v1.random_normal([100], dtype=tf.float64) + base for _ in range(2))
        both = first + second
    session = v1.Session(graph=graph)
    trial.repeatable = False
    rows = [trial.call(session, {"a": [first, first], "b": (second, both, first)}) for _ in range(2)]
    for row in rows:
        trial.equal([row["a"][1], row["b"][2]], [row["a"][0], row["a"][0]])
        trial.exact(tf.constant(row["b"][1]), row["a"][0] + row["b"][0], "float64")
    draws = np.stack([part for row in rows for part in (row["a"][0], row["b"][0])])
    trial.equal(draws.shape, (4, 100))
    trial.check((abs(draws - base) < 8).all(), "a result is not the sum of a number and its draw")
    trial.check(np.unique(draws).size == draws.size, "two tensors, or two runs, have the same draws")


def entered(trial: Trial) -> None:
    """A graph is entered without the scopes around: of names, devices, dependencies and collections. They hold again
    afterwards, and so does the graph around; in the graph draws without a seed differ from each other."""
    outer, inner = tf.Graph(), tf.Graph()

    def body(as_default: Callable[..., Any]) -> Any:
        with outer.as_default(), v1.variable_scope("around", dtype=tf.float64), tf.device(trial.device):
            one = tf.constant(1.0, name="one")
            with tf.control_dependencies([one]), v1.get_default_graph().name_scope("deep"):
                with as_default(inner):
                    inside = v1.get_variable("v", [], use_resource=True)
                    draws = [v1.random_normal([40], dtype=tf.float64) for _ in range(2)]
                after = tf.constant(2.0, name="after")
                later = v1.get_variable("later", [], use_resource=True)
            with as_default(inner), as_default(outer), as_default(inner):
                third = v1.random_normal([40], dtype=tf.float64)
        return inside, draws, one, after, later, third

    trial.repeatable = False
    inside, draws, one, after, later, third = trial.call_inside(body)
    trial.equal((inside.name, inside.dtype.base_dtype.name, inside.graph is inner), ("v:0", "float32", True))
    trial.equal([draws[0].op.control_inputs, draws[0].op.name], [[], "random_normal"])
    trial.equal((after.name, after.graph is outer), ("around/deep/after:0", True))
    trial.check(one.device, "the scope of the device is not set")
    trial.equal(after.device, one.device)
    trial.equal([operation.name for operation in after.op.control_inputs], [one.op.name])
    trial.equal((later.name, later.dtype.base_dtype.name), ("around/later:0", "float64"))
    with v1.Session(graph=inner) as session:
        found = np.concatenate(session.run([*draws, third]) + session.run([*draws, third]))
    trial.check(np.unique(found).size == found.size, "two tensors, or two runs, have the same draws")


def step_made(trial: Trial) -> None:
    """The step is found as soon as it is there: in the graph around, in the given one, and after another graph was
    asked."""
    graphs = [tf.Graph(), tf.Graph()]

    def body(get_global_step: Callable[..., Any]) -> Any:
        found, made = [], []
        for graph in graphs:
            with building(trial, graph):
                before = get_global_step()
                made.append(v1.train.create_global_step())
                found.append((before, get_global_step(), get_global_step(graphs[0])))
        return found, made, get_global_step(graphs[1])

    trial.repeatable = False
    found, made, last = trial.call_inside(body)
    trial.equal([row[0] for row in found], [None, None])
    for number, row in enumerate(found):
        trial.check(row[1] is made[number] and row[2] is made[0], f"graph {number} has another step: {row}")
    trial.check(last is made[1], "the given graph is not used")


def collected(trial: Trial, count: int) -> None:
    """Items of any kind are returned themselves, in order and as often as they were added, also equal ones and those
    added after a call; with a scope only those with a name that fits."""
    table = np.arange(3.0)
    items: list[Any] = [1, True, 1.0, float("nan"), None, table, [], [], "a", ("a", 2), table, {}]
    items = [items[n % len(items)] for n in range(count)]

    def body(get_collection: Callable[..., Any]) -> Any:
        with building(trial):
            for item in items[:-3]:
                v1.add_to_collection("own", item)
            first = get_collection("own")
            for item in items[-3:]:
                v1.add_to_collection("own", item)
            named = [tf.constant(n, name=name) for n, name in enumerate(("part", "other/part", "parts"))]
            for item in named:
                v1.add_to_collection("own", item)
            return first, get_collection("own"), named, get_collection("own", "part")

    trial.repeatable = False
    first, second, named, fitting = trial.call_inside(body)
    for found, expected in ((first, items[:-3]), (second, [*items, *named]), (fitting, [named[0], named[2]])):
        trial.equal(len(found), len(expected))
        trial.check(all(one is other for one, other in zip(found, expected)), "an item is another object")
