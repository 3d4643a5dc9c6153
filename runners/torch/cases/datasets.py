"""Data sets made of others: torch.utils.data.Subset and ConcatDataset."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.trial import Trial

_data = torch.utils.data


class Rows:
    """The methods of a data set, for anything that has a length and gives rows by index."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __getitem__(self, index: int) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)


class _HostRows(Rows, _data.Dataset):  # type: ignore[misc, name-defined]
    """Rows that stay on the host, for loaders with worker processes."""


def _loaded(trial: Trial, data_set: Any, **options: Any) -> list[Any]:
    """Run one pass through a loader and move each batch to the device, as training does."""
    return [
        tuple(part.to(trial.device) for part in batch) if isinstance(batch, (tuple, list)) else batch.to(trial.device)
        for batch in _data.DataLoader(data_set, **options)
    ]


def _check_made(trial: Trial, made: Any, length: int) -> None:
    trial.check(isinstance(made, trial.function), f"not an instance of the class: {type(made).__name__}")
    trial.check(isinstance(made, _data.Dataset), "not a Dataset")
    trial.equal(len(made), length)


def _check_items(trial: Trial, made: Any, expected: Any, dtype: str) -> None:
    trial.equal(len(made), len(expected))
    for index in range(-len(expected), len(expected)):
        (row,) = made[index]
        trial.exact(row, expected[index], dtype)


def _rows(trial: Trial, *shape: int, dtype: str, seed: int = 1, layout: str = "contiguous") -> tuple[Any, Any]:
    """Return a data set over a tensor on the device, and the tensor's values."""
    tensor = trial.tensor(trial.random(*shape, dtype=dtype, seed=seed), dtype, layout)
    return _data.TensorDataset(tensor), trial.numpy(tensor)


def subset_items(trial: Trial, dtype: str, layout: str = "contiguous") -> None:
    """Item i of a subset is the item that the i-th index names; indices can have any order and repeat."""
    whole, values = _rows(trial, 12, 5, dtype=dtype, layout=layout)
    indices = [7, 0, 11, 7, 3]
    part = trial.make(whole, indices)
    for position in (0, 2, 3, 4, -1):
        (row,) = trial.call_method(part, "__getitem__", position)
        trial.exact(row, values[indices[position]], dtype)
    _check_items(trial, part, values[indices], dtype)


