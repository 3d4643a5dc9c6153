"""tf.nest.map_structure: which structures match, what is a leaf, and what is refused."""

from __future__ import annotations

import collections
from typing import Any, Callable

import attr
import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def matches(trial: Trial) -> None:
    """Dictionaries match by their keys in any order and of any type, and named tuples by name and fields; the output is
    like the first."""
    first = collections.OrderedDict([("z", 1), ("a", (5, [7]))])
    output = trial.call(lambda x, y, z: x - y * z, first, {"a": (2, [3]), "z": 10}, {"z": 4, "a": (6, [-1])})
    trial.check(type(output) is collections.OrderedDict, f"an ordered dictionary became {type(output)}")
    trial.equal(list(output.items()), [("z", -39), ("a", (-7, [10]))])
    one, other = (collections.namedtuple("Point", "x y") for _ in range(2))
    output = trial.call(lambda x, y: (x, y), one(1, "b"), other(3, None))
    trial.check(type(output) is one, f"the named tuple became {type(output)}")
    trial.equal(tuple(output), ((1, 3), ("b", None)))


def leaves(trial: Trial) -> None:
    """Arrays, bytes, sets, shapes and variables are leaves; the function can return a structure or nothing."""
    variable = tf.Variable(trial.tensor(trial.random(2, 3, seed=1)))
    given = [np.arange(3), b"ab", {1, 2}, tf.TensorShape([2, 3]), variable, -1.5]
    seen: list[Any] = []

    def note(leaf: Any) -> Any:
        seen.append(leaf)
        return None if leaf is variable else {"kind": [type(leaf).__name__]}

    output = trial.call(note, {"b": given[:3], "a": tuple(given[3:])})
    trial.check(all(one is two for one, two in zip(seen, given[3:] + given[:3])), f"the leaves are {seen}")
    kinds = [leaf and leaf["kind"][0] for leaf in (*output["a"], *output["b"])]
    trial.equal(kinds, ["TensorShape", None, "float", "ndarray", "bytes", "set"])


def empty_ones_and_classes(trial: Trial) -> None:
    """Structures without leaves are new objects, and the function is not called; a class with attributes of attrs is a
    structure whose fields are mapped in their order."""

    @attr.s
    class Pair:
        second = attr.ib()
        first = attr.ib()

    called: list[Any] = []

    def note(*leaves: Any) -> Any:
        called.append(leaves)
        return len(called)

    structures: list[Any] = [[], {}, [[]], {"a": []}, [{}, ()]]
    for given in structures:
        output = trial.call(note, given)
        trial.equal(output, given)
        trial.check(output is not given, "the caller's structure was returned")
        if given:
            key = "a" if isinstance(given, dict) else 0
            trial.check(output[key] is not given[key], "a part was shared")
    trial.equal(called, [])
    trial.repeatable = False
    output = trial.call(note, [Pair("b", ["a", "c"])], [Pair(2, [1, 3])])
    trial.check(type(output[0]) is Pair, f"the class became {type(output[0])}")
    trial.equal(called, [("b", 2), ("a", 1), ("c", 3)])
    trial.equal((output[0].second, output[0].first), (1, [2, 3]))


def expands_several(trial: Trial) -> None:
    """Two ragged tensors are expanded together: the function gets the parts of both."""
    rows = [trial.random(4, seed=seed) for seed in (2, 3)]
    ragged = [tf.RaggedTensor.from_row_lengths(trial.tensor(row), [3, 0, 1]) for row in rows]
    output = trial.call(lambda x, y: x - y if x.dtype.is_floating else x, *ragged, expand_composites=True)
    trial.check(isinstance(output, tf.RaggedTensor), f"a ragged tensor became {type(output)}")
    trial.close(output.values, rows[0].astype("float64") - rows[1], dtype="float32")
    trial.close(output.row_splits, [0, 3, 3, 4], dtype="int64")


def refuses(trial: Trial, what: str) -> None:
    """No structure, another keyword, other keys, and another kind of sequence or named tuple are errors."""
    point = collections.namedtuple("Point", "x y")
    other = collections.namedtuple("Other", "x y")
    call: Callable[[Callable[..., Any]], Any]
    call, kind, word = {
        "nothing": (lambda function: function(abs), "ValueError", "structure"),
        "keyword": (lambda function: function(abs, [1], check=True), "ValueError", "keyword"),
        "keys": (lambda function: function(max, {"a": 1}, {"b": 1}), "ValueError", "keys"),
        "sequence": (lambda function: function(max, [1, 2], (1, 2)), "TypeError", "structure"),
        "tuples": (lambda function: function(max, point(1, 2), other(1, 2)), "TypeError", "structure"),
    }[what]
    trial.raises_inside([kind], word, call)


