"""Data sets that are read more than once: what is shuffled before is in another order each time."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def shuffled(trial: Trial, how: str, size: int) -> None:
    """Shuffled elements come in another order in each epoch, and in the same one if they are to be shuffled once;
    all parts together have each element once. Numbers of shards and sizes can be those of NumPy."""

    def parts(function: Callable[..., Any], source: Any) -> list[Any]:
        if how == "batch":
            rows = source.map(lambda number: tf.fill([number % 3 + 1], number))
            return [rows.apply(function(np.int64(5)))]
        return [function(source, np.int64(2), np.int32(index)) for index in (0, 1)]

    def orders(data: Any) -> list[list[int]]:
        found = []
        for _ in range(3):
            rows = [trial.numpy(each[:, :1].values if how == "batch" else each) for each in data]
            trial.equal({np.ndim(row) for row in rows}, {1 if how == "batch" else 0})
            found.append([int(number) for row in rows for number in np.ravel(row)])
        return found

    def body(function: Callable[..., Any]) -> Any:
        source = tf.data.Dataset.range(size)
        often = source.shuffle(size, seed=trial.seed(4), reshuffle_each_iteration=True)
        once = source.shuffle(size, seed=trial.seed(5), reshuffle_each_iteration=False)
        return [[orders(part) for part in parts(function, each)] for each in (often, once)]

    trial.repeatable = False
    often, once = trial.call_inside(body)
    for part in often:
        trial.equal([len(set(epoch)) for epoch in part], [len(epoch) for epoch in part])
        trial.check(part[0] != part[1] != part[2] != part[0], "two epochs have the same order")
        trial.check(part[0] != sorted(part[0]), "the elements are not shuffled")
    for part in once:
        trial.equal(part[1:], [part[0]] * 2)
    trial.equal(sorted(number for part in once for number in part[0]), list(range(size)))


def listed(trial: Trial, count: int) -> None:
    """Each of many parts of an element is at its place, in each epoch; a list of arrays that have changed gives their
    new values."""
    rows = [[trial.random(2, dtype="float64", seed=100 * row + n) for n in range(count)] for row in range(3)]
    rows[1][-1][:] = [np.nan, -0.0]

    def body(from_list: Callable[..., Any]) -> Any:
        given = [tuple(part.copy() for part in row) for row in rows]
        source = from_list(given)
        epochs = [trial.numpy(list(source)) for _ in range(2)]
        for row in given:
            for part in row:
                part *= -1
        return [*epochs, trial.numpy(list(from_list(given)))]

    trial.repeatable = False
    for sign, found in zip((1, 1, -1), trial.call_inside(body)):
        trial.equal([len(row) for row in found], [count] * 3)
        for row, expected in zip(found, rows):
            trial.exact(np.stack(row), sign * np.stack(expected))
