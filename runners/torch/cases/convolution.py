"""Convolution in NumPy, over any number of spatial axes: the reference of the cases about convolutional layers."""

from __future__ import annotations

import itertools
from typing import Any, Iterator, Mapping, Sequence

import numpy as np

from runners.core.testing.arrays import widened

_PAD_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


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
    """``x`` (N, C, ...) or (C, ...) with ``weights["weight"]`` (O, C / groups, ...) and ``weights["bias"]`` (O)."""
    weight = weights["weight"]
    if x.ndim < weight.ndim:
        return convolved(x[None], weights, stride, padding, dilation, groups, padding_mode, bias)[0]
    axes = weight.ndim - 2
    stride, dilation = along(stride, axes), along(dilation, axes)
    if padding == "same":
        totals = [step * (size - 1) for size, step in zip(weight.shape[2:], dilation)]
        # An odd number of padded layers puts the larger part behind.
        pads = [(total // 2, total - total // 2) for total in totals]
    else:
        pads = [(p, p) for p in along(padding, axes)]
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


def windows(
    shape: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """For each position in the kernel, the index of that part of a (padded) batch that is multiplied with it."""
    lengths = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(shape, kernel, stride, dilation)]
    for position in itertools.product(*map(range, kernel)):
        begins = [p * d for p, d in zip(position, dilation)]
        axes = (slice(b, b + s * length, s) for b, s, length in zip(begins, stride, lengths))
        yield position, (slice(None), slice(None), *axes)


def along(value: Any, axes: int) -> tuple[int, ...]:
    """One number for every axis, or the numbers that are given."""
    return (value,) * axes if isinstance(value, int) else tuple(value)
