"""tf.compat.v1.get_collection: the named collections of a graph."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, call_building, close, run

v1 = tf.compat.v1


def _same(trial: Trial, found: Any, expected: Sequence[Any]) -> None:
    """Check for a list of exactly these objects in this order."""
    trial.check(isinstance(found, list), f"expected a list, got {type(found).__name__}")
    trial.check(
        len(found) == len(expected) and all(one is other for one, other in zip(found, expected)),
        f"expected {expected}, got {found}",
    )


def random_variable(trial: Trial, name: str, shape: Sequence[int], dtype: str, seed: int = 1, **options: Any) -> Any:
    """Return a variable with random initial values, and these values on the host."""
    host = trial.random(*shape, dtype=dtype, seed=seed).astype(trial.dtype(dtype).as_numpy_dtype)
    return v1.get_variable(name, initializer=tf.constant(host), use_resource=True, **options), host


def variables_by_kind(trial: Trial, key: str) -> None:
    """Each standard collection holds the variables of its kind in creation order."""
    with building(trial) as graph:
        weights, _ = random_variable(trial, "weights", [2], "float32")
        counter, _ = random_variable(trial, "counter", [], "int64", trainable=False)
        cache, _ = random_variable(trial, "cache", [3], "float32", trainable=False, collections=["local_variables"])
        bias, _ = random_variable(trial, "bias", [1], "float64")
    expected = {
        "variables": [weights, counter, bias],
        "trainable_variables": [weights, bias],
        "local_variables": [cache],
        "moving_average_variables": [],
    }[key]
    found = call_building(trial, graph, key)
    _same(trial, found, expected)
    trial.equal([item.op.name for item in found], [item.op.name for item in expected])


def own_items(trial: Trial, count: int) -> None:
    """A collection under a custom key keeps plain values and tensors, each as often as it was added."""
    with building(trial) as graph:
        tensor = tf.constant([1.5, 2.5])
        items: list[Any] = [f"item {number}" for number in range(count)]
        items += [tensor, 7, "item 0", tensor, None]
        for item in items:
            v1.add_to_collection("mine", item)
        v1.add_to_collection("other", "elsewhere")
        v1.add_to_collections(["other", ("a", 1)], "both")
    found = call_building(trial, graph, "mine")
    _same(trial, found, items)
    _same(trial, call_building(trial, graph, "other"), ["elsewhere", "both"])
    _same(trial, call_building(trial, graph, ("a", 1)), ["both"])


def unknown_key(trial: Trial) -> None:
    """An unused key gives an empty list, and the query creates no collection."""
    with building(trial) as graph:
        v1.add_to_collection("known", 1.25)
    _same(trial, call_building(trial, graph, "unknown"), [])
    trial.equal(list(graph.collections), ["known"])
    _same(trial, call_building(trial, graph, "known"), [1.25])


def copied(trial: Trial) -> None:
    """The list is a copy: changing it does not change the collection, and later additions do not change the list."""
    with building(trial) as graph:
        v1.add_to_collection("key", "one")
        v1.add_to_collection("key", "two")
    first = call_building(trial, graph, "key")
    first.append("three")
    graph.add_to_collection("key", "four")
    second = call_building(trial, graph, "key")
    _same(trial, first, ["one", "two", "three"])
    _same(trial, second, ["one", "two", "four"])


def by_scope(trial: Trial, scope: str, expected: Sequence[str]) -> None:
    """With a scope only items are returned whose name starts with a match of it as a regular expression."""
    with building(trial) as graph:
        for name in ("layer1/weights", "layer1/bias", "layer2/weights", "layer10/weights", "other/layer1"):
            random_variable(trial, name, [2], "float32")
        # An item without a name never matches.
        v1.add_to_collection(v1.GraphKeys.GLOBAL_VARIABLES, "layer1")
    found = call_building(trial, graph, v1.GraphKeys.GLOBAL_VARIABLES, scope=scope)
    trial.check(isinstance(found, list), f"expected a list, got {type(found).__name__}")
    trial.equal([variable.name for variable in found], list(expected))


def per_graph(trial: Trial) -> None:
    """Collections belong to their graph: the default graph's are returned, also with nested graphs."""
    outer, inner = tf.Graph(), tf.Graph()
    outer.add_to_collection("key", "outer")
    inner.add_to_collection("key", "inner")

    def body(get_collection: Callable[..., Any]) -> Any:
        with outer.as_default():
            before = get_collection("key")
            with inner.as_default():
                inside = get_collection("key")
            return before, inside, get_collection("key")

    before, inside, after = trial.call_inside(body)
    _same(trial, before, ["outer"])
    _same(trial, inside, ["inner"])
    _same(trial, after, ["outer"])


