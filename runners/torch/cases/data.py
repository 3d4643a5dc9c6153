"""torch.utils.data.Dataset: items by index, sums of data sets, and batches from a loader."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.trial import Trial
from runners.torch.cases.datasets import Rows


def _data_set(trial: Trial, rows: Any) -> Any:
    """Create a data set over the given rows, of a subclass of the class under test."""

    class RowsUnderTest(Rows, trial.function):  # type: ignore[misc, name-defined]
        def epoch(self, **options: Any) -> list[Any]:
            """Run one pass through a loader and move each batch to the device, as training does."""
            return [batch.to(trial.device) for batch in torch.utils.data.DataLoader(self, **options)]

    made = RowsUnderTest(rows)
    trial.check(isinstance(made, torch.utils.data.Dataset), "not a Dataset")
    trial.equal(len(made), len(rows))
    return made


def dataset_item(trial: Trial, dtype: str, layout: str) -> None:
    """Indexing gives the row on the device, with the values and dtype of the data set."""
    values = trial.random(12, 5, dtype=dtype)
    rows = _data_set(trial, trial.tensor(values, dtype, layout))
    trial.close(trial.call_method(rows, "__getitem__", 7), values[7], dtype=dtype)
    trial.repeatable = False
    for index in (0, 3, -1):
        trial.close(trial.call_method(rows, "__getitem__", index), values[index], dtype=dtype)


def dataset_sum(trial: Trial, lengths: Sequence[int]) -> None:
    """The sum of data sets has all their items in order, also counted from the end."""
    parts = [trial.random(length, 3, seed=seed) for seed, length in enumerate(lengths)]
    first, *others = (_data_set(trial, trial.tensor(part)) for part in parts)
    joined = trial.call_method(first, "__add__", others[0])
    for other in others[1:]:
        joined = joined + other
    expected = np.concatenate(parts)
    trial.equal(len(joined), len(expected))
    for index in range(-len(expected), len(expected)):
        trial.close(joined[index], expected[index], dtype="float32")


def dataset_batches(trial: Trial, length: int, batch_size: int, drop_last: bool, dtype: str) -> None:
    """A loader without shuffling stacks the rows in order; drop_last omits an incomplete last batch."""
    values = trial.random(length, 4, dtype=dtype)
    rows = _data_set(trial, trial.tensor(values))
    batches = trial.call_method(rows, "epoch", batch_size=batch_size, drop_last=drop_last)
    stop = length // batch_size * batch_size if drop_last else length
    expected = [values[start : start + batch_size] for start in range(0, stop, batch_size)]
    trial.equal(len(batches), len(expected))
    for batch, part in zip(batches, expected):
        trial.close(batch, part, dtype=dtype)


def dataset_shuffled(trial: Trial, length: int, batch_size: int) -> None:
    """A shuffling loader gives each row once, in a different order each time."""
    values = np.arange(2 * length, dtype="float32").reshape(length, 2)
    rows = _data_set(trial, trial.tensor(values))
    epoch = torch.cat(trial.call_method(rows, "epoch", batch_size=batch_size, shuffle=True))
    trial.equal(trial.dtype_name(epoch), "float32")
    first = trial.numpy(epoch)
    following = trial.call_method(rows, "epoch", batch_size=batch_size, shuffle=True)
    second = trial.numpy(torch.cat(following))
    trial.equal(first[np.argsort(first[:, 0])], values)
    trial.equal(second[np.argsort(second[:, 0])], values)
    trial.check((first != values).any() and (first != second).any(), "the rows are not shuffled")


def dataset_workers(trial: Trial, length: int, workers: int) -> None:
    """Rows that worker processes read on the host arrive in order on the device."""
    values = trial.random(length, 4, dtype="float32")
    rows = _data_set(trial, values)
    trial.repeatable = False
    batches = trial.call_method(rows, "epoch", batch_size=4, num_workers=workers)
    trial.close(torch.cat(batches), values, dtype="float32")


def dataset_samples(trial: Trial) -> None:
    """Batches of samples with several parts have these parts: arrays are stacked, numbers become tensors, text
    lists."""
    values = trial.random(6, 3)
    device = trial.device

    class Samples(trial.function):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            return values[index], {"label": index, "weight": index / 2, "name": f"row {index}"}

        def epoch(self) -> Any:
            return [
                (
                    x.to(device),
                    {"label": extra["label"].to(device), "weight": extra["weight"].to(device), "name": extra["name"]},
                )
                for x, extra in torch.utils.data.DataLoader(self, batch_size=4)
            ]

    batches = trial.call_method(Samples(), "epoch")
    trial.equal(len(batches), 2)
    for (x, extra), rows in zip(batches, (range(4), range(4, 6))):
        trial.exact(x, values[list(rows)], dtype="float32")
        trial.exact(extra["label"], list(rows), dtype="int64")
        trial.exact(extra["weight"], [row / 2 for row in rows], dtype="float64")
        trial.equal(list(extra["name"]), [f"row {row}" for row in rows])


def dataset_keys(trial: Trial) -> None:
    """A data set of a given item type, without a length, gives its rows by names, in the order of a sampler."""
    values = trial.random(3, 4)
    rows = {name: trial.tensor(row) for name, row in zip("abc", values)}
    device = trial.device

    class Named(trial.function[torch.Tensor]):  # type: ignore[misc, name-defined]
        def __getitem__(self, name: str) -> Any:
            return rows[name]

        def epoch(self, order: str) -> Any:
            return [batch.to(device) for batch in torch.utils.data.DataLoader(self, batch_size=2, sampler=order)]

    named = Named()
    batches = trial.call_method(named, "epoch", "caaba")
    trial.equal(len(batches), 3)
    for batch, numbers in zip(batches, ([2, 0], [0, 1], [0])):
        trial.exact(batch, values[numbers], "float32")
    trial.exact(trial.call_method(named, "__getitem__", "b"), values[1], "float32")


def dataset_abstract(trial: Trial) -> None:
    """The base class can be created but has neither items nor a length: subclasses define both."""
    bare = trial.call()
    trial.check(isinstance(bare, torch.utils.data.Dataset), "not a Dataset")
    for attempt, error in ((lambda: bare[0], NotImplementedError), (lambda: len(bare), TypeError)):
        try:
            found = attempt()
        except error:
            continue
        trial.check(False, f"expected {error.__name__}, got {found!r}")


def dataset_in_turns(trial: Trial) -> None:
    """Two data sets of one class, two loaders of one of them, and sums of them go on side by side."""
    values = [trial.random(length, 3, seed=length) for length in (6, 4)]
    first, second = (_data_set(trial, trial.tensor(each)) for each in values)
    trial.repeatable = False
    for number in (0, 1, 0):
        trial.exact(trial.call_method((first, second)[number], "__getitem__", 2), values[number][2], "float32")
    loaders = [iter(torch.utils.data.DataLoader(first, batch_size=size)) for size in (2, 3)]
    for number, begin in ((0, 0), (1, 0), (0, 2), (0, 4), (1, 3)):
        batch = next(loaders[number])
        trial.exact(batch, values[0][begin : begin + number + 2], "float32")
    sums = [trial.call_method(left, "__add__", right) for left, right in ((first, second), (second, first))]
    trial.equal([len(joined) for joined in sums], [10, 10])
    trial.exact(sums[0][6], values[1][0], "float32")
    trial.exact(sums[1][6], values[0][2], "float32")
    trial.equal([len(first), len(second)], [6, 4])


def dataset_sums(trial: Trial) -> None:
    """Several sums with the same data set, of parts of one length, have each the items of their own parts."""
    values = [trial.random(3, 2, seed=seed) for seed in range(3)]
    made = [_data_set(trial, trial.tensor(each)) for each in values]
    for one, other in ((0, 1), (0, 2), (1, 2), (2, 1), (0, 0), (0, 1)):
        joined = trial.call_method(made[one], "__add__", made[other])
        trial.equal(len(joined), 6)
        for index, row in enumerate(np.concatenate([values[one], values[other]])):
            trial.exact(joined[index], row, "float32")
