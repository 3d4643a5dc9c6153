"""torch.utils.data.Subset and ConcatDataset: what the items of the inner data sets are afterwards."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial

_data = torch.utils.data


class _Numbers(_data.Dataset):  # type: ignore[misc, name-defined]
    """As many numbers as wanted, none of them kept: each is its index, and one is missing."""

    def __init__(self, length: int, missing: int = -1) -> None:
        self.length, self.missing = length, missing

    def __getitem__(self, index: int) -> Any:
        if index == self.missing:
            raise KeyError("missing item")
        return index

    def __len__(self) -> int:
        return self.length


def items_kept(trial: Trial, kind: str) -> None:
    """Each item is the object that the data set gives: a tensor with its history, a view, a tuple, a dictionary or a
    text. A gradient reaches what it was computed from.

    ``kind``: "subset" or "concat".
    """
    leaf = trial.tensor(trial.random(3, dtype="float64")).requires_grad_()
    plain = trial.tensor(trial.random(4, 3, seed=1))
    whole = [
        leaf,
        leaf * 2,
        plain.t()[1:],
        (leaf[1], "text"),
        {"image": plain[1], "label": 3},
        "text",
        trial.tensor(np.array([3, -4], "int32")),
        trial.tensor(trial.random(2, dtype="complex64", seed=2)),
    ]
    order = list(range(len(whole)))[::-1]
    made = trial.make(whole, order) if kind == "subset" else trial.make([whole[4:], whole[:4]])
    wanted = whole[::-1] if kind == "subset" else whole[4:] + whole[:4]
    found = [trial.call_method(made, "__getitem__", place) for place in range(len(whole))]
    trial.check(all(one is other for one, other in zip(found, wanted)), "an item is another object")
    place = next(number for number, item in enumerate(found) if item is whole[1])
    (found[place] * trial.tensor(np.array([1.0, 2.0, 3.0]))).sum().backward()
    trial.close(leaf.grad, [2.0, 4.0, 6.0], dtype="float64")


def far_items(trial: Trial, kind: str) -> None:
    """Indices beyond 2**24, 2**31 and 2**53 are exact, and an error of the data set is raised as it is. The older
    name of cumulative_sizes warns.

    ``kind``: "subset" or "concat".
    """
    far = [2**24 + 1, 2**31 + 5, 2**53 + 1, 2**60 + 3]
    if kind == "subset":
        made, wanted, error = trial.make(_Numbers(2**61, 9), [*far, 9]), {place: far[place] for place in range(4)}, 4
        trial.equal(trial.call_method(made, "__len__"), 5)
    else:
        first = 2**53 + 9
        made, error = trial.make([_Numbers(first), _Numbers(2**61, 2**24 + 3)]), first + 2**24 + 3
        wanted = {2**24 + 1: 2**24 + 1, 2**31 + 5: 2**31 + 5, 2**53 + 1: 2**53 + 1, first: 0}
        wanted = {**wanted, **{first + place: place for place in far}, -1: 2**61 - 1}
        trial.equal(trial.call_method(made, "__len__"), first + 2**61)
        trial.equal(list(made.cumulative_sizes), [first, first + 2**61])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trial.equal(list(made.cummulative_sizes), [first, first + 2**61])
        kinds = [each.category.__name__ for each in caught]
        trial.check(kinds in (["DeprecationWarning"], ["FutureWarning"]), f"expected a warning, got {kinds}")
    found = [trial.call_method(made, "__getitem__", place) for place in wanted]
    trial.equal(found, list(wanted.values()))
    trial.method_raises(made, "__getitem__", ["KeyError"], "missing item", error)


def copied_sets(trial: Trial, kind: str) -> None:
    """A deep copy and a saved data set have items of their own, in the same order; a shallow copy shares them. A sum of
    two has the items of the left one first.

    ``kind``: "subset" or "concat".
    """
    host = trial.random(4, 2)
    rows, other = _data.TensorDataset(trial.tensor(host)), [7, 8]
    made = trial.make(rows, [3, 0, 2]) if kind == "subset" else trial.make([other, rows])
    order = [3, 0, 2] if kind == "subset" else [0, 1, 2, 3]
    begin = 0 if kind == "subset" else 2
    own = [copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
    shared = copy.copy(made)
    trial.repeatable = False
    rows.tensors[0].neg_()
    for each, sign in [(made, -1), (shared, -1), *((one, 1) for one in own)]:
        trial.equal(trial.call_method(each, "__len__"), begin + len(order))
        for place, row in enumerate(order):
            (found,) = trial.call_method(each, "__getitem__", begin + place)
            trial.exact(found, sign * host[row], "float32")
    joined = made.__add__([5, 6])
    trial.check(isinstance(joined, _data.ConcatDataset), f"the sum is a {type(joined).__name__}")
    trial.equal([len(joined), joined[-2], joined[-1]], [begin + len(order) + 2, 5, 6])
    (found,) = joined[begin]
    trial.exact(found, -host[order[0]], "float32")


def every_position(trial: Trial, kind: str, count: int) -> None:
    """Positions around the powers of two, from either end, and a large step through all others give the item at this
    place, by a Python number; the length is that of all items.

    ``kind``: "subset" or "concat".
    """
    numbers = _Numbers(2**40)
    order = [(7919 * place + 3) % 1000003 for place in range(count)]
    first = count // 3
    made = trial.make(numbers, order) if kind == "subset" else trial.make([order[:first], order[first:]])
    trial.equal(trial.call_method(made, "__len__"), count)
    edges = [edge + step for bits in (5, 7, 8, 10, 15, 16, 17) for edge in (2**bits,) for step in (-1, 0, 1)]
    places = sorted({*(place for place in edges if place < count), *range(0, count, 997), count - 1, first - 1, first})
    found = [trial.call_method(made, "__getitem__", place) for place in places]
    trial.equal(found, [order[place] for place in places])
    found = [trial.call_method(made, "__getitem__", place - count) for place in places]
    trial.equal(found, [order[place] for place in places])


def given_objects(trial: Trial, kind: str) -> None:
    """The data sets and indices that are given are kept as they are, nested ones too; ConcatDataset has a list of its
    own. What is appended later to a part does not change its length, and neither does the list. Items
    have NaN where the data set has it. NumPy numbers and tensors are positions, too. ``+`` puts the left one first.

    ``kind``: "subset" or "concat".
    """
    values = np.array([[np.nan, 1.0], [np.inf, -0.0], [-np.inf, 2.0], [3.0, np.nan]])
    rows = [trial.tensor(row) for row in values]
    inner = trial.function(rows, [3, 0, 2, 1]) if kind == "subset" else trial.function([rows[3:], rows[:2], rows[2:3]])
    order, parts = [2, 0], [inner, rows]
    made = trial.make(inner, order) if kind == "subset" else trial.make(parts)
    wanted = [2, 3] if kind == "subset" else [3, 0, 1, 2, 0, 1, 2, 3]
    trial.repeatable = False
    if kind == "subset":
        trial.check(made.dataset is inner and made.indices is order, "the data set or the indices were replaced")
    else:
        trial.check(
            type(made.datasets) is list and made.datasets is not parts, "the datasets are not a list of its own"
        )
        trial.check(made.datasets[0] is inner and made.datasets[1] is rows, "a part was replaced")
        trial.equal([type(made.cumulative_sizes) is list, list(made.cumulative_sizes)], [True, [4, 8]])
        parts.append([1])
        rows.append(rows[0])
    trial.equal(trial.call_method(made, "__len__"), len(wanted))
    for place, row in enumerate(wanted):
        for position in (place, np.int64(place), np.int16(place), torch.tensor(place), place - len(wanted)):
            trial.exact(trial.call_method(made, "__getitem__", position), values[row], "float64")
    others = [1, 2, 3]
    joined, twice = made + others, made + made
    trial.equal([len(joined), joined[-3], len(twice)], [len(wanted) + 3, 1, 2 * len(wanted)])
    trial.exact(joined[0], values[wanted[0]], "float64")
    trial.exact(twice[len(wanted)], values[wanted[0]], "float64")