def losses(trial: Trial) -> None:
    """The losses that layers add to the collection are summed in a session."""
    host = trial.random(5, 3, seed=2)
    with building(trial) as graph:
        x = v1.placeholder(tf.float32, [None, 3])
        for power in (1, 2):
            v1.losses.add_loss(tf.reduce_mean(tf.abs(x) ** power))
    found = call_building(trial, graph, v1.GraphKeys.LOSSES)
    trial.equal(len(found), 2)
    with building(trial, graph):
        total = tf.add_n(found)
    with v1.Session(graph=graph) as session:
        wide = abs(host.astype("float64"))
        close(trial, run(trial, session, total, {x: host}), wide.mean() + (wide**2).mean(), "float32")


def by_scope_of_kinds(trial: Trial) -> None:
    """With a scope, tensors, operations and variables are found by their names, as often as they were added and in that
    order; text, numbers and what has no name are not."""
    with building(trial) as graph:
        with v1.name_scope("net"):
            tensor = tf.constant(1.0, name="one")
            operation = tf.no_op(name="wait")
        outside = tf.constant(2.0, name="onenet")
        variable, _ = random_variable(trial, "net2/weights", [2], "float32")
        for item in (tensor, "net/text", outside, operation, variable, 7, tensor):
            v1.add_to_collection("mine", item)
    _same(trial, call_building(trial, graph, "mine", "net"), [tensor, operation, variable, tensor])
    _same(trial, call_building(trial, graph, key="mine", scope="net/"), [tensor, operation, tensor])
    _same(trial, call_building(trial, graph, "mine", r"(one|net\d)"), [outside, variable])
    _same(trial, call_building(trial, graph, "mine", "one$"), [])
    _same(trial, call_building(trial, graph, "mine", None)[1:2], ["net/text"])


def changed_between(trial: Trial) -> None:
    """What is in the collection counts at each call: other items, as many as before, under a key of any kind, and of
    another graph. An empty scope leaves out only what has no name."""
    tensors, operations = [], []
    graphs = [tf.Graph(), tf.Graph()]
    for graph in graphs:
        with building(trial, graph):
            tensors.append(tf.constant(1.0, name="one"))
            operations.append(tf.no_op(name="wait"))
    keys: list[Any] = ["mine", ("a", 1), 7, None]

    def body(get_collection: Callable[..., Any]) -> Any:
        found = []
        for key in keys:
            for graph, tensor, operation in zip(graphs, tensors, operations):
                with graph.as_default():
                    graph.get_collection_ref(key)[:] = [tensor, "text"]
                    found.append(get_collection(key))
                    found.append(get_collection(key, ""))
                    graph.clear_collection(key)
                    graph.add_to_collections([key], 3)
                    graph.add_to_collection(key, operation)
                    found.append(get_collection(key))
                    found.append(get_collection(key, scope=""))
        return found

    found = trial.call_inside(body)
    for number in range(0, len(found), 4):
        tensor, operation = tensors[number // 4 % 2], operations[number // 4 % 2]
        for items, expected in zip(found[number:], ([tensor, "text"], [tensor], [3, operation], [operation])):
            _same(trial, items, expected)


def by_spelling(trial: Trial) -> None:
    """A scope is a pattern in Python's sense: capitals count unless it says otherwise, a dot is any character, it
    matches from the start and need not reach the end. An empty scope leaves out what has no name, None nothing."""
    names = ("Layer/w", "layer/v", "LAYER/u", "a.b/w", "axb/w", "Ax/layer/w")
    with building(trial) as graph:
        made = {name: random_variable(trial, name, [2], "float32")[0] for name in names}
        v1.add_to_collection(v1.GraphKeys.GLOBAL_VARIABLES, "layer/text")
    every = [*made.values(), "layer/text"]
    for scope, expected in (
        ("Layer", ["Layer/w"]),
        ("layer", ["layer/v"]),
        ("(?i)layer", ["Layer/w", "layer/v", "LAYER/u"]),
        ("a.b", ["a.b/w", "axb/w"]),
        (r"a\.b", ["a.b/w"]),
        ("[aA]x", ["axb/w", "Ax/layer/w"]),
        ("layer/v:0$", ["layer/v"]),
        ("w", []),
        (".*layer", ["layer/v", "Ax/layer/w"]),
    ):
        found = call_building(trial, graph, v1.GraphKeys.GLOBAL_VARIABLES, scope)
        _same(trial, found, [made[name] for name in expected])
    for scope, expected in (("", every[:-1]), (None, every)):
        _same(trial, call_building(trial, graph, v1.GraphKeys.GLOBAL_VARIABLES, scope=scope), expected)
