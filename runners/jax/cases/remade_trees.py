"""Trees of every kind of container, taken apart and made again: the same containers, with the very same leaves."""

from __future__ import annotations

import collections
from typing import Any, Sequence

import jax
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.containers import Labelled, Pair


def _trees() -> Sequence[Any]:
    leaf, array = object(), np.arange(3)
    ordered = collections.OrderedDict([("z", 1), ("a", [2, leaf])])
    default = collections.defaultdict(list, b=(3,), a=4)
    return (
        leaf,
        None,
        (),
        [],
        {},
        ((),),
        [[], (), {}, None],
        (leaf,),
        [array],
        {"b": leaf, "a": (array, [1.5, None])},
        {3: 1, 1: 2, 2: {}},
        ordered,
        default,
        collections.deque([1, leaf]),
        Pair(leaf, Pair((), [None])),
        {"p": Pair({"b": 2, "a": 1}, "text"), "e": b"bytes"},
        Labelled([leaf, None], "name"),
        [list(range(300)), tuple(range(300, 350))],
        (True, 2 + 3j, "text", np.float32(7), range(3)),
    )


def remade(trial: Trial) -> None:
    """tree_unflatten of a tree's own leaves, as a list, a tuple and an iterator, is a tree like it; so is tree_map with
    a function that changes nothing. None and empty containers stay. The keys of a dict are sorted or in their order."""
    named = trial.function.__name__
    trial.repeatable = False  # each call is one of a row
    for tree in _trees():
        leaves, structure = jax.tree_util.tree_flatten(tree)
        if named == "tree_map":
            seen: list[Any] = []
            made = [trial.call(lambda leaf, seen=seen: seen.append(leaf) or leaf, tree)]
            _same(trial, seen, leaves)
        else:
            made = [trial.call(structure, given) for given in (leaves, tuple(leaves), iter(leaves))]
        for output in made:
            _same(trial, output, tree)


def changed_containers(trial: Trial) -> None:
    """A list or dict that was changed since an earlier call is read as it is now, also one within another container and
    one with more leaves; earlier outputs stay."""
    trial.repeatable = False  # each call is one of a row
    named = trial.function.__name__
    earlier: list[Any] = []

    def called(tree: Any, expected: Any) -> None:
        if named == "tree_map":
            earlier.append((trial.call(lambda leaf: leaf, tree), expected))
            earlier.append((trial.call(lambda *each: each[1], tree, tree), expected))
            return
        leaves, structure = jax.tree_util.tree_flatten(tree)
        earlier.append((trial.call(structure, leaves), expected))
        leaves[:] = [-1] * len(leaves)
        earlier.append((trial.call(structure, leaves), jax.tree_util.tree_map(lambda leaf: -1, expected)))

    row, table, inner = [1, 2], {"a": 1, "b": 2}, [2, 3]
    for number in (10, 20, 30):
        row[0] = number
        called(row, list(row))
    row.append(4)
    called(row, list(row))
    for number in (10, 20, 30):
        table["b"] = number
        called(table, dict(table))
    table["c"] = 5
    called(table, dict(table))
    held = ({"k": inner},)
    for number in (10, 20, 30):
        inner[1] = number
        called(held, ({"k": list(inner)},))
    for output, expected in earlier:
        _same(trial, output, expected)


def equal_numbers(trial: Trial) -> None:
    """Numbers that are equal but of other types or signs each stay what they are: 0.0 and -0.0, 1, True and 1.0."""
    trial.repeatable = False  # each call is one of a row
    numbers = [0.0, -0.0, 0, False, 1, True, 1.0, 1 + 0j, complex(0.0, -0.0), np.float32(-0.0), 0.0, np.int8(1), True]
    for given in (numbers, numbers[::-1]):
        tree = {"a": given[:5], "b": (tuple(given[5:]), None)}
        if trial.function.__name__ == "tree_map":
            outputs = [trial.call(lambda leaf: leaf, tree), trial.call(lambda one, two: two, tree, tree)]
        else:
            structure = jax.tree_util.tree_structure(tree)
            outputs = [trial.call(structure, leaves) for leaves in (given, tuple(given), iter(given))]
        for output in outputs:
            found = [*output["a"], *output["b"][0]]
            trial.equal([type(one) for one in found], [type(one) for one in given])
            trial.equal(list(map(repr, found)), list(map(repr, given)))


