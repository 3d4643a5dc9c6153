"""Dropout: which elements are dropped, how many, and the values of the others. The bounds hold for any random
stream."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.distribution import FEWEST, check_categories
from runners.core.testing.trial import Trial

_DEVIATIONS = 5
"""The share of independent draws differs by more standard deviations than this once in two million times."""


def dropout_share(
    trial: Trial, shape: Sequence[int], p: float | None = None, dtype: str = "float32", layout: str = "contiguous"
) -> None:
    """About the share p of the elements is zero, evenly spread; each other element is its input over 1 - p."""
    x = trial.tensor(_inputs(trial, shape, dtype), dtype, layout)
    output = trial.call(x) if p is None else trial.call(x, p)
    p = 0.5 if p is None else p
    kept = _check_kept(trial, output, widened(trial.numpy(x)), p, dtype)
    _check_share(trial, ~kept, p, "elements")
    for axis in range(len(shape)):
        lines = np.moveaxis(~kept, axis, 0).reshape(shape[axis], -1)
        for line in lines if lines.shape[1] >= 400 else ():
            _check_share(trial, line, p, f"elements of a slice of axis {axis}")
    # Two neighbors are dropped together as often as independent elements: there is no pattern.
    flat = ~kept.reshape(-1)
    _check_share(trial, flat[:-1:2] & flat[1::2], p * p, "pairs of neighbors")
    check_categories(flat, [1 - p, p])


def dropout_all(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """With p=1 all elements are dropped, and the gradient is zero."""
    x = trial.tensor(_inputs(trial, shape, dtype)).requires_grad_()
    output = trial.call(x, p=1.0)
    trial.close(output, np.zeros(shape), rtol=0, atol=0, dtype=dtype)
    output.sum().backward()
    trial.exact(x.grad, np.zeros(shape), dtype)


def dropout_identity(
    trial: Trial, shape: Sequence[int], p: float, training: bool, dtype: str, layout: str = "contiguous"
) -> None:
    """In evaluation, or with p=0, values and gradient pass unchanged."""
    values = _inputs(trial, shape, dtype)
    x = trial.tensor(values, dtype, layout).requires_grad_()
    output = trial.call(x, p, training=training)
    trial.exact(output, widened(trial.numpy(x)), dtype)
    down = trial.tensor(trial.random(*shape, dtype=dtype, seed=7), dtype)
    (output * down).sum().backward()
    trial.exact(x.grad, trial.numpy(down), dtype)


def dropout_in_place(trial: Trial, shape: Sequence[int], p: float, training: bool, dtype: str) -> None:
    """With inplace=True the given tensor is changed and returned; in evaluation it stays as it is."""
    values = _inputs(trial, shape, dtype)
    x = trial.tensor(values)
    trial.repeatable = False
    returned = trial.call(x, p, training, inplace=True)
    trial.check(returned is x, "the returned tensor is not the given one")
    kept = _check_kept(trial, x, widened(values), p if training else 0.0, dtype)
    _check_share(trial, ~kept, p if training else 0.0, "elements")


def dropout_gradient(trial: Trial, shape: Sequence[int], p: float, dtype: str, inplace: bool = False) -> None:
    """The gradient passes where the value passed, with the same scale, and is zero where the value was dropped. Each of
    two calls has its own elements."""
    values = _inputs(trial, shape, dtype)
    down = trial.random(*shape, dtype=dtype, seed=7)
    x = trial.tensor(values).requires_grad_()
    trial.repeatable = not inplace
    outputs = [trial.call(x * 1 if inplace else x, p, inplace=inplace) for _ in range(2)]
    sum((factor * output * trial.tensor(down)).sum() for factor, output in enumerate(outputs, 1)).backward()
    kept = [_check_kept(trial, output, widened(values), p, dtype) for output in outputs]
    for each in kept:
        _check_share(trial, ~each, p, "elements")
    _check_share(trial, ~kept[0] & ~kept[1], p * p, "elements twice")
    trial.close(x.grad, (kept[0] + 2.0 * kept[1]) * widened(down) / (1 - p), dtype=dtype)


def gradient_of_zeros(trial: Trial, shape: Sequence[int], p: float, made: Sequence[Any] | None = None) -> None:
    """The gradient of a zero is that of any other element, though the output does not show what was dropped. ``made``:
    the function is a class, whose instance is made of these arguments."""
    x = trial.tensor(np.zeros(shape, "float32")).requires_grad_()
    down = trial.random(*shape, seed=7, low=1, high=2)
    output = trial.call(x, p) if made is None else trial.call_method(trial.make(*made), "__call__", x)
    (output * trial.tensor(down)).sum().backward()
    trial.exact(output, np.zeros(shape), "float32")
    kept = _check_kept(trial, x.grad, widened(down), p, "float32")
    # Of more than two axes whole channels are dropped, so a channel is one draw.
    _check_share(trial, (~kept).reshape(shape[0] * shape[1], -1).mean(1), p, "gradients")


def dropout_draws_differ(trial: Trial, shape: Sequence[int], p: float) -> None:
    """Each call drops other elements, independent of the previous call; the same seed drops the same elements."""
    values = _inputs(trial, shape, "float32")
    x = trial.tensor(values)
    torch.manual_seed(5)
    first, second = (~_check_kept(trial, trial.call(x, p), widened(values), p, "float32") for _ in range(2))
    trial.repeatable = False  # The steady times of the first two calls are enough.
    torch.manual_seed(5)
    again = ~_check_kept(trial, trial.call(x, p), widened(values), p, "float32")
    _check_share(trial, first & second, p * p, "elements twice")
    trial.equal(again, first)


def dropout3d_channels(
    trial: Trial, shape: Sequence[int], p: float | None = None, dtype: str = "float32", layout: str = "contiguous"
) -> None:
    """In training about the share p of all channels is dropped as a whole; the others are their input over 1 - p."""
    x = trial.tensor(_inputs(trial, shape, dtype), dtype, layout)
    module = trial.make() if p is None else trial.make(p)
    output = trial.call_method(module, "__call__", x)
    p = 0.5 if p is None else p
    kept = _check_channels(trial, output, widened(trial.numpy(x)), p, dtype)
    _check_share(trial, ~kept, p, "channels")
    if kept.size >= FEWEST:
        check_categories(~kept, [1 - p, p])


def dropout3d_identity(trial: Trial, shape: Sequence[int], p: float, training: bool, dtype: str) -> None:
    """In evaluation, or with p=0, values and gradient pass unchanged."""
    values = _inputs(trial, shape, dtype)
    x = trial.tensor(values, dtype).requires_grad_()
    output = trial.call_method(trial.make(p).train(training), "__call__", x)
    trial.exact(output, widened(trial.numpy(x)), dtype)
    down = trial.tensor(trial.random(*shape, dtype=dtype, seed=7), dtype)
    (output * down).sum().backward()
    trial.exact(x.grad, trial.numpy(down), dtype)


def dropout3d_all(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """With p=1 all channels are dropped, and the gradient is zero."""
    x = trial.tensor(_inputs(trial, shape, dtype)).requires_grad_()
    output = trial.call_method(trial.make(1.0), "__call__", x)
    trial.close(output, np.zeros(shape), rtol=0, atol=0, dtype=dtype)
    output.sum().backward()
    trial.exact(x.grad, np.zeros(shape), dtype)


def dropout3d_in_place(trial: Trial, shape: Sequence[int], p: float) -> None:
    """With inplace=True the given tensor holds the result."""
    values = _inputs(trial, shape, "float32")
    x = trial.tensor(values)
    trial.repeatable = False
    returned = trial.call_method(trial.make(p, inplace=True), "__call__", x)
    for found in (x, returned):
        kept = _check_channels(trial, found, widened(values), p, "float32")
        _check_share(trial, ~kept, p, "channels")
    trial.equal(x, trial.numpy(returned))


def dropout3d_gradient(trial: Trial, shape: Sequence[int], p: float, dtype: str) -> None:
    """The gradient passes through the kept channels, with the same scale, and is zero in the others. Each of two calls
    has its own channels."""
    values = _inputs(trial, shape, dtype)
    down = trial.random(*shape, dtype=dtype, seed=7)
    x = trial.tensor(values).requires_grad_()
    module = trial.make(p)
    outputs = [trial.call_method(module, "__call__", x) for _ in range(2)]
    sum((factor * output * trial.tensor(down)).sum() for factor, output in enumerate(outputs, 1)).backward()
    kept = [_check_channels(trial, output, widened(values), p, dtype) for output in outputs]
    for each in kept:
        _check_share(trial, ~each, p, "channels")
    _check_share(trial, ~kept[0] & ~kept[1], p * p, "channels twice")
    passed = (kept[0] + 2.0 * kept[1])[..., None, None, None]
    trial.close(x.grad, passed * widened(down) / (1 - p), dtype=dtype)


def dropout3d_modes(trial: Trial, shape: Sequence[int], p: float) -> None:
    """A new module is in training mode and drops; evaluation mode switches that off, and training mode on again."""
    values = _inputs(trial, shape, "float32")
    x = trial.tensor(values)
    module = trial.make(p)
    first = _check_channels(trial, trial.call_method(module, "__call__", x), widened(values), p, "float32")
    trial.exact(trial.call_method(module.eval(), "__call__", x), values, "float32")
    again = _check_channels(trial, trial.call_method(module.train(), "__call__", x), widened(values), p, "float32")
    _check_share(trial, ~first & ~again, p * p, "channels twice")


def _inputs(trial: Trial, shape: Sequence[int], dtype: str) -> Any:
    """Return values of both signs without zeros, so that a zero in the output means a dropped element."""
    sizes = trial.random(*shape, dtype=dtype, seed=1, low=1, high=3)
    return np.where(trial.random(*shape, dtype="bool", seed=2), sizes, -sizes)


def _check_kept(trial: Trial, output: Any, x: Any, p: float, dtype: str) -> Any:
    """Check that every element is zero or its input over 1 - p; return which ones were kept."""
    found = widened(trial.numpy(output))
    trial.equal(list(found.shape), list(x.shape))
    kept = found != 0
    trial.close(output, np.where(kept, x / (1 - p), 0), dtype=dtype)
    return kept


def _check_channels(trial: Trial, output: Any, x: Any, p: float, dtype: str) -> Any:
    """Check that every channel is dropped or kept as a whole; return which ones were kept."""
    kept = _check_kept(trial, output, x, p, dtype)
    channels = kept.reshape(*kept.shape[:-3], -1)
    whole = channels.all(-1)
    trial.check((whole | ~channels.any(-1)).all(), "a channel is dropped in part")
    return whole


def _check_share(trial: Trial, dropped: Any, p: float, what: str) -> None:
    found = float(np.mean(dropped))
    allowed = _DEVIATIONS * (p * (1 - p) / np.size(dropped)) ** 0.5
    trial.check(abs(found - p) <= allowed, f"{found:.4f} of the {what} are dropped, expected {p:.4f} +- {allowed:.4f}")
