"""jax.tree_util.tree_map and tree_unflatten: functions of the leaves of a nested value."""

from __future__ import annotations

import itertools
from collections import OrderedDict, defaultdict
from functools import lru_cache
from typing import Any, Callable, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.containers import Pair


class _Layer(NamedTuple):
    weight: Any
    bias: Any


@jax.tree_util.register_pytree_node_class
class _Interval:
    """A container of this module, with a registered way to flatten it. Its unit is not a leaf."""

    def __init__(self, low: Any, high: Any, unit: str) -> None:
        self.low, self.high, self.unit = low, high, unit

    def tree_flatten(self) -> tuple[Any, str]:
        return (self.low, self.high), self.unit

    @classmethod
    def tree_unflatten(cls, unit: str, children: Any) -> _Interval:
        return cls(*children, unit)


def tree_nested(trial: Trial, dtype: str) -> None:
    """Every array is mapped in its place; dicts, lists, tuples and None are kept."""
    hosts = [np.asarray(trial.random(3, 2, dtype=dtype, seed=seed)) for seed in range(4)]
    a, b, c, d = (trial.tensor(host, dtype) for host in hosts)
    tree = {"layers": [(a, b), {"scale": c}], "nothing": None, "last": _Layer(d, ())}
    output = trial.call(lambda leaf: leaf + leaf, tree)
    trial.equal(sorted(output), ["last", "layers", "nothing"])
    trial.equal((output["nothing"], type(output["last"]) is _Layer, output["last"].bias), (None, True, ()))
    trial.equal([type(item) for item in output["layers"]], [tuple, dict])
    (a, b), named = output["layers"]
    for leaf, host in zip((a, b, named["scale"], output["last"].weight), hosts):
        trial.close(leaf, np.add(host, host), dtype=dtype)


def tree_several(trial: Trial) -> None:
    """With several trees the function gets the leaves at the same place, or the whole part of a later tree there."""
    one, two, three = (trial.random(4, seed=seed) for seed in range(3))
    first = {"x": trial.tensor(one), "y": [trial.tensor(two)]}
    second = {"x": trial.tensor(three), "y": [trial.tensor(one)]}
    third = {"x": (trial.tensor(two), None), "y": [{"more": [trial.tensor(three)]}]}
    output = trial.call(lambda a, b, c: (a - 2 * b, c), first, second, third)
    trial.equal((sorted(output), len(output["y"])), (["x", "y"], 1))
    (of_x, (moved, nothing)), (of_y, deeper) = output["x"], output["y"][0]
    trial.close(of_x, one - 2 * three, dtype="float32")
    trial.close(of_y, two - 2 * one, dtype="float32")
    trial.equal((nothing, list(deeper), len(deeper["more"])), (None, ["more"], 1))
    trial.exact(moved, two, "float32")
    trial.exact(deeper["more"][0], three, "float32")


def tree_leaf_rule(trial: Trial) -> None:
    """is_leaf stops the descent: the function gets whole lists, and None."""
    one, two = trial.random(5), trial.random(5, seed=1)
    tree = {"pair": [trial.tensor(one), trial.tensor(two)], "nothing": None}
    output = trial.call(
        lambda leaf: -1 if leaf is None else jnp.stack(leaf), tree, is_leaf=lambda node: not isinstance(node, dict)
    )
    trial.close(output["pair"], np.stack([one, two]), dtype="float32")
    trial.equal(output["nothing"], -1)


def tree_own_container(trial: Trial) -> None:
    """A registered class is flattened and rebuilt, with its data that is not a leaf."""
    low, high = trial.random(3), trial.random(3, seed=1)
    output = trial.call(jnp.exp, _Interval(trial.tensor(low), trial.tensor(high), "metre"))
    trial.equal((type(output) is _Interval, output.unit), (True, "metre"))
    trial.close(output.low, np.exp(low.astype("float64")), dtype="float32")
    trial.close(output.high, np.exp(high.astype("float64")), dtype="float32")


def tree_order(trial: Trial) -> None:
    """Leaves are visited in the order of a dict's sorted keys, but of an OrderedDict's own."""
    visited: list[int] = []

    def visit(number: int) -> int:
        visited.append(number)
        return 10 * number

    tree = [{"b": 2, "c": 3, "a": 1}, OrderedDict([("z", 4), ("y", 5)])]
    output = trial.call(visit, tree)
    trial.equal(visited, [1, 2, 3, 4, 5])
    trial.equal([repr(output[0][key]) for key in "abc"], ["10", "20", "30"])
    trial.equal((type(output[1]) is OrderedDict, list(output[1].items())), (True, [("z", 40), ("y", 50)]))


