"""Leaves of trees in detail: which parts tree_map asks about, and which iterables give tree_unflatten its leaves."""

from __future__ import annotations

from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque
from typing import Any, Iterator

import jax
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.containers import Labelled, Pair


def leaf_rules(trial: Trial) -> None:
    """tree_map: is_leaf is asked about each part of the first tree, None and empty containers too, from the outside
    inwards, and about nothing of the other trees. Containers without leaves are new ones, and results are not taken
    apart."""
    inner, empty = {"a": 1, "b": (2, None)}, [[], {}, ()]
    tree, other = [inner, empty, 3.5], [{"a": None, "b": ([4], None)}, empty, {"x": 5}]
    asked: list[Any] = []

    def note(part: Any) -> bool:
        asked.append(part)
        return False

    pairs = trial.call(lambda one, two: (one, two), tree, other, is_leaf=note)
    trial.equal(pairs, [{"a": (1, None), "b": ((2, [4]), None)}, [[], {}, ()], (3.5, {"x": 5})])
    trial.check(pairs[0]["b"][0][1] is other[0]["b"][0], "a part of the other tree is another object")
    wanted = [tree, inner, 1, inner["b"], 2, None, empty, *empty, 3.5]
    trial.equal([[part is each for each in wanted].index(True) for part in asked], list(range(len(wanted))))
    for rule, expected in (
        (lambda part: part is None, [{"a": [1], "b": ([2], [None])}, [[], {}, ()], [3.5]]),
        (lambda part: part in ([], {}, ()), [{"a": [1], "b": ([2], None)}, [[[]], [{}], [()]], [3.5]]),
        (lambda part: isinstance(part, dict), [[inner], [[], [{}], ()], [3.5]]),
        (lambda part: True, [tree]),
        (lambda part: not isinstance(part, (list, int)), [[inner], [[], [{}], [()]], [3.5]]),
        (None, [{"a": [1], "b": ([2], None)}, [[], {}, ()], [3.5]]),
    ):
        trial.equal(trial.call(lambda leaf: [leaf], tree, is_leaf=rule), expected)
    for made in ([], {}, OrderedDict(), defaultdict(list), [[]], {"a": []}, defaultdict(list, a=None)):
        output = trial.call(str, made)
        trial.equal((output == made, type(output), output is made), (True, type(made), False))
    for kind in (KeyError, ZeroDivisionError, ValueError):
        for where in ({}, {"is_leaf": lambda part, kind=kind: _raise(kind("own"))}):
            trial.raises([kind.__name__], "own", _raise if not where else str, kind("own"), **where)


