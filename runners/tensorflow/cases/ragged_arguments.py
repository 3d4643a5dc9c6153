"""Functions of values that also take ragged tensors."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

_LENGTHS = (2, 0, 3)


def _ragged(trial: Trial, seed: int) -> tuple[Any, list[Any]]:
    host = trial.random(sum(_LENGTHS), seed=seed)
    splits = trial.tensor(np.cumsum([0, *_LENGTHS]))
    return tf.RaggedTensor.from_row_splits(trial.tensor(host), splits), np.split(host, np.cumsum(_LENGTHS)[:-1])


def joined(trial: Trial) -> None:
    """Ragged tensors are joined by rows, or row by row; a tuple is like a list, also of dense tensors."""
    (one, rows), (two, others) = _ragged(trial, 1), _ragged(trial, 2)
    below, beside = trial.call([one, two], 0), trial.call((one, two, one), axis=-1)
    for found, expected in (
        (below, [*rows, *others]),
        (beside, [np.concatenate([row, other, row]) for row, other in zip(rows, others)]),
    ):
        trial.check(isinstance(found, tf.RaggedTensor), f"expected a ragged tensor, got {type(found).__name__}")
        trial.close(found.row_splits, np.cumsum([0, *map(len, expected)]), dtype="int64")
        trial.close(found.values, np.concatenate(expected), dtype="float32")
    trial.close(trial.call((one.values, two.values), 0), np.concatenate([*rows, *others]), dtype="float32")
    host = trial.random(2, 4, seed=3)
    for given, expected in (([one, trial.tensor(host)], [*rows, *host]), ([trial.tensor(host), one], [*host, *rows])):
        found = trial.call(given, 0)
        trial.check(isinstance(found, tf.RaggedTensor), f"expected a ragged tensor, got {type(found).__name__}")
        trial.close(found.row_splits, np.cumsum([0, *map(len, expected)]), dtype="int64")
        trial.close(found.values, np.concatenate(expected), dtype="float32")


def averaged(trial: Trial) -> None:
    """The mean of each row is that of what it has, NaN if it has nothing; the mean of each column leaves out the rows
    that end before it, and the mean of all counts all numbers alike. The gradient is shared in the same way."""
    ragged, rows = _ragged(trial, 3)
    wide = [row.astype("float64") for row in rows]

    def body(mean: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(ragged.flat_values)
            by_row = mean(ragged, axis=1)
            total = by_row[0] + 2.0 * by_row[2]
        return by_row, mean(ragged, axis=0), mean(ragged), tape.gradient(total, ragged.flat_values)

    by_row, by_column, whole, slope = trial.call_inside(body)
    trial.close(by_row, [wide[0].mean(), np.nan, wide[2].mean()], dtype="float32")
    columns = [[row[column] for row in wide if len(row) > column] for column in range(3)]
    trial.close(by_column, [np.mean(column) for column in columns], dtype="float32")
    trial.close(whole, np.concatenate(wide).mean(), dtype="float32")
    trial.close(slope, [1 / 2] * 2 + [2 / 3] * 3, dtype="float32")
