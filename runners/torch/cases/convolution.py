"""torch.nn.Conv2d and torch.nn.Conv3d, compared with a convolution in NumPy over any number of spatial axes."""

from __future__ import annotations

import itertools
from typing import Any, Iterator, Mapping, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.compare import EPSILON
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import ROUNDED, filled

_PAD_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}

_ROUNDED_BELOW_ONE: Mapping[str, Mapping[str, float]] = {
    "bfloat16": {"rtol": EPSILON["bfloat16"], "atol": EPSILON["bfloat16"] / 2}
}
"""ROUNDED for sums of about 1."""


def convolved(
    x: Any,
    weights: Mapping[str, Any],
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    bias: bool = True,
) -> Any:
    """Convolve ``x`` (N, C, ...) or (C, ...) with ``weights["weight"]`` (O, C / groups, ...); add ``weights["bias"]``
    (O)."""
    weight = weights["weight"]
    if x.ndim < weight.ndim:
        return convolved(x[None], weights, stride, padding, dilation, groups, padding_mode, bias)[0]
    axes = weight.ndim - 2
    stride, dilation = along(stride, axes), along(dilation, axes)
    pads = padded_by(weight.shape[2:], padding, dilation)
    x = np.pad(widened(x), [(0, 0), (0, 0), *pads], mode=_PAD_MODES[padding_mode])
    parts = []
    for part, kernels in zip(np.split(x, groups, axis=1), np.split(weight, groups)):
        terms = (
            np.einsum("nc...,oc->no...", part[window], kernels[(..., *position)], optimize=True)
            for position, window in windows(x.shape[2:], weight.shape[2:], stride, dilation)
        )
        parts.append(sum(terms))
    output = np.concatenate(parts, axis=1)
    return output + weights["bias"].reshape(-1, *[1] * axes) if bias else output