def leaves_given(trial: Trial) -> None:
    """tree_unflatten: any iterable gives the leaves: a deque, a set, a dict's keys, the letters of a text, the rows of
    an array as they are. It is left as it is, its errors pass, and the containers of each call are new, though leaves
    and structure are equal."""
    pair = jax.tree_util.tree_structure([0, {"a": 0}])
    for given in (deque([1, 2]), {3: "x", 4: "y"}, "ab", range(2), b"cd", {5: 6, 7: 8}.values(), {9, 10}, [None, None]):
        first, second = list(given)
        for _ in range(2):
            output = trial.call(pair, given)
            trial.equal((output, len(given)), ([first, {"a": second}], 2))
    for array in (np.array([1.5, -0.0], "float32"), np.arange(4).reshape(2, 2), np.array([True, False])):
        output = trial.call(pair, array)
        for row, found in zip(array, (output[0], output[1]["a"])):
            trial.equal((type(found), found), (type(row), row))
    same = [1, (2,)]
    one, two = trial.call(pair, same), trial.call(pair, same)
    trial.equal(
        (one, two, one is two, one[1] is two[1], one[0] is same[0]),
        ([1, {"a": (2,)}], [1, {"a": (2,)}], False, False, True),
    )
    one[1]["b"] = 3
    one.append(4)
    trial.equal((two, trial.call(pair, same)), ([1, {"a": (2,)}],) * 2)
    for kinds in ([int, list], [len, dict], [str, print], [type, lambda: 1]):
        output = trial.call(pair, kinds)
        trial.equal((output[0] is kinds[0], output[1]["a"] is kinds[1]), (True, True))
    for empty in ([], {}, [[], {}], {"a": []}, OrderedDict(), [defaultdict(list, a=[])]):
        structure = jax.tree_util.tree_structure(empty)
        for given in ([], (), {}, iter([])):
            one, two = trial.call(structure, given), trial.call(structure, given)
            trial.equal((one == empty, type(one), one is two, one is empty), (True, type(empty), False, False))
    (default,) = trial.call(jax.tree_util.tree_structure([defaultdict(list, a=1)]), [2])
    trial.equal((default["a"], default["new"], default.default_factory is list), (2, [], True))

    first, second = trial.call(pair, (1, 2)), trial.call(pair, (1, 2))
    trial.equal((first is second, first[1] is second[1]), (False, False))

    def broken(error: Exception) -> Iterator[int]:
        yield 1
        raise error

    for kind in (KeyError, ZeroDivisionError, ValueError):
        trial.raises([kind.__name__], "own", pair, broken(kind("own")))
    for wrong in ("a", "abc", {1: 2}, deque([1, 2, 3]), np.zeros(3), iter([1]), iter(range(3)), ""):
        trial.raises(["ValueError"], "", pair, wrong)
    for wrong in ("ab", (1, 2), ""):
        trial.raises(["ValueError"], "", jax.tree_util.tree_structure(0), wrong)
    for wrong in (1, None, 2.5):
        trial.raises(["TypeError"], "", pair, wrong)


def kinds_of_nodes(trial: Trial) -> None:
    """tree_map: objects of subclasses of a list, tuple or dict are leaves, as are sets, ranges, texts, iterators and
    objects like dicts. Keys keep their types. Another tree with another container, order or keys is refused in both
    directions, without leaves too."""
    trial.repeatable = False
    own = [type("Own", (base,), {})((1, 2) if base is not dict else {"a": 1}) for base in (list, tuple, dict)]
    for leaf in (*own, Counter("ab"), UserDict(a=1), ChainMap({"a": 1}), {1, 2}, range(2), "ab", b"ab", iter([1])):
        for tree, place in ((leaf, lambda output: output), ([{"k": (leaf,)}], lambda output: output[0]["k"][0])):
            (found,) = place(trial.call(lambda leaf: {id(leaf)}, tree))
            trial.equal(found, id(leaf))
    for keys in ((True, 0), (1, 2.5), ((0,), (1, 2)), (None,), ("a", "b"), (-1, 10**30), (b"a", b"b")):
        output = trial.call(str, dict.fromkeys(keys, 1))
        trial.equal(sorted(map(repr, output)), sorted(map(repr, keys)))
    ordered, default, pair = OrderedDict(a=1, b=2), defaultdict(int, a=1, b=2), Pair(1, 2)
    different = [
        *((ordered, {"a": 1, "b": 2}), (default, {"a": 1, "b": 2}), (ordered, default), ([], {}), ((), []), ([], 3)),
        *((ordered, OrderedDict(b=1, a=2)), (pair, (1, 2)), ([1, 2], (1, 2)), ([], [1]), ({}, {"a": 1}), ((), None)),
        *(({"a": 1}, {"b": 1}), ({"a": 1, "b": 2}, {"a": 1}), (Labelled(1, "m"), Labelled(1, "n")), ([[]], [[1]])),
    ]
    for one, two in different:
        trial.raises(["ValueError"], "", _first, one, two)
        if two not in (3, None):  # a leaf takes any tree, and None does in older versions
            trial.raises(["ValueError"], "", _first, two, one)
        trial.raises(["ValueError"], "", _first, [one, one], [one, two])


def _first(*leaves: Any) -> Any:
    return leaves[0]


def _raise(error: Exception) -> None:
    raise error