def mapped_to_containers(trial: Trial) -> None:
    """tree_map: what the function returns takes the leaf's place, whatever it is: None, a container, an array. Leaves
    of the other trees arrive by position, also whole subtrees below a leaf of the first. ``is_leaf`` sees every
    container, from the outside, and stops where it is true."""
    trial.repeatable = False  # each call is one of a row
    tree = {"a": [1, 2], "b": (3, None)}
    for made in (None, (), [1], {"x": None}, np.arange(2)):
        output = trial.call(lambda leaf, made=made: made, tree)
        _same(trial, output, {"a": [made, made], "b": (made, None)})
    pairs = trial.call(
        lambda *each: each, tree, {"a": ["p", ("q", None)], "b": ({"k": 1}, None)}, {"a": [5, 6], "b": (7, None)}
    )
    _same(trial, pairs, {"a": [(1, "p", 5), (2, ("q", None), 6)], "b": ((3, {"k": 1}, 7), None)})
    visited: list[Any] = []

    def stops(node: Any) -> bool:
        visited.append(node)
        return node is None or isinstance(node, tuple)

    output = trial.call(lambda leaf: ("seen", leaf), tree, is_leaf=stops)
    _same(trial, output, {"a": [("seen", 1), ("seen", 2)], "b": ("seen", (3, None))})
    trial.check(any(node is tree for node in visited), "is_leaf has not seen the whole tree")
    trial.check(any(node is tree["a"] for node in visited), "is_leaf has not seen a list")
    counted: list[Any] = []
    several = trial.call(lambda *each: counted.append(each) or len(each), tree, tree, tree, is_leaf=stops)
    _same(trial, several, {"a": [3, 3], "b": 3})
    _same(trial, counted, [(1, 1, 1), (2, 2, 2), ((3, None),) * 3])
    _same(trial, trial.call(f=lambda leaf: leaf * 2, tree=[5, None]), [10, None])
    _same(trial, trial.call(lambda leaf: [leaf], [0], is_leaf=lambda node: True), [[0]])


def refuses_other_trees(trial: Trial) -> None:
    """tree_map: a leaf, None, another container, fewer and other keys and another length do not stand for a tree, at
    the root and below it. Afterwards equal trees are mapped as before."""
    tree = {"a": [1, 2], "b": (3, None)}
    others = (
        *(5, None, [1, 2], (), {}, {"a": [1, 2]}, {**tree, "c": 4}, {"a": [1, 2], "c": (3, None)}),
        *({**tree, "a": 7}, {**tree, "a": (1, 2)}, {**tree, "a": [1]}, {**tree, "a": [1, 2, 3]}, {**tree, "a": None}),
        *({**tree, "b": [3, None]}, {**tree, "b": Pair(3, None)}, {**tree, "b": (3,)}),
    )
    for other in others:
        for trees in ((tree, other), (tree, tree, other)):
            trial.raises(["ValueError", "TypeError"], "", lambda *each: each, *trees)
    trial.raises(["TypeError"], "", None, tree)
    trial.raises(["TypeError"], "argument", lambda leaf: leaf, tree, tree)
    _same(trial, trial.call(lambda *each: sum(each), tree, tree), {"a": [2, 4], "b": (6, None)})


def _same(trial: Trial, found: Any, wanted: Any) -> None:
    """Check that two trees have the same containers, keys and leaves; a leaf that is no number is the very same."""
    trial.equal(type(found).__name__, type(wanted).__name__)
    if isinstance(wanted, dict):
        if isinstance(wanted, collections.OrderedDict):
            trial.equal(list(found), list(wanted))
        if isinstance(wanted, collections.defaultdict):
            trial.equal(found.default_factory, wanted.default_factory)
        trial.equal(sorted(found), sorted(wanted))
        trial.check(list(found) in (list(wanted), sorted(wanted)), f"the keys are in another order: {list(found)}")
        for key in wanted:
            _same(trial, found[key], wanted[key])
    elif isinstance(wanted, (list, tuple, collections.deque)):
        trial.equal(len(found), len(wanted))
        for one, other in zip(found, wanted):
            _same(trial, one, other)
    elif isinstance(wanted, Labelled):
        trial.equal(found.label, wanted.label)
        _same(trial, found.value, wanted.value)
    elif not isinstance(wanted, (int, float, complex, str, bytes)):
        trial.check(found is wanted, f"another object: {found!r}")
    else:
        trial.equal(found, wanted)
