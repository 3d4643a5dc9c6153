"""What a function gets from others and hands on: results of branches and of mapped functions, and their errors."""

from __future__ import annotations

import collections
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def branch_results(trial: Trial) -> None:
    """What the branch returns is returned itself: numbers, nothing, text, lists, objects, the same tensor; an error of
    the branch is raised as it is, and the other branch does not run."""
    kept = [object(), trial.tensor([1.0, 2.0], "float32"), [1, 2], {"a": 3}, None, "text", 2.5, 7, np.float64(1.5), ()]
    true, false = (trial.tensor(np.asarray(each)) for each in (True, False))

    def not_called() -> Any:
        raise AssertionError("the other branch ran")

    for result in kept:
        for first in (True, 1, np.bool_(True), true):
            found = trial.call(first, lambda result=result: result, not_called)
            trial.check(found is result, f"the branch returned {result!r}, the function {found!r}")
        for second in (False, 0, np.bool_(False), false):
            found = trial.call(second, not_called, lambda result=result: result)
            trial.check(found is result, f"the branch returned {result!r}, the function {found!r}")
    for error in (KeyError("mine"), ZeroDivisionError("mine"), StopIteration("mine"), ValueError("mine")):

        def raising(error: Exception = error) -> None:
            raise error

        trial.raises([type(error).__name__], "mine", True, raising, not_called)
        trial.raises([type(error).__name__], "mine", false, not_called, raising)


def mapped(trial: Trial) -> None:
    """The mapped function gets the very objects, once for each leaf, and its results are put, as they are, into the
    structure of the shallow tree, of its types, in its order; no argument changes."""
    pair = collections.namedtuple("pair", "left right")
    leaves = [[1, 2], (3,), {"k": 4}, None, "text", 5.0, 5.0]
    a, b, c, d, e, f, g = leaves
    trees = [
        ([0, 0, 0], [a, b, c]),
        ((0, [0, (0,)]), (a, [b, (c,)])),
        ({"z": 0, "a": 0, "m": [0]}, {"z": a, "a": b, "m": [d]}),
        (pair(0, [0]), pair(a, [e])),
        (collections.OrderedDict([("z", 0), ("a", 0)]), collections.OrderedDict([("z", c), ("a", d)])),
        (collections.defaultdict(list, {"x": 0, "c": 0}), collections.defaultdict(list, {"x": f, "c": g})),
        ([0, 0, 0, 0], [f, g, f, d]),
    ]
    for shallow, given in trees:
        seen: list[Any] = []

        def mark(leaf: Any, seen: list[Any] = seen) -> Any:
            seen.append(leaf)
            return (len(seen), [leaf])

        before = (repr(shallow), repr(given))
        found = trial.call(shallow, mark, given)
        trial.repeatable = False
        trial.equal((repr(shallow), repr(given)), before)
        expected = tf.nest.flatten(shallow)
        trial.equal(len(seen), len(expected))
        trial.check(all(any(each is leaf for leaf in leaves) for each in seen), f"copies reach the function: {seen}")
        trial.equal(type(found), type(shallow))
        if isinstance(shallow, dict):
            trial.equal(list(found), list(shallow))
            numbers = {id(given[key]): found[key] for key in shallow if not isinstance(shallow[key], list)}
            trial.check(
                all(isinstance(each, tuple) and id(each[1][0]) in numbers for each in numbers.values()),
                f"results are in the wrong places: {found}",
            )
    found = trial.call(pair(0, [0]), lambda leaf: leaf, pair(a, [e]))
    trial.check(found.left is a and found.right[0] is e, f"the results are not in their places: {found}")


def mapped_deep(trial: Trial) -> None:
    """Structures of many levels, and many inputs, are mapped leaf by leaf; an empty one stays itself."""
    shallow: Any = 0
    inputs: list[Any] = [1, 10, 100, 1000]
    for level in range(40):
        shallow = [shallow, 0] if level % 2 else (shallow,)
        inputs = [[each, n] if level % 2 else (each,) for n, each in enumerate(inputs)]
    found = trial.call(shallow, lambda *parts: sum(parts), *inputs)
    depth = 0
    while isinstance(found, (list, tuple)):
        if len(found) == 2:
            trial.equal(found[1], 6)
        found, depth = found[0], depth + 1
    trial.equal((found, depth), (1111, 40))
    for empty in ([], (), {}):
        trial.equal(trial.call(empty, lambda leaf: leaf, empty), empty)
    trial.raises(["ValueError", "TypeError"], "keyword", [0], lambda leaf: leaf, [1], unknown=True)


