"""What a function does at each place of a structure: draws and gradients of their own."""

from __future__ import annotations

import collections
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def _mapped(function: Callable[..., Any], up_to: bool, call: Callable[..., Any], *structures: Any) -> Any:
    return function(structures[0], call, *structures) if up_to else function(call, *structures)


def drawn(trial: Trial, up_to: bool) -> None:
    """A tensor that is in a structure at several places has draws of its own at each of them, and other ones when it is
    mapped again."""
    base = 100.0 * np.arange(50)
    same = trial.tensor(base)
    structure = {"a": [same, same], "b": (same,)}
    calls: list[Any] = []

    def noisy(x: Any) -> Any:
        calls.append(x)
        return x + tf.random.normal([50], dtype=tf.float64)

    def body(function: Callable[..., Any]) -> Any:
        tf.random.set_seed(trial.seed(3))
        return [_mapped(function, up_to, noisy, structure) for _ in range(2)]

    trial.repeatable = False
    found = [each for output in trial.call_inside(body) for each in tf.nest.flatten(output)]
    trial.equal(len(calls), 6)
    trial.check(all(x is same for x in calls), "the function did not get the tensor itself")
    draws = np.stack([np.asarray(each) for each in trial.numpy(found)])
    trial.equal(draws.shape, (6, 50))
    trial.check((abs(draws - base) < 8).all(), "an output is not the tensor and its draws")
    trial.check(np.unique(draws).size == draws.size, "two places have the same draws")


def differentiated(trial: Trial, up_to: bool, count: int) -> None:
    """Each tensor of each of three structures has its own gradient, also one that is at two places."""
    hosts = [[trial.random(3, dtype="float64", seed=10 * n + k) for n in range(count)] for k in range(3)]
    rows = [[trial.tensor(host) for host in row] for row in hosts]
    rows[2][-1], hosts[2][-1] = rows[2][0], hosts[2][0]

    def body(function: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(rows)
            output = _mapped(function, up_to, lambda x, y, z: x * y + 5.0 * z, *rows)
            total = tf.add_n([tf.reduce_sum((n + 1.0) * each) for n, each in enumerate(output)])
        return output, tape.gradient(total, [*rows[0], *rows[1], *rows[2][:-1]])

    output, slopes = trial.call_inside(body)
    x, y, z = (np.stack(row) for row in hosts)
    weights = np.arange(1.0, count + 1)[:, None]
    trial.close(tf.stack(output), x * y + 5 * z, dtype="float64")
    third = np.broadcast_to(5 * weights, z.shape).copy()
    third[0] += 5 * count
    for found, expected in zip(slopes, [*(weights * y), *(weights * x), *third[:-1]]):
        trial.close(found, expected, dtype="float64")


def visited(trial: Trial) -> None:
    """The function is called once for each leaf, in the order of flattening: that of lists and tuples, and sorted keys
    of dictionaries, whatever the order in which the keys were added. The result has the keys in their own order."""
    ordered = collections.OrderedDict([("z", 1), ("a", {"y": 2, "b": 3}), ("m", [4, 5])])
    grouped: Any = collections.defaultdict(list, {"q": 6, "c": (7, {"x": 8, "d": 9})})
    given: list[tuple[Any, list[int]]] = [
        ({"b": 1, "a": 2, "c": 3}, [2, 1, 3]),
        ({"c": [1, {"e": 2, "d": 3}], "a": (4, 5)}, [4, 5, 1, 3, 2]),
        (ordered, [3, 2, 4, 5, 1]),
        ([grouped, {3: 10, 1: 11, 2: 12}], [7, 9, 8, 6, 11, 12, 10]),
        ([[], {}, (), 1], [1]),
        (2, [2]),
        ([None, 1, "text"], [None, 1, "text"]),  # type: ignore[list-item]
    ]

    def body(map_structure: Callable[..., Any]) -> Any:
        found = []
        for structure, _ in given:
            seen: list[Any] = []
            mapped = map_structure(lambda leaf, seen=seen: (seen.append(leaf), len(seen))[1], structure)
            pairs: list[Any] = []
            map_structure(lambda *leaves, pairs=pairs: pairs.append(leaves), structure, mapped)
            found.append((seen, mapped, pairs))
        return found

    trial.repeatable = False
    for (seen, mapped, pairs), (structure, expected) in zip(trial.call_inside(body), given):
        trial.equal(seen, expected)
        trial.equal(pairs, [(leaf, place + 1) for place, leaf in enumerate(expected)])
        trial.check(type(mapped) is type(structure) or structure == 2, f"{structure} became {mapped}")
        if isinstance(structure, dict):
            trial.equal(list(mapped), list(structure))
