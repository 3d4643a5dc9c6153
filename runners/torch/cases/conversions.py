"""torch.Tensor.to and torch.tensor: roundings, what another tensor gives, formats with other options, long lists."""

from __future__ import annotations

import warnings

import numpy as np
import torch

from runners.core.testing.arrays import nearest
from runners.core.testing.trial import Trial

# Ties to even, the numbers beside ties, the largest and smallest of each dtype and what lies beyond: all of them have
# at most 24 digits, as some devices go by way of float32.
_NUMBERS = [
    *(sign * (1 + eighths * 2.0**-digits / 8) for sign in (1, -1) for digits in (7, 10) for eighths in range(25)),
    *(0.0, -0.0, 65504.0, 65519.0, 65520.0, -1e6, 3e38, 2.0**-14, 2.0**-24, -(2.0**-25), 3 * 2.0**-25, 2.0**-15 * 1.25),
    *(float("nan"), float("inf"), float("-inf")),
]


def to_rounds(trial: Trial, dtype: str) -> None:
    """Every number becomes the nearest one of the dtype, by dtype, keyword or another tensor; zeros keep their sign,
    and NaN stays NaN."""
    values = np.array(_NUMBERS, "float32")
    kind = getattr(torch, dtype)
    expected = nearest(values, dtype)
    other = torch.zeros((), dtype=kind, device=trial.device)
    for source in ("float32", "float64"):
        given = trial.tensor(values.astype(source))
        for output in (trial.call(given, kind), trial.call(given, dtype=kind), trial.call(given, other)):
            trial.exact(output, expected.astype("float64"), dtype)


def to_truths(trial: Trial, source: str) -> None:
    """Whatever is not zero is true: also fractions, NaN and infinities."""
    numbers = [0.0, -0.0, 0.25, -0.5, 1e-7, float("nan"), float("inf"), float("-inf"), 2.0, 256.0]
    values = np.array(numbers, source)
    trial.exact(trial.call(trial.tensor(values), torch.bool), values != 0, "bool")


def to_like_another(trial: Trial, source: str, target: str, copy: bool) -> None:
    """Another tensor gives its dtype and nothing else: not its shape, its order in memory, its value or that it needs a
    gradient."""
    host = trial.random(2, 3, 4, 5, dtype=source, seed=1)
    given = trial.tensor(host).permute(0, 3, 1, 2)
    for needs in (False, True):
        other = trial.tensor(trial.random(7, dtype=target, seed=2)).requires_grad_(needs)
        for output in (
            trial.call(given, other, copy=copy),
            trial.call(given, other, False, copy),
        ):
            trial.close(output, host.transpose(0, 3, 1, 2), dtype=target)
            trial.equal(list(output.stride()), list(given.stride()))
            trial.equal([output.requires_grad, given.requires_grad, other.requires_grad], [False, False, needs])
            trial.check((output is given) == (source == target and not copy), "expected a copy where one is needed")


def to_formats(trial: Trial, axes: int, target: str) -> None:
    """A format holds together with a dtype, a copy, or both, whatever the order in memory was."""
    shape = (2, 3, 4, 5, 6)[:axes]
    host = trial.random(*shape, dtype="float32", seed=1)
    last = torch.channels_last if axes == 4 else torch.channels_last_3d
    kind = getattr(torch, target)
    plain = trial.tensor(host)
    strides = [int(step) // 4 for step in host.strides]
    moved = np.ascontiguousarray(np.moveaxis(host, 1, -1))
    ordered = [int(step) // 4 for step in np.moveaxis(moved, -1, 1).strides]
    for given in (plain, plain.contiguous(memory_format=last)):
        for wanted, expected in ((torch.contiguous_format, strides), (last, ordered)):
            for copy in (False, True):
                output = trial.call(given, kind, copy=copy, memory_format=wanted)
                trial.close(output, host, dtype=target)
                trial.equal(list(output.stride()), expected)
                output = trial.call(given, trial.tensor(np.zeros(1, target)), copy=copy, memory_format=wanted)
                trial.equal(list(output.stride()), expected)


def tensor_of_long_lists(trial: Trial, dtype: str) -> None:
    """Lists, tuples and ranges of many items, along each axis, give all of them."""
    for shape in ((2500,), (300, 2), (2, 300), (70, 70), (2, 2, 300), (2, 300, 2), (70, 3, 2), (1, 2, 70, 1)):
        host = (np.arange(int(np.prod(shape))) % 251 + 1).astype(dtype).reshape(shape)
        for data in (host.tolist(), tuple(host.tolist())):
            trial.exact(
                trial.call(data, dtype=getattr(torch, dtype), device=trial.device), host.astype("float64"), dtype
            )
    for numbers in (range(300), range(2500, 0, -1)):
        trial.exact(trial.call(numbers, device=trial.device), np.array(numbers), "int64")


def tensor_is_apart(trial: Trial, target: str) -> None:
    """A tensor as data gives its values only: the result is a leaf that needs a gradient only where this is asked for,
    and the data keeps what it has."""
    leaf = trial.tensor(trial.random(3, 4, seed=1)).requires_grad_()
    computed = leaf * 1
    for data in (leaf, computed, leaf.detach(), torch.nn.Parameter(leaf.detach())):
        needed = data.requires_grad
        for options, needs in (({}, False), ({"requires_grad": False}, False), ({"requires_grad": True}, True)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                output = trial.call(data, dtype=getattr(torch, target), device=trial.device, **options)
            trial.close(output, trial.numpy(leaf), dtype=target)
            trial.equal([output.requires_grad, output.is_leaf, data.requires_grad], [needs, True, needed])
            trial.check(type(output) is torch.Tensor, "expected a tensor that is no parameter")
            trial.check(output.data_ptr() != data.data_ptr(), "expected memory of its own")
