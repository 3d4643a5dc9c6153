"""Sums of data sets by torch.utils.data.Dataset: which items they give, how often they ask for them, and copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.trial import Trial
from runners.torch.cases.datasets import Rows


class _Kept(Rows, torch.utils.data.Dataset):  # type: ignore[misc]
    """Given items, of a class that can be pickled."""


class _Counted(_Kept):
    """Counts how often it was asked for an item, and gives the count with the item."""

    asked = 0

    def __getitem__(self, index: int) -> Any:
        self.asked += 1
        return self.rows[index], self.asked


class _Endless(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """Has no places."""

    def __iter__(self) -> Any:
        return iter([1, 2])


def same_items(trial: Trial) -> None:
    """The items of a sum are the objects that its parts give: tensors with their history and dtype, and containers."""
    leaf = trial.tensor(trial.random(3, seed=1)).requires_grad_()
    items = [
        leaf * 2,
        trial.tensor(trial.random(2, dtype="float64", seed=2)),
        trial.tensor(trial.random(2, dtype="int32", seed=3)),
        (leaf, 1),
        {"name": "text"},
        None,
    ]
    joined = trial.call_method(_Kept(items[:3]), "__add__", _Kept(items[3:]))
    trial.check(isinstance(joined, torch.utils.data.Dataset), "the sum is not a Dataset")
    for place, item in enumerate(items):
        for index in (place, place - len(items)):
            trial.check(joined[index] is item, f"item {index} of the sum is another object than that of its part")


def places(trial: Trial, lengths: Sequence[int]) -> None:
    """Each index leads to its item, whatever the lengths of the parts. One beyond either end raises an error."""
    first, second = (range(100, 100 + length) for length in lengths)
    joined = trial.call_method(_Kept(first), "__add__", _Kept(second))
    whole = [first[place] if place < len(first) else second[place - len(first)] for place in _some(lengths)]
    trial.equal(len(joined), sum(lengths))
    trial.equal([joined[place] for place in _some(lengths)], whole)
    trial.equal([joined[place - sum(lengths)] for place in _some(lengths)], whole)
    for index, kind in (
        (-sum(lengths) - 1, ValueError),
        (-2 * sum(lengths) - 1, ValueError),
        (sum(lengths), IndexError),
    ):
        try:
            found = joined[index]
        except kind:
            continue
        trial.check(False, f"expected {kind.__name__} for the index {index}, got {found!r}")


def _some(lengths: Sequence[int]) -> list[int]:
    """All places, or those around the border and the ends if there are many."""
    whole = sum(lengths)
    if whole < 1000:
        return list(range(whole))
    near = (0, lengths[0], whole)
    return sorted({place + step for place in near for step in range(-9, 9) if 0 <= place + step < whole})


def asks_again(trial: Trial) -> None:
    """A sum refers to its parts: it asks for an item each time, and sees items that were replaced. It refuses a
    part without places."""
    first, second = _Counted([10, 11]), _Counted([20, 21, 22])
    trial.repeatable = False
    joined = trial.call_method(first, "__add__", second)
    trial.check(joined.datasets[0] is first and joined.datasets[1] is second, "the parts are not the given data sets")
    trial.equal([first.asked, second.asked], [0, 0])
    trial.equal([joined[index] for index in (0, 4, 0, 4, 1)], [(10, 1), (22, 1), (10, 2), (22, 2), (11, 3)])
    first.rows[0], second.rows[2] = 50, 60
    trial.equal([joined[index] for index in (0, -1)], [(50, 4), (60, 3)])
    loader = torch.utils.data.DataLoader(joined, batch_size=5)
    for seen in ([5, 6, 4, 5, 6], [7, 8, 7, 8, 9]):
        ((rows, counts),) = loader
        trial.equal([rows.tolist(), counts.tolist()], [[50, 11, 20, 21, 60], seen])
    trial.method_raises(first, "__add__", ["AssertionError"], "does not support IterableDataset", _Endless())


def copies(trial: Trial) -> None:
    """A deep copy and a data set that was pickled have the same items and attributes, and share nothing."""
    values = trial.random(3, 2, seed=1)
    given = _Kept([trial.tensor(row) for row in values])
    given.name = "rows"
    trial.repeatable = False
    others = [copy.deepcopy(given), pickle.loads(pickle.dumps(given))]
    for row in given.rows:
        row.zero_()
    given.rows.pop()
    for other in others:
        trial.equal([len(other), other.name], [3, "rows"])
        for place, row in enumerate(values):
            trial.exact(trial.call_method(other, "__getitem__", place), row, "float32")
    trial.equal(len(given), 2)


def concat_sums(trial: Trial) -> None:
    """The sum of a concatenation and another data set has the items of the first, then those of the other; each of
    them stays what it was."""
    parts = [trial.random(length, 2, dtype="float64", seed=length) for length in (2, 3, 1)]
    sets = [torch.utils.data.TensorDataset(trial.tensor(part)) for part in parts]
    first, other = trial.make(sets[:2]), trial.make(sets[2:])
    trial.repeatable = False
    for added, numbers in ((sets[2], (0, 1, 2)), (other, (0, 1, 2)), (first, (0, 1, 0, 1))):
        joined = trial.call_method(first, "__add__", added)
        trial.check(isinstance(joined, torch.utils.data.ConcatDataset), f"the sum is a {type(joined).__name__}")
        trial.check(joined.datasets[0] is first and joined.datasets[1] is added, "the sum has other data sets")
        expected = np.concatenate([parts[number] for number in numbers])
        trial.equal([len(joined), len(first)], [len(expected), 5])
        for index, row in enumerate(expected):
            trial.exact(joined[index][0], row, "float64")
