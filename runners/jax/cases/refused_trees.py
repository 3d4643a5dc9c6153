"""What jax.tree_util.tree_map and tree_unflatten refuse, and their calls with other trees in turn."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import Any, Callable, NamedTuple

import jax
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.containers import Pair


class _Other(NamedTuple):
    first: Any
    second: Any


def map_refuses(trial: Trial) -> None:
    """Later trees must have the first one's containers: another type, length, order or key is an error, wherever it is
    and in whichever tree, before the function is called for it. So is what cannot be called."""
    called: list[Any] = []

    def added(*leaves: Any) -> Any:
        called.append(leaves)
        return sum(leaves)

    ordered = OrderedDict([("a", 1), ("b", 2)])
    for first, second in (
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ([1], [1, 2]),
        ([1, 2], [1]),
        ([], [1]),
        ((), []),
        ((1, 2), [1, 2]),
        ([[1]], [1]),
        ({"a": [1]}, {"a": (1,)}),
        (Pair(1, 2), _Other(1, 2)),
        (Pair(1, 2), (1, 2)),
        ((1, 2), Pair(1, 2)),
        (ordered, {"a": 1, "b": 2}),
        (ordered, OrderedDict([("b", 2), ("a", 1)])),
        (defaultdict(list, a=1), {"a": 1}),
    ):
        trial.raises(["ValueError"], "", added, first, second)
        trial.raises(["ValueError"], "", added, [first, 5], [second, 5])
        trial.raises(["ValueError"], "", added, first, first, second)
    trial.equal([leaves for leaves in called if len(leaves) == 1], [])
    for function in (3, None, "text"):
        trial.raises(["TypeError"], "callable", function, [1])
    trial.raises(["TypeError"], "argument", added)
    trial.raises(["TypeError"], "missing", lambda a, b: a, [1])
    trial.raises(["TypeError"], "argument", lambda a: a, [1], [2])
    trial.raises(["TypeError"], "", added, [1], is_leaf=3)
    trial.raises(["TypeError"], "keyword", added, [1], leaf=None)
    trial.raises(["TypeError", "ValueError"], "", added, {1: 2, "a": 3})
    trial.raises(["ZeroDivisionError"], "zero", lambda leaf: leaf // 0, [1])
    trial.equal(trial.call(added, [1, (2, {"a": 3})], [10, (20, {"a": 30})]), [11, (22, {"a": 33})])


def map_in_turn(trial: Trial) -> None:
    """Trees of other containers and functions, is_leaf and several trees in turn: each output is its own, a new tree,
    and no tree is changed. None is no leaf unless is_leaf says so."""
    trees = ([1, 2], (1, 2), {"b": 1, "a": 2}, [[1], 2], {"a": (1, [None, 2])}, None, 7)
    outputs = ([2, 4], (2, 4), {"a": 4, "b": 2}, [[2], 4], {"a": (2, [None, 4])}, None, 14)
    texts = list(map(repr, trees))
    for tree, expected in (*zip(trees, outputs), *zip(trees[::-1], outputs[::-1])):
        output = trial.call(lambda leaf: 2 * leaf, tree)
        trial.equal((repr(output), type(output) is type(expected)), (repr(expected), True))
        trial.check(output is not tree or tree is None, "the output is the tree itself")
    is_none = [
        trial.call(lambda leaf: leaf is None, [None, 1], is_leaf=lambda node: node is None),
        trial.call(str, [None]),
    ]
    trial.equal((repr(is_none[0]), is_none[1]), ("[True, False]", [None]))
    pairs = trial.call(
        lambda pair, other: (len(pair), other), {"a": (1, 2)}, {"a": 3}, is_leaf=lambda node: type(node) is tuple
    )
    trial.equal(pairs, {"a": (2, 3)})
    trial.equal(trial.call(lambda a, b: (a, b), {"a": 1, "b": 2}, {"b": 20, "a": 10}), {"a": (1, 10), "b": (2, 20)})
    trial.equal(list(map(repr, trees)), texts)


def map_several_leaf_rules(trial: Trial) -> None:
    """is_leaf holds for the first of several trees. The function gets what all have there, though they could be
    descended together: whole lists, None, a registered container, the whole trees."""
    trees = [{"a": [number, 2], "b": ([3], [number])} for number in (10, 20, 30)]

    def is_list(node: Any) -> bool:
        return isinstance(node, list)

    joined = {"a": [10, 2, 20, 2], "b": ([3, 3], [10, 20])}
    trial.equal(trial.call(lambda a, b: a + b, *trees[:2], is_leaf=is_list), joined)
    lengths = trial.call(lambda *parts: [len(part) for part in parts], *trees, is_leaf=is_list)
    trial.equal(lengths, {"a": [2, 2, 2], "b": ([1, 1, 1], [1, 1, 1])})
    trial.equal(trial.call(lambda *parts: parts, *trees, is_leaf=lambda node: True), tuple(trees))
    nothing = trial.call(lambda a, b: (a, b), [None, 1], [None, 2], is_leaf=lambda node: node is None)
    trial.equal(repr(nothing), "[(None, None), (1, 2)]")
    pairs = [[Pair(number, [2])] for number in (1, 5)]
    found = trial.call(lambda a, b: (a.first, b.first), *pairs, is_leaf=lambda node: isinstance(node, Pair))
    trial.equal(found, [(1, 5)])


def map_containers(trial: Trial) -> None:
    """A defaultdict keeps its factory, an OrderedDict its order, a named tuple its type; one value at several places is
    mapped at each of them; is_leaf is asked for the root too, and for each part above a leaf."""
    tree = defaultdict(list, {"b": Pair(1, OrderedDict([("z", 2), ("a", 3)]))})
    output = trial.call(lambda leaf: 10 * leaf, tree)
    trial.equal((type(output), output.default_factory), (defaultdict, list))
    trial.equal(repr(output["b"]), repr(Pair(10, OrderedDict([("z", 20), ("a", 30)]))))
    same = object()
    calls: list[Any] = []

    def count(leaf: Any) -> int:
        calls.append(leaf)
        return len(calls)

    trial.repeatable = False  # it counts its calls
    trial.equal(trial.call(count, [same, (same, same)]), [1, (2, 3)])
    trial.repeatable = True
    asked: list[str] = []

    def is_pair(node: Any) -> bool:
        asked.append(repr(node))
        return isinstance(node, Pair)

    trial.equal(trial.call(len, Pair(1, 2), is_leaf=is_pair), 2)
    trial.equal(trial.call(len, [Pair(1, 2), (Pair(3, [4]),)], is_leaf=is_pair), [2, (2,)])
    trial.check({"[Pair(first=1, second=2), (Pair(first=3, second=[4]),)]"} <= set(asked), f"it was asked for {asked}")


def map_values(trial: Trial) -> None:
    """Each leaf is given once, in order and as it is, whatever it is; what the function returns, None too, takes its
    place; keys may be numbers; the tree that is given does not change; all arguments have names."""
    leaves = [float("nan"), -0.0, 2**70, "text", b"", 1j, np.float16(3), {1, 2}, object(), True]
    tree = {3: leaves[:4], -1: tuple(leaves[4:7]), 10: {"z": leaves[7], "a": [leaves[8], [[leaves[9]]]]}}
    before = repr(tree)
    seen: list[Any] = []

    def look(leaf: Any) -> None:
        seen.append(leaf)

    trial.repeatable = False  # it counts its calls
    output = trial.call(f=look, tree=tree, is_leaf=None)
    expected = [*leaves[4:7], *leaves[:4], leaves[8], leaves[9], leaves[7]]
    trial.equal((len(seen), all(one is two for one, two in zip(seen, expected))), (len(leaves), True))
    trial.equal(output, {3: [None] * 4, -1: (None,) * 3, 10: {"z": None, "a": [None, [[None]]]}})
    trial.equal(repr(tree), before)
    same = trial.call(lambda leaf: leaf, tree)
    trial.equal((same == tree, same is tree, same[3] is tree[3], same[3][2] is leaves[2]), (True, False, False, True))
    whole = trial.call(lambda leaf: leaf, 5)
    trial.equal((whole, trial.call(lambda a, b: (a, b), 5, [6, None])), (5, (5, [6, None])))


def unflatten_values(trial: Trial) -> None:
    """Leaves take their places as they are, None and containers too; keys may be numbers; both arguments have names; a
    deep tree and one of many lists are rebuilt."""
    leaves = [None, float("nan"), 2**70, (1, 2), {"a": 3}, np.float16(3), "text"]
    structure = jax.tree_util.tree_structure({3: [0, 0], -1: (0, {10: 0, 9: 0}), 7: [[0], 0]})
    output = trial.call(treedef=structure, leaves=leaves)
    flat = [output[-1][0], output[-1][1][9], output[-1][1][10], *output[3], output[7][0][0], output[7][1]]
    trial.equal(all(one is two for one, two in zip(flat, leaves)), True)
    deep: Any = 0
    for _ in range(60):
        deep = [deep]
    output = trial.call(jax.tree_util.tree_structure(deep), ["end"])
    trial.equal(repr(output), "[" * 60 + "'end'" + "]" * 60)
    many = jax.tree_util.tree_structure([[0] * (number % 3) for number in range(131)])
    output = trial.call(many, range(many.num_leaves))
    trial.equal([len(part) for part in output], [number % 3 for number in range(131)])
    trial.equal([leaf for part in output for leaf in part], list(range(many.num_leaves)))


def unflatten_refuses(trial: Trial) -> None:
    """Another number of leaves, for every kind of container, what is no structure, and leaves that cannot be iterated
    are errors."""
    structure = jax.tree_util.tree_structure
    for tree, leaves in (
        ({"a": 0, "b": 0}, 2),
        (Pair(0, 0), 2),
        ([], 0),
        (None, 0),
        (7, 1),
        ([[0], (0, {"x": 0})], 3),
    ):
        for count in (leaves - 1, leaves + 1, leaves + 2):
            if count >= 0:
                trial.raises(["ValueError"], "leaves", structure(tree), [0] * count)
                trial.raises_inside(["ValueError"], "leaves", _from_iterator, structure(tree), count)
    for kind in (None, [0], "text", structure):
        trial.raises(["AttributeError", "TypeError"], "", kind, [1])
    for leaves in (3, None, 2.5):
        trial.raises(["TypeError"], "", structure([0]), leaves)
    trial.raises(["TypeError"], "argument", structure([0]))
    trial.equal(trial.call(structure(Pair(0, [0])), [1, 2]), Pair(1, [2]))


def unflatten_in_turn(trial: Trial) -> None:
    """Structures in turn give their own containers, which are new at each call and share nothing; leaves can be in any
    sequence, and can be containers themselves."""
    host = trial.random(2)
    array = trial.tensor(host)
    structures = [
        jax.tree_util.tree_structure(tree) for tree in ([0, 0], (0, 0), {"b": 0, "a": 0}, Pair(0, 0), [[0], 0])
    ]
    expected = ([1, 2], (1, 2), {"a": 1, "b": 2}, Pair(1, 2), [[1], 2])
    for number in (0, 1, 2, 3, 4, 0, 3, 1):
        for leaves in ([1, 2], (1, 2), iter((1, 2)), {1: "a", 2: "b"}):
            trial.repeatable = False  # an iterator can be used only once
            trial.equal(repr(trial.call(structures[number], leaves)), repr(expected[number]))
    first, second = (trial.call(structures[0], [[1], {"a": 2}]) for _ in range(2))
    first.append(3)
    trial.equal((second, trial.call(structures[0], [5, 6])), ([[1], {"a": 2}], [5, 6]))
    rows = trial.call(structures[1], array)
    trial.equal([trial.numpy(row).item() for row in rows], host.tolist())
    trial.equal(trial.call(structures[0], np.array([3, 4])), [3, 4])


def _from_iterator(tree_unflatten: Callable[..., Any], structure: Any, count: int) -> Any:
    return tree_unflatten(structure, iter([0] * count))