def padded_by(kernel: Sequence[int], padding: Any, dilation: Sequence[int]) -> list[tuple[int, int]]:
    """Return how many places are added at the beginning and at the end of each axis."""
    if padding == "same":
        totals = [step * (size - 1) for size, step in zip(kernel, dilation)]
        # If the total padding is odd, the larger part is at the end.
        return [(total // 2, total - total // 2) for total in totals]
    return [(p, p) for p in along(0 if padding == "valid" else padding, len(kernel))]


def windows(
    shape: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """For each position in the kernel, give the index of the part of a padded batch that it is multiplied with."""
    lengths = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(shape, kernel, stride, dilation)]
    for position in itertools.product(*map(range, kernel)):
        begins = [p * d for p, d in zip(position, dilation)]
        axes = (slice(b, b + s * length, s) for b, s, length in zip(begins, stride, lengths))
        yield position, (slice(None), slice(None), *axes)


def along(value: Any, axes: int) -> tuple[int, ...]:
    """Return one value for each axis: the given values, or the given number for every axis."""
    return (value,) * axes if isinstance(value, int) else tuple(value)


def conv2d(
    trial: Trial,
    shape: Sequence[int],
    out_channels: int,
    kernel: Sequence[int],
    dtype: str = "float32",
    layout: str = "contiguous",
    memory_format: str | None = None,
    special: str | None = None,
    **options: Any,
) -> None:
    """The output is the sum over the kernel's positions of shifted inputs times weights, plus the bias."""
    module = trial.make(shape[-3], out_channels, kernel, device=trial.device, dtype=trial.dtype(dtype), **options)
    weights = filled(trial, module, dtype, module.weight[0].numel() ** -0.5)
    output, expected = _output(trial, module, weights, shape, dtype, layout, memory_format, special, options)
    trial.close(output, expected, dtype=dtype, **_ROUNDED_BELOW_ONE.get(dtype, {}))


def conv2d_gradients(
    trial: Trial,
    shape: Sequence[int],
    out_channels: int,
    kernel: Sequence[int],
    dtype: str,
    layout: str = "contiguous",
    memory_format: str | None = None,
    **options: Any,
) -> None:
    """The gradients of input, weight and bias match those of the sum over the kernel's positions."""
    made = {"device": trial.device, "dtype": trial.dtype(dtype), **options}
    module = trial.make(shape[-3], out_channels, kernel, **made)
    weights = filled(trial, module, dtype, module.weight[0].numel() ** -0.5)
    check_gradients(trial, module, weights, shape, dtype, options, layout, memory_format)


_LONG_SUMS: Mapping[str, float] = {"rtol": 1.3e-6, "atol": 1e-4}
"""Rounding errors of sums of hundreds of float32 products reach 1e-5 and more, in any order."""


def conv3d(
    trial: Trial,
    shape: Sequence[int],
    out_channels: int,
    kernel: Sequence[int],
    dtype: str = "float32",
    layout: str = "contiguous",
    memory_format: str | None = None,
    special: str | None = None,
    **options: Any,
) -> None:
    """The output is the sum over the kernel's positions of shifted inputs times weights, plus the bias."""
    module = trial.make(shape[-4], out_channels, kernel, device=trial.device, dtype=trial.dtype(dtype), **options)
    weights = filled(trial, module, dtype)
    output, expected = _output(trial, module, weights, shape, dtype, layout, memory_format, special, options)
    allowed = _LONG_SUMS if dtype == "float32" and weights["weight"][0].size > 200 else ROUNDED.get(dtype, {})
    trial.close(output, expected, dtype=dtype, **allowed)


def conv3d_gradients(
    trial: Trial,
    shape: Sequence[int],
    out_channels: int,
    kernel: Sequence[int],
    dtype: str,
    stride: Sequence[int] = (1, 1, 1),
) -> None:
    """The gradients of input, weight and bias match those of the sum over the kernel's positions."""
    module = trial.make(shape[1], out_channels, kernel, stride, device=trial.device, dtype=trial.dtype(dtype))
    weights = filled(trial, module, dtype)
    check_gradients(trial, module, weights, shape, dtype, {"stride": stride})


def _output(
    trial: Trial,
    module: Any,
    weights: Mapping[str, Any],
    shape: Sequence[int],
    dtype: str,
    layout: str,
    memory_format: str | None,
    special: str | None,
    options: Mapping[str, Any],
) -> tuple[Any, Any]:
    """Time one forward pass of the module on a random input; return its output and the reference's."""
    x = trial.tensor(trial.random(*shape, dtype=dtype, special=special), dtype, layout)
    if memory_format:
        x = x.to(memory_format=getattr(torch, memory_format))
    output = trial.call_method(module, "__call__", x)
    return output, convolved(widened(trial.numpy(x)), weights, **options)


def check_gradients(
    trial: Trial,
    module: Any,
    weights: Mapping[str, Any],
    shape: Sequence[int],
    dtype: str,
    options: Mapping[str, Any],
    layout: str = "contiguous",
    memory_format: str | None = None,
) -> None:
    """Compare the output and the gradients of input, weight and bias with the reference's."""
    x = trial.random(*shape, dtype=dtype)
    tensor = trial.tensor(x, dtype, layout)
    if memory_format:
        tensor = tensor.to(memory_format=getattr(torch, memory_format))
    tensor.requires_grad_()
    output = trial.call_method(module, "__call__", tensor)
    trial.close(output, convolved(widened(x), weights, **options), dtype=dtype)
    down = trial.random(*output.shape, dtype=dtype, seed=7)
    (output * trial.tensor(down).conj()).sum().real.backward()
    weight = weights["weight"]
    batched = (1,) * (weight.ndim - len(shape))
    down = widened(down).reshape(*batched, *down.shape)
    x_gradient, weight_gradient = _gradients(widened(x).reshape(*batched, *shape), weight, down, **options)
    trial.close(tensor.grad, x_gradient.reshape(shape), dtype=dtype)
    trial.close(module.weight.grad, weight_gradient, dtype=dtype)
    if "bias" in weights:
        trial.close(module.bias.grad, down.sum((0, *range(2, down.ndim))), dtype=dtype)


def _gradients(
    x: Any,
    weight: Any,
    down: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    bias: bool = True,
) -> tuple[Any, Any]:
    """Return the gradients of a batch and of the weight, for the gradient ``down`` of the output."""
    axes = weight.ndim - 2
    stride, dilation = along(stride, axes), along(dilation, axes)
    pads, mode = padded_by(weight.shape[2:], padding, dilation), _PAD_MODES[padding_mode]
    padded = np.pad(x, [(0, 0), (0, 0), *pads], mode=mode)
    x_gradient, weight_gradient = np.zeros_like(padded), np.zeros_like(weight)
    inputs = np.split(np.arange(x.shape[1]), groups)
    outputs = np.split(np.arange(len(weight)), groups)
    for position, window in windows(padded.shape[2:], weight.shape[2:], stride, dilation):
        for entering, leaving in zip(inputs, outputs):
            above, kernel = down[:, leaving], weight[(leaving, slice(None), *position)]
            pair = (values.reshape(*values.shape[:2], -1) for values in (above, padded[window][:, entering].conj()))
            weight_gradient[(leaving, slice(None), *position)] = np.einsum("nop,ncp->oc", *pair)
            x_gradient[window][:, entering] += np.einsum("no...,oc->nc...", above, kernel.conj())
    # Each place of the padded batch is a copy of one in the batch, or of none: number 0.
    numbers = np.pad(np.arange(1, x[0, 0].size + 1).reshape(x.shape[2:]), pads, mode=mode)
    summed = np.zeros((*x.shape[:2], x[0, 0].size + 1), x.dtype)
    np.add.at(summed, (slice(None), slice(None), numbers.ravel()), x_gradient.reshape(*x.shape[:2], -1))
    return summed[..., 1:].reshape(x.shape), weight_gradient
