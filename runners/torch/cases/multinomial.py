"""torch.multinomial: draws of categories, compared with their weights.

The seeds are fixed. Every bound is so wide that a correct generator on any device exceeds it with a probability below
one in a million.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.distribution import check_categories
from runners.core.testing.trial import Trial

_SIGMAS = 5.5


def multinomial_shares(trial: Trial, weights: Sequence[Any], draws: int, dtype: str) -> None:
    """Drawn with replacement, each category is as frequent as its weight says; weight 0 never occurs."""
    tensor = trial.tensor(np.array(weights, "float64"), dtype)
    drawn = trial.call(tensor, draws, replacement=True)
    trial.equal(trial.dtype_name(drawn), "int64")
    rows = np.atleast_2d(trial.numpy(tensor)).astype("float64")
    trial.equal(list(drawn.shape), [*np.shape(weights)[:-1], draws])
    for row, found in zip(rows, np.atleast_2d(trial.numpy(drawn))):
        check_categories(found, row)


def multinomial_without_replacement(
    trial: Trial, rows: int, categories: int, draws: int, dtype: str, zeros: int = 0, layout: str = "contiguous"
) -> None:
    """Drawn without replacement, no category repeats in a row and weight 0 never occurs. The first draw follows the
    weights, the second one the weights that the first one leaves, and the rows are independent.

    ``zeros``: how many categories, at the beginning, have the weight 0.
    """
    weights = np.concatenate([np.zeros(zeros), np.arange(1.0, categories + 1)])
    drawn = trial.call(trial.tensor(np.tile(weights, (rows, 1)), dtype, layout), draws)
    trial.equal(trial.dtype_name(drawn), "int64")
    found = trial.numpy(drawn)
    trial.equal(list(found.shape), [rows, draws])
    trial.check((np.diff(np.sort(found, axis=1), axis=1) > 0).all(), "a category was drawn twice in a row")
    shares = weights / weights.sum()
    for number in range(draws):
        trial.check((shares[found[:, number]] > 0).all(), "a category of weight 0 was drawn")
    check_categories(found[:, 0], shares)
    if draws > 1:
        _check_shares(trial, found[:, 1], shares * ((shares / (1 - shares)).sum() - shares / (1 - shares)))


def multinomial_many(trial: Trial, categories: int, draws: int, dtype: str, scale: float) -> None:
    """With many categories, whose weights have any scale, each is as frequent as its weight says, with replacement, in
    independent rows, and by the first draw without replacement."""
    weights = trial.random(categories, dtype="float64", seed=4, low=0, high=1) * scale
    weights[::7] = 0
    tensor = trial.tensor(weights, dtype)
    drawn = trial.call(tensor, draws, replacement=True)
    trial.equal([trial.dtype_name(drawn), list(drawn.shape)], ["int64", [draws]])
    found = trial.numpy(drawn)
    shares = weights / weights.sum()
    _check_shares(trial, found, shares)
    # In groups of 20 the counts are large enough for all moments.
    groups = np.arange(categories) * 20 // categories
    check_categories(groups[found], np.bincount(groups, shares))
    rows = groups[trial.numpy(trial.call(tensor.expand(draws // 40, categories), 40, replacement=True))]
    for order in (rows, rows.T):
        check_categories(order.ravel(), np.bincount(groups, shares))
    single = trial.numpy(trial.call(tensor.expand(draws, categories), 1))[:, 0]
    check_categories(groups[single], np.bincount(groups, shares))


def multinomial_into(trial: Trial, replacement: bool) -> None:
    """With out= the given tensor holds the draws that the same generator gives without out=, and is returned."""
    weights = trial.tensor(trial.random(3, 50, dtype="float64", seed=5, low=0.1, high=1))
    generator = torch.Generator(device=trial.device)
    out = trial.tensor(np.full((3, 40), -7))
    trial.repeatable = False
    returned = trial.call(weights, 40, replacement, generator=generator.manual_seed(4), out=out)
    trial.check(returned is out, "the returned tensor is not the one given as out=")
    plain = trial.call(weights, 40, replacement, generator=generator.manual_seed(4))
    trial.equal([trial.dtype_name(plain), list(plain.shape)], ["int64", [3, 40]])
    trial.exact(out, trial.numpy(plain), "int64")
    distinct = [len(set(row)) for row in trial.numpy(out).tolist()]
    trial.check((max(distinct) < 40) == replacement, f"40 draws of 50 have {distinct} different categories")


def multinomial_generator(trial: Trial, draws: int) -> None:
    """A generator determines the draws: the same seed gives the same draws, another seed different ones."""
    weights = trial.tensor(np.full(50, 0.02, "float32"))

    def drawn(seed: int, repeatable: bool) -> Any:
        trial.repeatable = repeatable
        generator = torch.Generator(device=trial.device)
        generator.manual_seed(seed)
        indices = trial.call(weights, draws, True, generator=generator)
        trial.equal(trial.dtype_name(indices), "int64")
        trial.equal(list(indices.shape), [draws])
        return trial.numpy(indices)

    first = drawn(1, True)
    torch.manual_seed(99)
    trial.equal(drawn(1, False), first)
    trial.check((drawn(2, False) != first).any(), "another seed gives the same draws")
    check_categories(first, np.full(50, 0.02))


def _check_shares(trial: Trial, found: Any, shares: Any) -> None:
    trial.check(((found >= 0) & (found < len(shares))).all(), f"a draw is outside of the {len(shares)} categories")
    counts = np.bincount(found, minlength=len(shares))
    expected = len(found) * shares
    # Where hardly a draw is expected, the bound of a normal distribution is too narrow by a few.
    away = np.abs(counts - expected) - _SIGMAS * np.sqrt(expected * (1 - shares)) - np.where(shares > 0, 5, 0)
    worst = int(np.argmax(away))
    message = f"category {worst}: expected about {expected[worst]:.3g} of {len(found)} draws, got {counts[worst]}"
    trial.check((away <= 1e-6).all(), message)


def multinomial_long_tail(trial: Trial, tail: int, draws: int, dtype: str) -> None:
    """Many categories that are each far less likely than the first one are together as frequent as their weights say,
    and alike in each part of them."""
    weights = np.full(tail + 1, 0.02 / tail)
    weights[0] = 1
    found = trial.numpy(trial.call(trial.tensor(weights, dtype), draws, True))
    groups = np.where(np.arange(tail + 1) == 0, 0, 1 + (np.arange(tail + 1) - 1) * 8 // tail)
    trial.check(((found >= 0) & (found <= tail)).all(), "a draw is none of the categories")
    check_categories(groups[found], np.bincount(groups, weights))


def large_weights(trial: Trial, dtype: str) -> None:
    """One draw without replacement from each of many equal rows follows weights whose sum is beyond float16."""
    if dtype == "float16" and torch.__version__.startswith("1."):
        trial.skip("this version does not draw in half precision on every device")
    tensor = trial.tensor(np.tile([20000.0, 60000.0, 20000.0], (20000, 1)), dtype)
    drawn = trial.call(tensor, 1)
    trial.equal([trial.dtype_name(drawn), list(drawn.shape)], ["int64", [20000, 1]])
    check_categories(trial.numpy(drawn)[:, 0], trial.numpy(tensor)[0].astype("float64"))
