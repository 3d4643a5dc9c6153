"""Dropout at the ends of its options, in small calls, and how its layers describe themselves."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def in_place_ends(trial: Trial, dtype: str) -> None:
    """With inplace=True the given tensor is written to and returned, also with p=0 and p=1, and in evaluation."""
    trial.writes, trial.repeatable = True, False
    values = trial.random(5, 7, dtype=dtype, low=1, high=3)
    for p, training, factor in ((1.0, True, 0), (0.0, True, 1), (0.0, False, 1), (1.0, False, 1), (0.5, False, 1)):
        x = trial.tensor(values, dtype)
        trial.check(trial.call(x, p, training, True) is x, f"with p={p} the returned tensor is not the given one")
        trial.exact(x, values * factor, dtype)


def small_calls(trial: Trial, sizes: Sequence[int], calls: int = 200) -> None:
    """Of many calls of few elements, without a seed in between, each drops its own: half of all elements, and neither
    the same elements as the call before nor the other ones."""
    torch.manual_seed(11)
    trial.repeatable = False
    for size in sizes:
        x = trial.tensor(np.ones(size, "float32"))
        drawn = trial.call_inside(lambda function, x=x: [function(x, 0.5) for _ in range(calls)])
        dropped = np.array([widened(trial.numpy(each)) for each in drawn]) == 0
        again = dropped[1:] == dropped[:-1]
        for found, what in ((dropped, "elements are dropped"), (again, "elements are those of the call before")):
            # More than 5.5 standard deviations occur once in 25 million times.
            share, allowed = float(found.mean()), 5.5 * 0.5 / found.size**0.5
            trial.check(abs(share - 0.5) <= allowed, f"{share:.0%} of the {what}, expected 50 %")


def special_values(trial: Trial, dtype: str, made: bool = False) -> None:
    """NaN, infinities and -0 pass unchanged with p=0 and in evaluation. In training half of them are kept as they are;
    one that is dropped is 0, or the NaN of a product with 0.

    ``made``: the function is a layer that drops channels, not elements.
    """
    torch.manual_seed(11)
    trial.writes, trial.repeatable = True, False
    shape = (50, 60, 1, 2, 1) if made else (50, 60)
    for number in (np.nan, np.inf, -np.inf, -0.0):
        for p, training, inplace in ((0.0, True, False), (0.0, True, True), (0.5, False, False), (0.5, True, False)):
            x = trial.tensor(np.full(shape, number), dtype)
            if made:
                output = trial.call_method(trial.make(p, inplace).train(training), "__call__", x)
            else:
                output = trial.call(x, p, training, inplace)
            if not (p and training):
                trial.exact(output, np.full(shape, number), dtype)
                continue
            trial.equal(trial.dtype_name(output), dtype)
            found = widened(trial.numpy(output))
            kept = np.isnan(found) if np.isnan(number) else found == number
            other = found[~(kept | np.isnan(found) | (found == 0))]
            trial.check(other.size == 0, f"{number} becomes {other[:3]}, expected {number}, 0 or NaN")
            # More than 5.5 standard deviations occur once in 25 million times. A dropped number can be NaN or 0, too.
            share, allowed = float(kept.mean()), 5.5 * 0.5 / 3000**0.5
            trial.check(share >= 0.5 - allowed, f"{share:.0%} of the numbers {number} are kept, expected 50 %")
            if np.isinf(number):
                trial.check(share <= 0.5 + allowed, f"{share:.0%} of the numbers {number} are kept, expected 50 %")


def described(trial: Trial, made: Sequence[Sequence[Any]], expected: Sequence[str]) -> None:
    """The description of a layer has its options. It has no state, and its options can be read and changed."""
    x = trial.tensor(trial.random(2, 3, 2, 2, 2))
    for args, text in zip(made, expected):
        layer = trial.make(*args)
        trial.equal([repr(layer), list(layer.state_dict()), list(layer.parameters())], [text, [], []])
        trial.equal([layer.p, layer.inplace], [*args, *(0.5, False)[len(args) :]])
        layer.p = 0.0
        trial.exact(trial.call_method(layer, "__call__", x), trial.numpy(x), "float32")
        trial.check("p=0.0" in repr(layer), f"with p=0 the description is {layer!r}")
