"""torch.nn.init.xavier_uniform_: the range and spread of random initial values, and that nothing else changes."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.compare import EPSILON
from runners.core.testing.distribution import check_draws
from runners.core.testing.trial import Trial

_DEVIATIONS = 5
"""The mean of independent draws differs by more standard deviations than this once in two million times."""

_ROUNDED_UP = {"bfloat16": 1.008, "float16": 1.001}
"""A value next to the bound is rounded to bfloat16's 8 bits, up to 2**-8 beyond the bound, or to float16's 11."""


def xavier_uniform(
    trial: Trial,
    shape: Sequence[int],
    bound: float,
    gain: float | None = None,
    dtype: str = "float32",
    layout: str = "contiguous",
) -> None:
    """The given tensor is filled uniformly over [-bound, bound], where bound is gain * sqrt(6 / (inputs + outputs)):
    they are independent uniform draws."""
    tensor = trial.tensor(np.full(shape, 7.0), dtype, layout)
    trial.writes = True
    returned = trial.call(tensor) if gain is None else trial.call(tensor, gain=gain)
    trial.check(returned is tensor, "the returned tensor is not the given one")
    _check_even(trial, tensor, shape, bound, dtype)


def xavier_uniform_parameter(trial: Trial, shape: Sequence[int], bound: float, dtype: str) -> None:
    """A parameter that requires a gradient is filled without recording: it stays a leaf."""
    parameter = torch.nn.Parameter(trial.tensor(np.full(shape, 7.0), dtype))
    trial.writes = True
    returned = trial.call(parameter)
    trial.check(returned is parameter, "the returned tensor is not the parameter")
    trial.check(parameter.is_leaf and parameter.requires_grad, "the parameter is not a leaf anymore")
    trial.equal(parameter.grad_fn is None, True)
    _check_even(trial, parameter, shape, bound, dtype)


def xavier_uniform_leaf(trial: Trial, shape: Sequence[int], bound: float, named: bool) -> None:
    """A leaf keeps its gradient, and whether it wants one. A result that was computed with its old values cannot be
    differentiated anymore: the change is counted."""
    for wants in (True, False):
        tensor = trial.tensor(np.full(shape, 7.0), "float32")
        leaf = torch.nn.Parameter(tensor, wants) if named else tensor.requires_grad_(wants)
        gradient = trial.tensor(trial.random(*shape, seed=3))
        leaf.grad = gradient
        other = torch.ones_like(tensor).requires_grad_()
        product = (leaf * other).sum()
        trial.writes, version = True, leaf._version
        trial.check(trial.call(leaf) is leaf, "the returned tensor is not the given one")
        trial.equal([leaf.requires_grad, leaf.is_leaf, leaf.grad is gradient], [wants, True, True])
        trial.exact(gradient, trial.random(*shape, seed=3), "float32")
        trial.check(leaf._version > version, "the change was not counted")
        try:
            product.backward()
        except RuntimeError as error:
            trial.check("modified" in str(error), f"expected an error about a modified tensor, got: {error}")
        else:
            raise AssertionError("the gradient was computed with values that are gone")
        _check_even(trial, leaf.detach(), shape, bound, "float32")


def xavier_uniform_empty(trial: Trial, shapes: Sequence[Sequence[int]]) -> None:
    """A tensor without elements is returned as it is."""
    for shape in shapes:
        tensor = trial.tensor(np.zeros(shape, "float32"))
        trial.check(trial.call(tensor) is tensor, "the returned tensor is not the given one")
        trial.equal(list(tensor.shape), list(shape))


def xavier_uniform_view(trial: Trial, rows: int, columns: int, bound: float) -> None:
    """A view is filled according to its own size; elements outside of it keep their values."""
    whole = trial.tensor(np.full((rows, 2 * columns), 7.0), "float32")
    view = whole[:, ::2]
    trial.writes = True
    returned = trial.call(view)
    trial.check(returned is view, "the returned tensor is not the view")
    _check_even(trial, view, (rows, columns), bound, "float32")
    trial.equal(whole[:, 1::2], np.full((rows, columns), 7.0))


def xavier_uniform_draws_differ(trial: Trial, shape: Sequence[int], bound: float) -> None:
    """Each call gives different values; the same seed gives the same values."""
    drawn = []
    trial.writes = True
    for seed in (5, None, 5):
        if seed is not None:
            torch.manual_seed(seed)
        tensor = trial.tensor(np.full(shape, 7.0), "float32")
        trial.check(trial.call(tensor) is tensor, "the returned tensor is not the given one")
        _check_even(trial, tensor, shape, bound, "float32")
        drawn.append(widened(trial.numpy(tensor)))
    trial.equal(drawn[2], drawn[0])
    same = float(np.mean(drawn[0] == drawn[1]))
    trial.check(same < 0.01, f"{same:.3f} of the values of a second call are those of the first")
    both = float(np.mean(drawn[0] * drawn[1])) / (bound**2 / 3)
    allowed = _DEVIATIONS / drawn[0].size ** 0.5
    trial.check(abs(both) < allowed, f"the two calls correlate by {both:.3f}, expected 0 +- {allowed:.3f}")


def xavier_uniform_distinct(trial: Trial, dtype: str) -> None:
    """Nearly all of many draws are different: they have the digits of float32 at least."""
    tensor = trial.tensor(np.zeros((100, 200)), dtype)
    trial.writes = True
    drawn = trial.call(tensor)
    _check_even(trial, drawn, (100, 200), 0.02**0.5, dtype)
    found = trial.numpy(drawn)
    count = len(np.unique(found))
    trial.check(count > 0.99 * found.size, f"only {count} of {found.size} draws are different")


def _check_even(trial: Trial, tensor: Any, shape: Sequence[int], bound: float, dtype: str) -> None:
    """Check dtype and shape, and that the values are independent and uniform over [-bound, bound]."""
    trial.equal(trial.dtype_name(tensor), dtype)
    values = widened(trial.numpy(tensor))
    trial.equal(list(values.shape), list(shape))
    scaled, count = values.reshape(-1) / bound, values.size
    largest = float(abs(scaled).max())
    trial.check(
        1 - 15 / count <= largest <= _ROUNDED_UP.get(dtype, 1 + 1e-6),
        f"the values reach {largest * bound:.4g}, expected {bound:.4g}",
    )
    allowed = _DEVIATIONS / count**0.5
    # Standard deviations of one uniform draw over [-1, 1]: 0.58; of its square: 0.3; of being in one quarter: 0.43.
    mean, square = float(scaled.mean()), float((scaled**2).mean())
    trial.check(abs(mean) <= 0.58 * allowed, f"the mean is {mean:.3g} of the bound, expected 0")
    trial.check(abs(square - 1 / 3) <= 0.3 * allowed, f"the mean square is {square:.3g} of the bound's, expected 1/3")
    for quarter in (-1.0, -0.5, 0.0, 0.5):
        share = float(np.mean((scaled >= quarter) & (scaled < quarter + 0.5)))
        trial.check(abs(share - 0.25) <= 0.43 * allowed, f"{share:.3f} of the values from {quarter} on, expected 1/4")
    check_draws(values, "uniform", {"low": -bound, "high": bound}, 2 * EPSILON[dtype])
