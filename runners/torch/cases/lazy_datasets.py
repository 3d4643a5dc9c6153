"""torch.utils.data.Subset and ConcatDataset: which items of the inner data sets they ask for, and when."""

from __future__ import annotations

from typing import Any

import torch

from runners.core.testing.trial import Trial

_data = torch.utils.data


class _Asked(_data.Dataset):  # type: ignore[misc, name-defined]
    """Remembers the indices that it was asked for; each item is a new object."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.asked: list[Any] = []

    def __getitem__(self, index: int) -> Any:
        self.asked.append(index)
        return {"index": index, "time": len(self.asked)}

    def __len__(self) -> int:
        return self.length


class _Stream(_data.IterableDataset):  # type: ignore[misc, name-defined]
    def __iter__(self) -> Any:
        return iter([1, 2])


def subset_asks(trial: Trial) -> None:
    """An item is asked for when it is wanted, each time again, by its index in the whole data set, a plain integer."""
    whole = _Asked(9)
    part = trial.make(whole, [8, 3, 3, -2, 0])
    trial.repeatable = False
    trial.equal(trial.call_method(part, "__len__"), 5)
    trial.equal(whole.asked, [])
    found = [trial.call_method(part, "__getitem__", position) for position in (1, 0, 2, -1, -2, 1)]
    trial.equal(whole.asked, [3, 8, 3, 0, -2, 3])
    _check_plain(trial, whole)
    trial.equal(found, [{"index": index, "time": time} for time, index in enumerate(whole.asked, 1)])


def _check_plain(trial: Trial, *sets: _Asked) -> None:
    for each in sets:
        trial.equal([type(index).__name__ for index in each.asked], ["int"] * len(each.asked))


def subset_refuses(trial: Trial) -> None:
    """A position that the subset has not raises an error, also if the whole data set has it; a loop ends there."""
    part = trial.make(_Asked(9), [8, 3])
    trial.method_raises(part, "__getitem__", ["IndexError"], "range", 2)
    trial.method_raises(part, "__getitem__", ["IndexError"], "range", -3)
    trial.equal([item["index"] for item in part], [8, 3])


def concat_asks(trial: Trial) -> None:
    """Each data set is asked for its own items only, by its own index, a plain integer, when an item is wanted; a loop
    gives all."""
    parts = [_Asked(length) for length in (3, 0, 1, 4)]
    joined = trial.make(parts)
    trial.repeatable = False
    trial.equal(trial.call_method(joined, "__len__"), 8)
    found = [trial.call_method(joined, "__getitem__", index)["index"] for index in (3, 7, 2, -8, -4, 4, 3)]
    trial.equal(found, [0, 3, 2, 0, 0, 0, 0])
    trial.equal([part.asked for part in parts], [[2, 0], [], [0, 0], [3, 0, 0]])
    trial.equal([item["index"] for item in joined], [0, 1, 2, 0, 0, 1, 2, 3])
    _check_plain(trial, *parts)


def concat_refuses_streams(trial: Trial) -> None:
    """A data set that can only be iterated raises an error, also behind others."""
    trial.raises(["AssertionError"], "IterableDataset", [_Asked(3), _Stream()])


def subset_in_turns(trial: Trial) -> None:
    """Two subsets of one data set, and two loops over one of them, go on side by side; new items of the data set and
    new indices are seen."""
    whole, chosen = [10, 11, 12, 13], [3, 0, 2]
    first, second = trial.make(whole, chosen), trial.make(whole, [1, 1])
    trial.repeatable = False
    found = [trial.call_method(part, "__getitem__", place) for place in (0, 1) for part in (first, second, first)]
    trial.equal(found, [13, 11, 13, 10, 11, 10])
    trial.equal(list(zip(first, first)), [(13, 13), (10, 10), (12, 12)])
    whole[3] = 99
    trial.equal(trial.call_method(first, "__getitem__", 0), 99)
    chosen.append(1)
    trial.equal([trial.call_method(first, "__len__"), trial.call_method(second, "__len__")], [4, 2])
    trial.equal(trial.call_method(first, "__getitem__", 3), 11)


def concat_in_turns(trial: Trial) -> None:
    """One part in two places and in two joined data sets; two loops go on side by side, and new items are seen."""
    part, other = [1, 2], [7, 8, 9]
    first, second = trial.make([part, other, part]), trial.make([other, part])
    trial.repeatable = False
    for index, expected in ((0, [1, 7]), (5, [1, None]), (-1, [2, 2]), (3, [8, 1]), (0, [1, 7])):
        trial.equal(trial.call_method(first, "__getitem__", index), expected[0])
        if expected[1] is not None:
            trial.equal(trial.call_method(second, "__getitem__", index), expected[1])
    trial.equal(list(zip(first, second)), [(1, 7), (2, 8), (7, 9), (8, 1), (9, 2)])
    part[1] = 50
    trial.equal([trial.call_method(first, "__getitem__", index) for index in (1, 6)], [50, 50])
    trial.equal([len(first), len(second), list(first.cumulative_sizes)], [7, 5, [2, 5, 7]])


def by_keywords(trial: Trial, kind: str) -> None:
    """All arguments can be given by keyword; indices and data sets that are replaced later count at once.

    ``kind``: "subset" or "concat".
    """
    trial.repeatable = False
    whole = [10, 11, 12, 13]
    made = trial.make(indices=[3, 0, 1], dataset=whole) if kind == "subset" else trial.make(datasets=[whole, [7, 8]])
    expected = [13, 10, 11] if kind == "subset" else [10, 11, 12, 13, 7, 8]
    trial.equal(trial.call_method(made, "__len__"), len(expected))
    trial.equal(
        [trial.call_method(made, "__getitem__", place) for place in (0, 1, 2, -1)], [*expected[:3], expected[-1]]
    )
    if kind == "subset":
        made.indices = [2, 1]
        trial.equal([trial.call_method(made, "__len__"), *(made[place] for place in (0, 1))], [2, 12, 11])
        made.dataset = [4, 5, 6]
    else:
        made.datasets[1] = [5, 6]
    trial.equal(trial.call_method(made, "__getitem__", -1), 5 if kind == "subset" else 6)