def tree_empty(trial: Trial) -> None:
    """A tree without leaves is returned unchanged, and the function is not called."""
    calls: list[Any] = []
    output = trial.call(calls.append, {"nothing": None, "empty": [(), {}]})
    trial.equal((output, calls), ({"nothing": None, "empty": [(), {}]}, []))


def tree_containers(trial: Trial) -> None:
    """The same leaves come out in the containers that they are in, at the same places, for each of two
    functions."""
    hosts = [trial.random(4, seed=seed) for seed in range(3)]
    a, b, c = map(trial.tensor, hosts)
    trees = ([a, b, c], (a, b, c), {"x": a, "y": b, "z": c}, {"u": a, "v": b, "w": c}, [a, (b, c)], [(a, b), c])
    more = ((a, None, [b, {}], c), _Interval(a, b, "metre"), _Interval(a, b, "second"), Pair(a, b), _Layer(a, b))
    functions = ((lambda leaf: 2 * leaf, 2), (lambda leaf: -3 * leaf, -3))
    for tree, (function, factor) in itertools.product((*trees, *more), functions):
        output = trial.call(function, tree)
        leaves, structure = jax.tree_util.tree_flatten(output)
        expected = jax.tree_util.tree_structure(tree)
        trial.check(structure == expected, f"expected {expected}, got {structure}")
        trial.equal(type(output) is type(tree), True)
        for leaf, host in zip(leaves, hosts):
            trial.close(leaf, factor * widened(host), dtype="float32")


def tree_large(trial: Trial, leaves: int) -> None:
    """Each of many leaves is mapped in its place."""
    host = trial.random(leaves)
    tree = {str(index): [trial.tensor(value)] for index, value in enumerate(host)}
    output = trial.call(jnp.negative, tree)
    trial.equal(sorted(output), sorted(tree))
    read = trial.numpy(output)
    trial.equal(np.array([read[str(index)][0] for index in range(leaves)]), -host)
    trial.equal({trial.dtype_name(leaf) for (leaf,) in output.values()}, {"float32"})


def tree_sgd(trial: Trial) -> None:
    """A step of gradient descent over a tree of parameters, traced and differentiated, is w - 0.1 dL/dw."""
    hosts = {"w": trial.random(4, 3), "b": trial.random(3, seed=1)}

    def body(tree_map: Callable[..., Any], parameters: Any) -> Any:
        def loss(parameters: Any) -> Any:
            squares = tree_map(lambda leaf: jnp.sum(leaf * leaf), parameters)
            return squares["w"] + 3 * squares["b"]

        return tree_map(lambda leaf, slope: leaf - 0.1 * slope, parameters, jax.grad(loss)(parameters))

    output = trial.call_inside(body, {name: trial.tensor(host) for name, host in hosts.items()})
    trial.close(output["w"], 0.8 * hosts["w"].astype("float64"), dtype="float32")
    trial.close(output["b"], 0.4 * hosts["b"].astype("float64"), dtype="float32")


# jax.tree_util.tree_unflatten


def unflattened(trial: Trial, dtype: str) -> None:
    """New leaves take the places of the old ones: in a dict by sorted keys, in a named tuple by its fields, in a
    registered class with its data that is not a leaf."""
    hosts = [np.asarray(trial.random(2, 3, dtype=dtype, seed=seed)) for seed in range(7)]
    leaves = [trial.tensor(host, dtype) for host in hosts]
    own = _Interval(0, 0, "metre")
    tree = {"b": [0, (0,)], "a": Pair(0, {"z": 0, "y": 0}), "none": None, "c": own}
    output = trial.call(jax.tree_util.tree_structure(tree), leaves)
    trial.equal((sorted(output), output["none"]), (["a", "b", "c", "none"], None))
    trial.equal((type(output["c"]) is _Interval, output["c"] is own, output["c"].unit), (True, False, "metre"))
    trial.equal([type(output["a"]) is Pair, type(output["b"]) is list, type(output["b"][1]) is tuple], [True] * 3)
    trial.equal((sorted(output["a"].second), len(output["b"]), len(output["b"][1])), (["y", "z"], 2, 1))
    pair, (first, (second,)) = output["a"], output["b"]
    of_own = (output["c"].low, output["c"].high)
    for found, moved in zip((pair.first, pair.second["y"], pair.second["z"], first, second, *of_own), leaves):
        trial.exact(found, trial.numpy(moved), dtype)


def unflattened_round(trial: Trial, kind: str) -> None:
    """A tree that is flattened and rebuilt is unchanged: same containers, same order, same leaves."""
    trees: dict[str, Any] = {
        "ordered": OrderedDict([("z", 1), ("a", (2, defaultdict(list, {"b": 3, "y": 4})))]),
        "empty": {"more": [(), {}], "nothing": None},
        "leaf": 42,
        "deep": [[[[[5]]]], {"x": {"y": (6, [7, None])}}],
        "named": Pair([1, 2], Pair(3, "four")),
    }
    leaves, structure = jax.tree_util.tree_flatten(trees[kind])
    output = trial.call(structure, leaves)
    trial.equal(repr(output), repr(trees[kind]))
    trial.equal(jax.tree_util.tree_structure(output) == structure, True)


