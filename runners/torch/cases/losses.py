"""Losses and their gradients, compared with NumPy."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import scipy.special

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_MANY_TERMS = 3e-6
"""The relative tolerance of a float32 sum of 1e5 and more terms, in any order."""

_ROUNDED = {"bfloat16": {"rtol": 1.6e-2, "atol": 2e-3}}
"""The loss is a difference of terms of about 1/2, each rounded to bfloat16's 8 bits."""


def kl_div(
    trial: Trial,
    shape: Sequence[int],
    reduction: str | None = None,
    log_target: bool = False,
    zeros: bool = False,
    dtype: str = "float32",
    layout: str = "contiguous",
    special: str | None = None,
) -> None:
    """The loss is target * (log(target) - input), zero where the target is zero, with the requested reduction."""
    x, target = _log_probabilities(trial, shape, 1, dtype, special), _log_probabilities(trial, shape, 2, dtype)
    if not log_target:
        target = np.exp(target)
    if zeros:
        target.reshape(-1)[::3] = 0
    tensors = trial.tensor(x, dtype, layout), trial.tensor(target, dtype, layout)
    module = trial.make(log_target=log_target) if reduction is None else trial.make(None, None, reduction, log_target)
    output = trial.call_method(module, "__call__", *tensors)
    x, target = (widened(trial.numpy(tensor)) for tensor in tensors)
    loss = np.exp(target) * (target - x) if log_target else scipy.special.xlogy(target, target) - target * x
    _check(trial, output, loss, reduction or "mean", dtype)


def kl_div_gradients(trial: Trial, shape: Sequence[int], reduction: str, log_target: bool, dtype: str) -> None:
    """The gradients of input and target are the derivatives of target * (log(target) - input)."""
    x, target = _log_probabilities(trial, shape, 1, dtype), _log_probabilities(trial, shape, 2, dtype)
    target = target if log_target else np.exp(target)
    tensors = trial.tensor(x).requires_grad_(), trial.tensor(target).requires_grad_()
    output = trial.call_method(trial.make(reduction=reduction, log_target=log_target), "__call__", *tensors)
    x, target = widened(x), widened(target)
    if log_target:
        loss = np.exp(target) * (target - x)
        slopes = -np.exp(target), np.exp(target) * (target - x + 1)
    else:
        loss, slopes = target * (np.log(target) - x), (-target, np.log(target) - x + 1)
    _check(trial, output, loss, reduction, dtype)
    _check_gradients(trial, output, tensors, slopes, reduction, dtype)


def bce_with_logits(
    trial: Trial,
    shape: Sequence[int],
    reduction: str | None = None,
    weight: Sequence[int] | None = None,
    pos_weight: Sequence[int] | None = None,
    low: float = -5,
    high: float = 5,
    dtype: str = "float32",
    layout: str = "contiguous",
    special: str | None = None,
) -> None:
    """The loss is the cross entropy of the logits' probabilities, also exact for large logits. Weights of the given
    shapes multiply the loss, or its part for positive targets."""
    x, target = _logits(trial, shape, low, high, dtype, special)
    tensors = trial.tensor(x, dtype, layout), trial.tensor(target, dtype, layout)
    options = {}
    for seed, (name, extent) in enumerate((("weight", weight), ("pos_weight", pos_weight)), 5):
        if extent is not None:
            options[name] = trial.tensor(trial.random(*extent, dtype=dtype, seed=seed, low=0.5, high=3), dtype)
    module = trial.make(**options) if reduction is None else trial.make(reduction=reduction, **options)
    output = trial.call_method(module, "__call__", *tensors)
    x, target = (widened(trial.numpy(tensor)) for tensor in tensors)
    named = {name: widened(trial.numpy(tensor)) for name, tensor in options.items()}
    _check(trial, output, _cross_entropy(x, target, **named)[0], reduction or "mean", dtype)


def bce_with_logits_values(
    trial: Trial, logits: Sequence[Any], targets: Sequence[float], expected: Sequence[Any], dtype: str
) -> None:
    """The given logits, also very large ones and NaN (written as text), have the stated losses."""
    x = trial.tensor([float(value) for value in logits], dtype)
    output = trial.call_method(trial.make(reduction="none"), "__call__", x, trial.tensor(targets, dtype))
    trial.close(output, [float(value) for value in expected], dtype=dtype, signed_zeros=True)


def bce_with_logits_gradients(
    trial: Trial,
    shape: Sequence[int],
    reduction: str,
    weighted: bool,
    dtype: str,
    special: str | None = None,
    of_target: bool = True,
    low: float = 0.5,
) -> None:
    """The gradients of logits and targets (``of_target``) are the derivatives of the weighted cross entropy. ``low``:
    no weight is below it."""
    x, target = _logits(trial, shape, -5, 5, dtype, special)
    names = ("weight", "pos_weight") if weighted else ()
    named = {name: trial.random(shape[-1], dtype=dtype, seed=len(name), low=low, high=3) for name in names}
    tensors = trial.tensor(x).requires_grad_(), trial.tensor(target).requires_grad_(of_target)
    options = {name: trial.tensor(values) for name, values in named.items()}
    output = trial.call_method(trial.make(reduction=reduction, **options), "__call__", *tensors)
    loss, *slopes = _cross_entropy(widened(x), widened(target), **{key: widened(named[key]) for key in named})
    _check(trial, output, loss, reduction, dtype)
    _check_gradients(trial, output, tensors[: 1 + of_target], slopes, reduction, dtype)


