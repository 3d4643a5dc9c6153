"""Distributions: what they print, new instances by expand, the ways to draw, and the place of each draw."""

from __future__ import annotations

import warnings
from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial


def described_draws(trial: Trial, args: Sequence[Any], text: str, batch: Sequence[int], event: Sequence[int]) -> None:
    """An instance prints its class and parameters, and expand gives another one. The same seed gives the same draws
    by each method, whose shape is that of the draws, then that of the batch, then that of an event."""
    given, _ = on_device(trial, args)
    made = trial.make(*given)
    trial.check(text in repr(made), f"expected {text!r} in {made!r}")
    expanded = trial.call_method(made, "expand", torch.Size(batch))
    trial.check(expanded is not made, "expand gives the instance itself")
    trial.equal([list(expanded.batch_shape), type(expanded) is type(made)], [list(batch), True])
    trial.repeatable = False
    methods = ["sample", "rsample"] if made.has_rsample else ["sample"]
    for count in (1, 3, 5):
        drawn = []
        for name in methods:
            torch.manual_seed(count)
            drawn.append(trial.numpy(trial.call_method(made, name, torch.Size([count]))))
        torch.manual_seed(count)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sample_n is deprecated.
            drawn.append(trial.numpy(trial.call_method(made, "sample_n", count)))
        for values in drawn:
            trial.equal(list(values.shape), [count, *batch, *event])
            trial.equal(values, drawn[0])
        if event:
            trial.close(drawn[0].sum(-1), np.ones([count, *batch]), rtol=1e-5, atol=1e-5)


def narrow_draws(trial: Trial, counts: Sequence[int]) -> None:
    """Draws of a von Mises distribution that is narrow stay at their own mean, wherever they are in the output: ten
    standard deviations are exceeded with a probability below 1e-20."""
    locs = np.array([-2.0, 0.25, 2.5])
    made = trial.make(trial.tensor(locs), trial.tensor(np.full(3, 1000.0)))
    drawn = trial.numpy(trial.call_method(made, "sample", torch.Size(counts)))
    trial.equal(list(drawn.shape), [*counts, 3])
    away = np.abs(drawn - locs)
    trial.check((away < 0.33).all(), f"a draw is {away.max():.3g} away from its mean")