def unflattened_refuses(trial: Trial, leaves: int, word: str) -> None:
    """Another number of leaves than the structure has is an error."""
    structure = jax.tree_util.tree_structure((0, [0, 0]))
    trial.raises(["ValueError"], word, structure, [1.5] * leaves)


def unflattened_iterator(trial: Trial) -> None:
    """The leaves can come from a generator and have any type; they are not inspected."""
    structure = jax.tree_util.tree_structure((0, [0, 0]))
    trial.repeatable = False  # a generator can be used only once
    output = trial.call(structure, (leaf for leaf in ({"a": 1}, "text", trial.tensor(np.float32(3)))))
    trial.equal((output[0], output[1][0]), ({"a": 1}, "text"))
    trial.close(output[1][1], np.float32(3), dtype="float32")


def unflattened_many(trial: Trial, leaves: int) -> None:
    """Each of many leaves is at its place: arrays of the device among NumPy's numbers."""
    host = trial.random(leaves)
    structure = jax.tree_util.tree_structure({f"{index:05}": [0] for index in range(leaves)})
    output = trial.call(structure, [value if index % 100 else trial.tensor(value) for index, value in enumerate(host)])
    trial.equal(list(output), [f"{index:05}" for index in range(leaves)])
    trial.equal(np.array(trial.numpy([leaf for (leaf,) in output.values()])), host)
    trial.equal({leaf.dtype.name for (leaf,) in output.values()}, {"float32"})


def mapped_many(trial: Trial, leaves: int) -> None:
    """Each of many leaves, of one and of two trees, is given to the function once, in its order."""
    seen: list[Any] = []

    def of(*values: Any) -> Any:
        seen.append(values)
        return sum(values) + 1

    for count in (1, 2):
        given = [{"b": [n, (n + 1,)], "a": n + 2} for n in range(leaves)]
        seen.clear()
        output = trial.call(of, *[given] * count)
        trial.equal(
            output,
            [{"b": [count * n + 1, (count * n + count + 1,)], "a": count * n + 2 * count + 1} for n in range(leaves)],
        )
        trial.equal(seen, [(n + each,) * count for n in range(leaves) for each in (2, 0, 1)])


def unflattened_containers(trial: Trial) -> None:
    """Leaves may be containers, None, texts and objects of any kind: they are put in place as they are."""
    values: list[Any] = [[], [1, [2]], {}, {"a": 1}, (), (1,), None, "text", object(), {1}, np.zeros(2), lambda: 1, 1.5]
    structure = jax.tree_util.tree_structure({"b": [0] * (len(values) - 1), "a": (0,)})
    output = trial.call(structure, values)
    found = [*output["a"], *output["b"]]
    trial.equal([a is b for a, b in zip(found, values)], [True] * len(values))
    trial.equal((list(output), type(output["a"]), len(found)), (["a", "b"], tuple, len(values)))


def unflattened_in_trace(trial: Trial) -> None:
    """In a compiled and differentiated function it rebuilds a tree of traced leaves."""
    weight, bias, x = trial.random(3, 2), trial.random(2, seed=1), trial.random(3, seed=2)
    structure = jax.tree_util.tree_structure({"bias": 0, "weight": 0})

    def body(tree_unflatten: Callable[..., Any], leaves: Any, x: Any) -> Any:
        return _layer_and_gradient(tree_unflatten, structure)(leaves, x)

    leaves = [trial.tensor(bias), trial.tensor(weight)]
    output, (to_bias, to_weight) = trial.call_inside(body, leaves, trial.tensor(x))
    # Sums of three products.
    trial.close(output, widened(x) @ weight + bias, rtol=1e-5, dtype="float32")
    trial.close(to_bias, np.ones(2), dtype="float32")
    trial.close(to_weight, np.repeat(widened(x)[:, None], 2, axis=1), dtype="float32")


@lru_cache(maxsize=1)
def _layer_and_gradient(tree_unflatten: Callable[..., Any], structure: Any) -> Callable[..., Any]:
    """Compile once for each function, so that a repeated call does not compile again."""

    def layer(leaves: Any, x: Any) -> Any:
        parameters = tree_unflatten(structure, leaves)
        return x @ parameters["weight"] + parameters["bias"]

    return jax.jit(lambda leaves, x: (layer(leaves, x), jax.grad(lambda leaves: jnp.sum(layer(leaves, x)))(leaves)))