def structures_in_turn(trial: Trial) -> None:
    """Each call has the structure, the function and the options of its own arguments, though classes have one name and
    structures one form."""
    point, swapped = (collections.namedtuple("Point", names) for names in ("x y", "y x"))
    for given in ((1, 2), [1, 2], point(1, 2), swapped(1, 2), {"a": 1, "b": 2}, {"b": 1, "c": 2}, (1, (2,)), ((1,), 2)):
        for step in (3, -5):
            output = trial.call(lambda x, step=step: x * step, given)
            trial.check(type(output) is type(given), f"a {type(given)} became {type(output)}")
            one = {1: step, 2: 2 * step}
            expected = repr(given).replace("2", "?").replace("1", str(one[1])).replace("?", str(one[2]))
            trial.equal(repr(output), expected)
    host = trial.random(3, seed=5)
    ragged = tf.RaggedTensor.from_row_lengths(trial.tensor(host), [1, 0, 2])
    for expand in (False, True, False):
        seen: list[Any] = []
        trial.call(lambda leaf, seen=seen: seen.append(leaf) or leaf, ragged, expand_composites=expand)
        trial.equal([isinstance(leaf, tf.RaggedTensor) for leaf in seen], [False, False] if expand else [True])
    # The default again, after calls that asked for each.
    kinds: list[Any] = []
    trial.call(lambda leaf: kinds.append(type(leaf)) or leaf, ragged, expand_composites=True)
    trial.call(lambda leaf: kinds.append(type(leaf)) or leaf, ragged)
    trial.equal([issubclass(kind, tf.RaggedTensor) for kind in kinds], [False, False, True])
    for _ in range(2):
        trial.equal(trial.call(max, [1, 4], (3, 2), check_types=False), [3, 4])
        trial.raises(["TypeError"], "structure", max, [1, 4], (3, 2))


def keys_in_any_order(trial: Trial) -> None:
    """Flat dictionaries, two or three, plain or ordered, match by their keys, whichever was put in first."""
    keys = ["z", "b", "a"]
    for kind in (dict, collections.OrderedDict):
        first, second, third = (
            kind((key, 10**power * (1 + keys.index(key))) for key in order)
            for power, order in enumerate((keys, keys[::-1], keys[1:] + keys[:1]))
        )
        output = trial.call(lambda *given: given, first, second)
        trial.equal(sorted(output.items()), [("a", (3, 30)), ("b", (2, 20)), ("z", (1, 10))])
        output = trial.call(lambda *given: given, second, first, third)
        trial.equal(sorted(output.items()), [("a", (30, 3, 300)), ("b", (20, 2, 200)), ("z", (10, 1, 100))])


def nested_keys(trial: Trial, up_to: bool) -> None:
    """Dictionaries inside of others match by their keys, whichever was put in first, at every depth, also up to a
    shallow structure, the first one (``up_to``)."""
    # Leaves of one kind on each level: pairs in the order of insertion would be of one structure too.
    first = {"b": {"z": 1, "a": 2}, "a": [{"n": 3, "m": 4}]}
    second = {"a": [{"m": 40, "n": 30}], "b": {"a": 20, "z": 10}}
    third = {"b": {"a": 200, "z": 100}, "a": [{"n": 300, "m": 400}]}
    for given in ((first, second, third), (second, third, first), (third, first, second)):
        shallow = [given[0]] if up_to else []
        output = trial.call(*shallow, lambda *leaves: sum(leaves), *given)
        trial.equal(output, {"b": {"z": 111, "a": 222}, "a": [{"n": 333, "m": 444}]})
        trial.equal((list(output), list(output["b"])), (list(given[0]), list(given[0]["b"])))


def composites_up_to(trial: Trial) -> None:
    """Up to a shallow structure of composite tensors the function gets their parts if they are to be expanded, and
    otherwise the whole ones, as by default; the output has the kinds of the shallow structure."""
    host = trial.random(4, seed=6)
    ragged = tf.RaggedTensor.from_row_lengths(trial.tensor(host), [1, 0, 3])
    sparse = tf.SparseTensor([[0, 2], [1, 0]], trial.tensor(host[:2]), [2, 3])
    for options in ({}, {"expand_composites": False}, {"expand_composites": True}, {}):
        kinds: list[str] = []

        def doubled(x: Any, y: Any, kinds: list[str] = kinds) -> Any:
            kinds.append(type(x).__name__)
            if tf.is_tensor(x) and not isinstance(x, tf.Tensor):
                return x.with_values(x.values + 2.0 * y.values)
            return x + 2.0 * y if x.dtype.is_floating else x

        given = [ragged, {"s": sparse}]
        trial.repeatable = False
        one, rest = trial.call(given, doubled, given, given, **options)
        expand = options.get("expand_composites", False)
        trial.equal(
            ["Tensor" in kind and kind not in ("RaggedTensor", "SparseTensor") for kind in kinds],
            [True] * 5 if expand else [False] * 2,
        )
        trial.check(isinstance(one, tf.RaggedTensor) and isinstance(rest["s"], tf.SparseTensor), "the kinds changed")
        trial.close(one.values, 3 * host.astype("float64"), dtype="float32")
        trial.close(one.row_splits, [0, 1, 1, 4], dtype="int64")
        trial.close(rest["s"].values, 3 * host[:2].astype("float64"), dtype="float32")
        trial.close(rest["s"].indices, [[0, 2], [1, 0]], dtype="int64")