def subset_length(trial: Trial, indices: Sequence[int]) -> None:
    """A subset has as many items as it has indices, also none."""
    whole, _ = _rows(trial, 9, 2, dtype="float32")
    part = trial.make(whole, indices)
    length = trial.call_method(part, "__len__")
    trial.check(type(length) is int, f"expected an int as length, got {length!r}")
    trial.equal(length, len(indices))
    trial.equal(len(_loaded(trial, part, batch_size=2)), -(-len(indices) // 2))


def subset_made_of(trial: Trial, kind: str) -> None:
    """The indices can be a list, a tuple, a range, an array or a tensor."""
    whole, values = _rows(trial, 10, 3, dtype="float32")
    plain = [2, 4, 6, 8]
    kinds = {
        "list": lambda: plain,
        "tuple": lambda: tuple(plain),
        "range": lambda: range(2, 10, 2),
        "array": lambda: np.array(plain),
        "tensor": lambda: trial.tensor(np.array(plain)),
    }
    indices = kinds[kind]()
    part = trial.call(whole, indices)
    _check_made(trial, part, 4)
    trial.check(part.dataset is whole and part.indices is indices, "the subset does not hold its data set and indices")
    _check_items(trial, part, values[plain], "float32")


def subset_several(trial: Trial, dtype: str) -> None:
    """A list of positions gives all these rows at once, if the whole data set supports that."""
    whole, values = _rows(trial, 12, 3, dtype=dtype)
    indices = [5, 1, 9, 10, 0]
    (rows,) = trial.call_method(trial.make(whole, indices), "__getitem__", [3, 0, 3])
    trial.exact(rows, values[[10, 5, 10]], dtype)


def subset_batches(trial: Trial, batch_size: int, dtype: str) -> None:
    """A loader over a subset stacks its rows in order; with shuffling it gives each row once."""
    whole, values = _rows(trial, 20, 4, dtype=dtype)
    indices = list(range(17, 2, -2))
    part = trial.call(whole, indices)
    _check_made(trial, part, len(indices))
    batches = _loaded(trial, part, batch_size=batch_size)
    for number, (batch,) in enumerate(batches):
        here = indices[number * batch_size : (number + 1) * batch_size]
        trial.exact(batch, values[here], dtype)
    trial.equal(len(batches), -(-len(indices) // batch_size))
    shuffled = np.concatenate([trial.numpy(batch) for (batch,) in _loaded(trial, part, batch_size=3, shuffle=True)])
    trial.equal(shuffled[np.lexsort(shuffled.T)], values[indices][np.lexsort(values[indices].T)])


def subset_nested(trial: Trial) -> None:
    """The indices of a subset of a subset refer to the inner subset."""
    whole, values = _rows(trial, 15, 2, dtype="float32")
    inner = trial.call(whole, [14, 3, 8, 1, 6])
    outer = trial.call(inner, [4, 0, 2])
    _check_made(trial, outer, 3)
    _check_items(trial, outer, values[[6, 14, 8]], "float32")


def subset_workers(trial: Trial, workers: int) -> None:
    """Rows of a subset that worker processes read on the host arrive in order on the device."""
    values = trial.random(20, 3, seed=1)
    indices = [19, 4, 2, 11, 7, 0, 13]
    trial.repeatable = False
    part = trial.call(_HostRows(values), indices)
    _check_made(trial, part, 7)
    batches = _loaded(trial, part, batch_size=3, num_workers=workers)
    trial.exact(torch.cat(batches), values[indices], "float32")


def subset_large(trial: Trial, rows: int) -> None:
    """A large subset in random order gives the same rows as indexing the array."""
    whole, values = _rows(trial, rows, 4, dtype="float32")
    order = np.random.RandomState(3).permutation(rows)[: rows // 2].tolist()
    part = trial.make(whole, order)
    (found,) = trial.call_method(part, "__getitem__", list(range(len(order))))
    trial.exact(found, values[order], "float32")


def concat_items(trial: Trial, lengths: Sequence[int], dtype: str, layout: str = "contiguous") -> None:
    """The items of all data sets follow in order, also counted from the end; empty data sets add none."""
    parts = [_rows(trial, length, 3, dtype=dtype, seed=seed, layout=layout) for seed, length in enumerate(lengths)]
    joined = trial.make([part for part, _ in parts])
    expected = np.concatenate([values for _, values in parts])
    for index in (0, lengths[0], len(expected) - 1, -1, -len(expected)):
        (row,) = trial.call_method(joined, "__getitem__", index)
        trial.exact(row, expected[index], dtype)
    _check_items(trial, joined, expected, dtype)


def concat_refuses_index(trial: Trial) -> None:
    """An index beyond the last item, or further from the end than there are items, raises an error."""
    joined = trial.make([_rows(trial, length, 3, dtype="float32")[0] for length in (2, 1)])
    trial.method_raises(joined, "__getitem__", ["ValueError"], "exceed", -4)
    trial.method_raises(joined, "__getitem__", ["IndexError"], "range", 3)


def concat_length(trial: Trial, lengths: Sequence[int]) -> None:
    """The length is the sum of all lengths, and cumulative_sizes holds the end of each data set."""
    parts = [_rows(trial, length, 2, dtype="float32")[0] for length in lengths]
    joined = trial.make(parts)
    length = trial.call_method(joined, "__len__")
    trial.check(type(length) is int, f"expected an int as length, got {length!r}")
    trial.equal(length, sum(lengths))
    trial.equal(list(joined.cumulative_sizes), np.cumsum(lengths).tolist())


def concat_made_of(trial: Trial, kind: str) -> None:
    """The data sets can be given as a list, as a tuple or as an iterator."""
    parts = [_rows(trial, length, 2, dtype="float32", seed=length) for length in (2, 3)]
    sets = [part for part, _ in parts]
    given = {"list": lambda: sets, "tuple": lambda: tuple(sets), "iterator": lambda: iter(sets)}[kind]()
    trial.repeatable = kind != "iterator"
    joined = trial.call(given)
    _check_made(trial, joined, 5)
    trial.check(
        all(left is right for left, right in zip(joined.datasets, sets)),
        "the data sets are not the given ones",
    )
    _check_items(trial, joined, np.concatenate([values for _, values in parts]), "float32")


def concat_batches(trial: Trial, batch_size: int, drop_last: bool, dtype: str) -> None:
    """A loader's batches continue across the borders between the data sets."""
    parts = [_rows(trial, length, 4, dtype=dtype, seed=length) for length in (5, 1, 7)]
    joined = trial.call([part for part, _ in parts])
    _check_made(trial, joined, 13)
    expected = np.concatenate([values for _, values in parts])
    batches = _loaded(trial, joined, batch_size=batch_size, drop_last=drop_last)
    trial.equal(len(batches), 13 // batch_size if drop_last else -(-13 // batch_size))
    for number, (batch,) in enumerate(batches):
        here = expected[number * batch_size : (number + 1) * batch_size]
        trial.exact(batch, here, dtype)


def concat_mixed(trial: Trial) -> None:
    """Data sets of different kinds keep their items: other shapes, dtypes and numbers of parts."""
    images, labels = trial.random(3, 2, 2, seed=1), trial.random(3, dtype="int64", seed=2)
    pairs = _data.TensorDataset(trial.tensor(images), trial.tensor(labels))
    wide = _data.TensorDataset(trial.tensor(trial.random(2, 6, dtype="float64", seed=3)))
    joined = trial.make([pairs, wide])
    trial.equal(len(joined), 5)
    image, label = trial.call_method(joined, "__getitem__", 2)
    trial.close(image, images[2], dtype="float32")
    trial.close(label, labels[2], dtype="int64")
    (row,) = trial.call_method(joined, "__getitem__", 4)
    trial.close(row, trial.random(2, 6, dtype="float64", seed=3)[1], dtype="float64")


def concat_nested(trial: Trial) -> None:
    """A concatenation can be part of another one, next to a subset."""
    (first, a), (second, b) = (_rows(trial, length, 2, dtype="float32", seed=length) for length in (4, 3))
    inner = trial.call([first, second])
    joined = trial.call([second, inner, _data.Subset(first, [2, 0])])
    _check_made(trial, joined, 12)
    _check_items(trial, joined, np.concatenate([b, a, b, a[[2, 0]]]), "float32")


def concat_workers(trial: Trial, workers: int) -> None:
    """Rows of all data sets that worker processes read on the host arrive in order on the device."""
    values = trial.random(11, 3, seed=1)
    trial.repeatable = False
    joined = trial.call([_HostRows(values[:4]), _HostRows(values[4:])])
    _check_made(trial, joined, 11)
    batches = _loaded(trial, joined, batch_size=3, num_workers=workers)
    trial.exact(torch.cat(batches), values, "float32")


def concat_many(trial: Trial, count: int) -> None:
    """With many data sets every index leads to the right item."""
    lengths = [1 + number % 3 for number in range(count)]
    values = np.arange(2.0 * sum(lengths), dtype="float32").reshape(-1, 2)
    begins = np.cumsum([0, *lengths])
    parts = [_data.TensorDataset(trial.tensor(values[i : i + n])) for i, n in zip(begins, lengths)]
    joined = trial.call(parts)
    _check_made(trial, joined, len(values))
    trial.equal(list(joined.cumulative_sizes), begins[1:].tolist())
    found = torch.stack([joined[index][0] for index in range(len(values))])
    trial.exact(found, values, "float32")


def shuffled_epochs(trial: Trial, kind: str, length: int) -> None:
    """A shuffling loader gives each row once in every epoch, each time in another order, and the data set keeps its
    own order.

    ``kind``: "subset" or "concat".
    """
    whole, values = _rows(trial, length, 2, dtype="float64")
    if kind == "subset":
        order = np.arange(length)[::-1]
        made, expected = trial.make(whole, order.tolist()), values[order]
    else:
        other, further = _rows(trial, length, 2, dtype="float64", seed=2)
        made, expected = trial.make([whole, other]), np.concatenate([values, further])
    trial.repeatable = False
    loader = _data.DataLoader(made, batch_size=7, shuffle=True)
    orders = [np.arange(len(expected))]
    for _ in range(3):
        found = np.concatenate([trial.numpy(batch) for (batch,) in loader])
        trial.equal(len(found), len(expected))
        places = [int(np.flatnonzero((expected == row).all(1))[0]) for row in found]
        trial.equal(sorted(places), list(range(len(expected))))
        orders.append(np.array(places))
    for number, one in enumerate(orders):
        for another in orders[:number]:
            trial.check((one != another).any(), "two epochs have the same order")
    for index in (0, len(expected) - 1):
        (row,) = trial.call_method(made, "__getitem__", index)
        trial.exact(row, expected[index], "float64")