def smooth_l1(
    trial: Trial,
    shape: Sequence[int],
    target_shape: Sequence[int] | None = None,
    reduction: str | None = None,
    beta: float | None = None,
    dtype: str = "float32",
    layout: str = "contiguous",
    special: str | None = None,
) -> None:
    """The loss is quadratic for differences below beta and linear above; with beta 0 it is linear everywhere."""
    x = trial.tensor(trial.random(*shape, dtype=dtype, seed=1, special=special), dtype, layout)
    target = trial.tensor(trial.random(*(shape if target_shape is None else target_shape), dtype=dtype, seed=2), dtype)
    options: dict[str, Any] = {} if beta is None else {"beta": beta}
    module = trial.make(**options) if reduction is None else trial.make(reduction=reduction, **options)
    output = trial.call_method(module, "__call__", x, target)
    difference = widened(trial.numpy(x)) - widened(trial.numpy(target))
    _check(trial, output, _smooth(difference, 1.0 if beta is None else beta)[0], reduction or "mean", dtype)


def smooth_l1_values(
    trial: Trial, inputs: Sequence[Any], targets: Sequence[float], expected: Sequence[Any], beta: float, dtype: str
) -> None:
    """The given values, also at the joint of both pieces, infinite and NaN, have the stated losses."""
    x = trial.tensor([float(value) for value in inputs], dtype)
    output = trial.call_method(trial.make(reduction="none", beta=beta), "__call__", x, trial.tensor(targets, dtype))
    trial.close(output, [float(value) for value in expected], dtype=dtype, signed_zeros=True)


def smooth_l1_gradients(trial: Trial, shape: Sequence[int], reduction: str, beta: float, dtype: str) -> None:
    """The gradients of input and target are opposite: the difference over beta, limited to one."""
    x, target = trial.random(*shape, dtype=dtype, seed=1), trial.random(*shape, dtype=dtype, seed=2)
    tensors = trial.tensor(x).requires_grad_(), trial.tensor(target).requires_grad_()
    output = trial.call_method(trial.make(reduction=reduction, beta=beta), "__call__", *tensors)
    loss, slope = _smooth(widened(x) - widened(target), beta)
    _check(trial, output, loss, reduction, dtype)
    _check_gradients(trial, output, tensors, (slope, -slope), reduction, dtype)


def _log_probabilities(trial: Trial, shape: Sequence[int], seed: int, dtype: str, special: str | None = None) -> Any:
    """Return random log-probabilities whose exponentials sum to one along the last axis, or special values."""
    if special:
        return trial.random(*shape, dtype=dtype, seed=seed, special=special)
    values = trial.random(*shape, dtype=dtype, seed=seed)
    if not values.ndim or not values.size:
        return -abs(values)
    return (values - scipy.special.logsumexp(values, axis=-1, keepdims=True)).astype(values.dtype)


def _logits(
    trial: Trial, shape: Sequence[int], low: float, high: float, dtype: str, special: str | None = None
) -> tuple[Any, Any]:
    logits = trial.random(*shape, dtype=dtype, seed=1, low=low, high=high, special=special)
    return logits, trial.random(*shape, dtype=dtype, seed=2, low=0, high=1)


def _cross_entropy(x: Any, target: Any, weight: Any = 1.0, pos_weight: Any = 1.0) -> tuple[Any, Any, Any]:
    """Return the loss and its derivatives for logits and targets."""
    positive, negative = np.logaddexp(0, -x), np.logaddexp(0, x)
    loss = pos_weight * target * positive + (1 - target) * negative
    by_logits = (1 - target) * scipy.special.expit(x) - pos_weight * target * scipy.special.expit(-x)
    return weight * loss, weight * by_logits, weight * (pos_weight * positive - negative)


def _smooth(difference: Any, beta: float) -> tuple[Any, Any]:
    """Return the loss and its derivative."""
    size = abs(difference)
    if not beta:
        return size, np.sign(difference)
    inside = size < beta
    loss = np.where(inside, difference**2 / (2 * beta), size - beta / 2)
    return loss, np.where(inside, difference / beta, np.sign(difference))


def _check(trial: Trial, output: Any, loss: Any, reduction: str, dtype: str) -> None:
    """Check an output against the loss of each element."""
    loss = np.asarray(loss)
    if reduction == "none":
        expected = loss
    elif reduction == "batchmean":
        expected = loss.sum() / loss.shape[0]
    else:
        expected = loss.sum() if reduction == "sum" else loss.mean()
    wide = dict(_ROUNDED.get(dtype, {}))
    if loss.size >= 1e5 and dtype == "float32" and reduction != "none":
        wide = {"rtol": _MANY_TERMS}
    trial.close(output, expected, dtype=dtype, **wide)


def _check_gradients(
    trial: Trial, output: Any, tensors: Sequence[Any], slopes: Sequence[Any], reduction: str, dtype: str
) -> None:
    """Run the backward pass and compare the gradients with the derivatives of each element's loss."""
    down = trial.random(*output.shape, dtype=dtype, seed=7, low=1, high=2)
    (output * trial.tensor(down)).sum().backward()
    first = tensors[0]
    share = {"mean": first.numel(), "batchmean": first.shape[0]}.get(reduction, 1)
    for tensor, slope in zip(tensors, slopes):
        trial.close(tensor.grad, slope * widened(down) / share, dtype=dtype)
