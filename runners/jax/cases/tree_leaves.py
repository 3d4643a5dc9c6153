"""jax.tree_util.tree_map and jax.lax.stop_gradient: which leaves they get, and in which containers they return them."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.containers import Labelled, Pair


def mapped_results(trial: Trial) -> None:
    """What the function returns is in the output as it is: NumPy arrays of 64 bits, plain numbers, containers. One
    array at several places is mapped at each, so that draws differ. The function may call tree_map itself, and an error
    of it comes at its first call."""
    array = trial.tensor(trial.random(3))
    made = [np.arange(2), np.array([0.1]), 2**70, [1, 2], 0.5]
    output = trial.call(lambda place: made[place], {"b": (2, [3]), "a": [0, 1, 4]})
    found = [*output["a"][:2], output["b"][0], output["b"][1][0], output["a"][2]]
    trial.check(all(one is two for one, two in zip(found, made)), f"a result was replaced: {output}")
    generator = np.random.default_rng(1)
    draws = trial.call(lambda leaf: generator.random(), [array, {"x": array, "y": (array, array)}])
    trial.equal(len(set(jax.tree_util.tree_leaves(draws))), 4)

    def nested(tree_map: Callable[..., Any]) -> Any:
        return tree_map(lambda leaf: tree_map(lambda inner: inner + leaf, [1, (2, leaf)]), {"x": 10, "y": [20]})

    trial.equal(trial.call_inside(nested), {"x": [11, (12, 20)], "y": [[21, (22, 40)]]})
    seen: list[int] = []

    def failing(leaf: int) -> float:
        seen.append(leaf)
        return 1 / (leaf - 2)

    trial.raises(["ZeroDivisionError"], "zero", failing, [1, 2, 3])
    trial.equal(seen, [1, 2])


def mapped_gradients(trial: Trial) -> None:
    """Gradients, also second ones and in a compiled function, flow to the leaves of every tree."""
    hosts = [[trial.random(3, seed=3 * tree + leaf) for leaf in range(2)] for tree in range(3)]
    trees = [{"x": trial.tensor(one), "y": [(trial.tensor(two), None)]} for one, two in hosts]

    def body(tree_map: Callable[..., Any], *trees: Any) -> Any:
        def loss(*trees: Any) -> Any:
            mapped = tree_map(lambda a, b, c: a * b + b * c * c, *trees)
            return jnp.sum(mapped["x"]) + jnp.sum(mapped["y"][0][0])

        def slope(*trees: Any) -> Any:
            return sum(map(jnp.sum, jax.tree_util.tree_leaves(jax.grad(loss, argnums=2)(*trees))))

        def both(*trees: Any) -> Any:
            return jax.grad(loss, (0, 1, 2))(*trees), jax.grad(slope, (0, 1, 2))(*trees)

        return jax.grad(loss, (0, 1, 2))(*trees), *jax.jit(both)(*trees)

    trial.has_random_inputs = False  # other values would compile the same program again
    eager, *compiled = trial.call_inside(body, *trees)
    for first, second in ((eager, compiled[1]), compiled):
        for leaf in range(2):
            a, b, c = (widened(host[leaf]) for host in hosts)
            for found, wanted in ((first, (b, a + c * c, 2 * b * c)), (second, (0 * a, 2 * c, 2 * b))):
                for tree, values in zip(found, wanted):
                    trial.close(tree["y"][0][0] if leaf else tree["x"], values, dtype="float32")


def mapped_containers(trial: Trial) -> None:
    """The data of a registered class that is not a leaf must be equal in all trees; arguments that a Partial has bound
    are leaves."""
    added = trial.call(lambda a, b: a + b, [Labelled(1, "m")], [Labelled(2, "m")])[0]
    trial.equal((type(added) is Labelled, added.value, added.label), (True, 3, "m"))
    for one, two in ((Labelled(1, "m"), Labelled(2, "s")), ([Labelled(1, "m")], [Labelled(2, "s")])):
        trial.raises(["ValueError"], "", lambda a, b: a + b, one, two)
    partial = trial.call(lambda leaf: 10 * leaf, jax.tree_util.Partial(max, 1, 2))
    trial.equal((type(partial) is jax.tree_util.Partial, partial(), partial(30)), (True, 20, 30))


def stopped_leaves(trial: Trial) -> None:
    """Leaves of named tuples and of registered classes are stopped, complex ones too, and come back in their
    containers; what is weakly typed stays so."""
    host, parts = trial.random(4), trial.random(4, dtype="complex64", seed=1)

    def body(stop_gradient: Callable[..., Any], x: Any, z: Any) -> Any:
        def loss(x: Any, z: Any) -> Any:
            tree = stop_gradient(Pair([Labelled(x, "m")], (z, None)))
            scaled = tree.first[0]
            return jnp.sum(x * scaled.value) + jnp.sum(jnp.real(z * tree.second[0])), tree

        return jax.grad(loss, argnums=(0, 1), has_aux=True)(x, z), stop_gradient(jnp.asarray(2.5))

    ((to_x, to_z), tree), number = trial.call_inside(body, trial.tensor(host), trial.tensor(parts))
    trial.equal((type(tree) is Pair, type(tree.first[0]) is Labelled, tree.first[0].label), (True, True, "m"))
    trial.exact(tree.second[0], parts, "complex64")
    trial.close(to_x, widened(host), dtype="float32")
    trial.close(to_z, widened(parts), dtype="complex64")
    trial.equal((float(number), bool(number.weak_type)), (2.5, True))
