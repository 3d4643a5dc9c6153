"""jax.tree_util.tree_map: a function for every leaf of a nested value."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Callable, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial


class _Layer(NamedTuple):
    weight: Any
    bias: Any


@jax.tree_util.register_pytree_node_class
class _Interval:
    """A container of this module's own, which JAX is told how to take apart. Its unit is no leaf."""

    def __init__(self, low: Any, high: Any, unit: str) -> None:
        self.low, self.high, self.unit = low, high, unit

    def tree_flatten(self) -> tuple[Any, str]:
        return (self.low, self.high), self.unit

    @classmethod
    def tree_unflatten(cls, unit: str, children: Any) -> _Interval:
        return cls(*children, unit)


def tree_nested(trial: Trial, dtype: str) -> None:
    """Every array is mapped, in place of the old one; dicts, lists, tuples and None stay as they were."""
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
    """With several trees the function gets the leaves that stand in the same place."""
    one, two, three = (trial.random(4, seed=seed) for seed in range(3))
    first = {"x": trial.tensor(one), "y": [trial.tensor(two)]}
    second = {"x": trial.tensor(three), "y": [trial.tensor(one)]}
    output = trial.call(lambda a, b: a - 2 * b, first, second)
    trial.equal((sorted(output), len(output["y"])), (["x", "y"], 1))
    trial.close(output["x"], one - 2 * three, dtype="float32")
    trial.close(output["y"][0], two - 2 * one, dtype="float32")


def tree_leaf_rule(trial: Trial) -> None:
    """is_leaf stops the descent: lists are handed over whole, None too."""
    one, two = trial.random(5), trial.random(5, seed=1)
    tree = {"pair": [trial.tensor(one), trial.tensor(two)], "nothing": None}
    output = trial.call(
        lambda leaf: -1 if leaf is None else jnp.stack(leaf), tree, is_leaf=lambda node: not isinstance(node, dict)
    )
    trial.close(output["pair"], np.stack([one, two]), dtype="float32")
    trial.equal(output["nothing"], -1)


def tree_own_container(trial: Trial) -> None:
    """A registered class is taken apart and put together again, with what it keeps beside its leaves."""
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
    """A tree without leaves comes back as it is, and the function is never called."""
    calls: list[Any] = []
    output = trial.call(calls.append, {"nothing": None, "empty": [(), {}]})
    trial.equal((output, calls), ({"nothing": None, "empty": [(), {}]}, []))


def tree_large(trial: Trial, leaves: int) -> None:
    """Each of many leaves is mapped, in its place."""
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