def shares(trial: Trial) -> None:
    """Sizes are numbers of any kind, and the share is one of the same kind; each context of many divides by its own
    number of replicas, and stays as it was."""
    for replicas in (1, 3, 8):
        context = tf.distribute.InputContext(num_input_pipelines=4, input_pipeline_id=2, num_replicas_in_sync=replicas)
        for size in (24 * 5, np.int64(24 * 5), np.int32(24), np.int64(2**40 * 24), -24):
            found = trial.call(context, size)
            trial.equal(int(found), int(size) // replicas)
            trial.check(not isinstance(found, (float, np.floating)), f"the share is {found!r}")
            # NumPy widens other numbers, depending on its version.
            trial.check(type(found) is type(size) or isinstance(size, np.int32), f"the share of {size!r} is {found!r}")
        kept = (context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync)
        trial.equal(kept, (4, 2, replicas))


def flushes(trial: Trial) -> None:
    """A writer that writes nothing is flushed without an error, given or as the default."""
    silent = tf.summary.create_noop_writer()
    trial.equal(trial.call(silent), None)
    with silent.as_default():
        trial.equal(trial.call(), None)


def counts(trial: Trial) -> None:
    """Examples that count a million times as much as others, or hardly, are weighed so."""
    v1 = tf.compat.v1
    weights = [[3e6, 1e6, 4e6], [1e-6, 3e-6, 0.0]]

    def body(accuracy: Callable[..., Any]) -> Any:
        with tf.Graph().as_default() as graph, tf.device(trial.device):
            return graph, [accuracy([1, 2, 3], [1, 2, 4], tf.constant(each), name="x") for each in weights]

    trial.repeatable = False
    graph, found = trial.call_inside(body)
    with v1.Session(graph=graph) as session:
        with graph.as_default():
            session.run(v1.local_variables_initializer())
        for (value, update), expected in zip(found, (0.5, 1.0)):
            trial.check(abs(session.run(update) - expected) < 1e-6, f"expected {expected}")
            trial.check(abs(session.run(value) - expected) < 1e-6, f"expected {expected}")


def mapped_as_they_are(trial: Trial) -> None:
    """Arrays, tensors and objects reach the function themselves; what it returns is put into the result itself, of any
    type; its errors are raised as they are, after which nothing more is called."""
    array, tensor = np.arange(3.0), trial.tensor([1.0, 2.0], "float32")
    leaves = [array, tensor, b"x", object(), np.float64(0.1), 2**70, float("nan"), True, len, int]
    seen: list[Any] = []
    found = trial.call([0] * len(leaves), seen.append, leaves)
    trial.repeatable = False
    trial.equal(found, [None] * len(leaves))
    trial.check(all(one is other for one, other in zip(seen, leaves)), f"copies reach the function: {seen}")
    results = [*leaves, 2.5, 7, None, "text", (1, [2]), [], {"k": 1}]
    kept = iter(results)
    found = trial.call(
        dict.fromkeys(range(len(results)), (0,)), lambda _: next(kept), {n: (n,) for n in range(len(results))}
    )
    same = all(found[n][0] is result for n, result in enumerate(results))
    trial.check(same, f"the function returned {results}, the result is {found}")
    for error in (ZeroDivisionError("mine"), KeyError("mine"), StopIteration("mine"), AttributeError("mine")):
        called: list[int] = []

        def fails(leaf: int, error: Exception = error, called: list[int] = called) -> int:
            called.append(leaf)
            if leaf == 2:
                raise error
            return leaf

        trial.raises([type(error).__name__], "mine", [0, (0, 0)], fails, [1, (2, 3)])
        trial.equal(called, [1, 2])


def mapped_each(trial: Trial) -> None:
    """The function is called once for each place, in order, also where leaves are equal or the very same; what it
    raises is raised itself, and it is not called again after that."""
    same = trial.tensor([1.0, 2.0], "float32")
    trees: list[Any] = [[3, 3, (3, "a"), {"k": "a", "b": 3}], (same, [same, same]), [None, None], [0, 0.0, False, -0.0]]
    trees.append([np.float32(3), (np.int64(3), np.bool_(True)), np.zeros([])])
    trial.repeatable = False
    for tree in trees:
        leaves = tf.nest.flatten(tree)
        for others in (0, 2):
            seen: list[Any] = []

            def numbered(first: Any, *_: Any, seen: Any = seen) -> int:
                seen.append(first)
                return len(seen)

            found = trial.call(numbered, *[tree] * (others + 1))
            trial.equal(len(seen), len(leaves))
            trial.check(all(one is other for one, other in zip(seen, leaves)), f"the leaves of {tree} were {seen}")
            trial.equal(tf.nest.flatten(found), [*range(1, len(leaves) + 1)])
    for error in (
        KeyError("own"),
        StopIteration("own"),
        ZeroDivisionError("own"),
        LookupError("own"),
        TypeError("own"),
    ):
        count: list[int] = []

        def raising(leaf: int, error: Exception = error, count: Any = count) -> int:
            count.append(leaf)
            if leaf == 2:
                raise error
            return leaf

        trial.raises([type(error).__name__], "own", raising, {"a": 1, "b": [2, 3]})
        trial.equal(count, [1, 2])


def branches_again(trial: Trial) -> None:
    """The branch runs at each call, also of the same functions, eagerly and while a graph is built, where its result is
    returned as it is, nothing included, and a condition that is known adds no operation. The functions are checked
    whether they are needed or not."""
    calls: list[str] = []

    def yes() -> int:
        calls.append("yes")
        return len(calls)

    def no() -> None:
        calls.append("no")

    trial.repeatable = False
    found = [trial.call(condition, yes, no, name="again") for condition in (True, True, False, 1, 0, False, True)]
    trial.equal(found, [1, 2, None, 4, None, None, 7])
    trial.equal(calls, ["yes", "yes", "no", "yes", "no", "no", "yes"])

    def body(smart_cond: Callable[..., Any]) -> Any:
        with tf.Graph().as_default() as graph, tf.device(trial.device):
            known = [tf.constant(True), tf.constant(False), True, False]
            before = len(graph.get_operations())
            made = [smart_cond(each, lambda: None, lambda: calls, name="again") for each in known]
            return made, len(graph.get_operations()) - before

    made, added = trial.call_inside(body)
    trial.check(made[0] is None and made[2] is None, f"expected nothing of the branch, got {made[0]!r}, {made[2]!r}")
    trial.check(made[1] is calls and made[3] is calls, "the branch's list is another one")
    trial.equal(added, 0)
    for condition in (True, False, 1, 0, trial.tensor(np.asarray(True)), trial.tensor(np.asarray(False))):
        for wrong in (None, 3, "tf.zeros", [yes], trial.tensor([1.0], "float32")):
            trial.raises(["TypeError"], "true_fn", condition, wrong, no)
            trial.raises(["TypeError"], "false_fn", condition, yes, wrong)
    trial.equal(len(calls), 7)
