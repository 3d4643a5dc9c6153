"""Joining, copying and converting tensors, where a ``call`` test is not enough."""

from __future__ import annotations

import warnings
from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.trial import Trial


def cat_gradients(
    trial: Trial,
    lengths: Sequence[int],
    dtype: str,
    dim: int = 0,
    first_dtype: str | None = None,
    layout: str = "contiguous",
    repeats: int = 1,
    again: bool = False,
) -> None:
    """Each part of a concatenation gets exactly its part of the gradient, in its own dtype.

    With ``again``, the first part is also the last one and gets the sum of both gradients. ``repeats``: how many times
    the lengths occur.
    """
    arrays = []
    for seed, length in enumerate([*lengths] * repeats):
        shape = [3, 3]
        shape[dim] = length
        arrays.append(trial.random(*shape, dtype=dtype if seed else first_dtype or dtype, seed=seed))
    parts = [trial.tensor(values, layout=layout).requires_grad_() for values in arrays]
    expected = np.concatenate([*arrays, arrays[0]] if again else arrays, dim)
    weights = trial.random(*expected.shape, dtype=dtype, seed=9999)
    joined = trial.call([*parts, parts[0]] if again else parts, dim=dim)
    (joined * trial.tensor(weights).conj()).sum().real.backward()
    trial.exact(joined, expected, dtype)
    slopes = np.split(weights, np.cumsum([values.shape[dim] for values in arrays]), dim)
    if again:
        slopes[0] = slopes[0] + slopes[-1]
    for part, slope, values in zip(parts, slopes, arrays):
        trial.close(part.grad, slope, dtype=values.dtype.name)


def to_device_from_host(trial: Trial, dtype: str, target: str, non_blocking: bool) -> None:
    """A host tensor arrives on the device with its values, converted to the dtype."""
    values = trial.random(16, 8, dtype=dtype, seed=3)
    moved = trial.call(torch.from_numpy(values), trial.device, trial.dtype(target), non_blocking=non_blocking)
    trial.check(moved.device.type == trial.device.type, f"expected {trial.device}, got {moved.device}")
    trial.close(moved, values, dtype=target)


def to_same(trial: Trial) -> None:
    """If nothing needs conversion, the tensor itself is returned, not a copy."""
    tensor = trial.tensor(trial.random(4, 4))
    for args in (
        (torch.float32,),
        (tensor.device,),
        (tensor.device, torch.float32),
        (trial.tensor(np.ones(3, "float32")),),
    ):
        trial.check(trial.call(tensor, *args) is tensor, f"a tensor that needs no conversion to {args} was copied")


def to_copy(trial: Trial, dtype: str, how: str = "dtype") -> None:
    """With copy=True the values are in new memory: changing the copy does not change the original."""
    values = trial.random(4, 4, dtype=dtype, low=1, high=9)
    tensor = trial.tensor(values)
    ways: dict[str, Any] = {
        "dtype": (trial.dtype(dtype),),
        "device": (tensor.device,),
        "device and dtype": (tensor.device, trial.dtype(dtype)),
        "other": (trial.tensor(np.ones(2), dtype),),
    }
    copy = trial.call(tensor, *ways[how], copy=True)
    trial.close(copy, values, dtype=dtype)
    copy.zero_()
    trial.close(tensor, values, dtype=dtype)


def to_keeps_strides(trial: Trial, shape: Sequence[int], order: Sequence[int], target: str) -> None:
    """Without a memory format the output has the strides of a dense input, whatever the order of its axes in memory."""
    values = trial.random(*shape, seed=6)
    tensor = trial.tensor(values, order=order)
    moved = trial.call(tensor, trial.dtype(target), copy=target == "float32")
    trial.check(moved.stride() == tensor.stride(), f"expected strides of {tensor.stride()}, got {moved.stride()}")
    trial.check(moved is not tensor, "the tensor itself was returned")
    trial.close(moved, values, dtype=target)


def to_like(trial: Trial, dtype: str, target: str) -> None:
    """Given another tensor, the result has its dtype and device, and keeps its own shape and values."""
    values = trial.random(3, 5, dtype=dtype, seed=4)
    other = trial.tensor(np.ones(2), target)
    moved = trial.call(trial.tensor(values), other)
    trial.check(moved.device == other.device, f"expected {other.device}, got {moved.device}")
    trial.close(moved, values, dtype=target)


def to_channels_last(trial: Trial, target: str) -> None:
    """A memory format changes the strides but neither shape nor values."""
    values = trial.random(2, 3, 4, 5)
    moved = trial.call(trial.tensor(values), dtype=trial.dtype(target), memory_format=torch.channels_last)
    trial.check(moved.stride() == (60, 1, 15, 3), f"expected strides of channels last, got {moved.stride()}")
    trial.close(moved, values, dtype=target)


def to_gradient(trial: Trial, dtype: str, target: str) -> None:
    """A gradient passes back through the conversion, in the input's dtype; that of a real input is real."""
    weights = trial.tensor(trial.random(6, dtype=target, seed=5), target)
    tensor = trial.tensor(trial.random(6, dtype=dtype)).requires_grad_()
    converted = trial.call(tensor, trial.dtype(target))
    (converted * weights.conj()).sum().real.backward()
    trial.close(converted, trial.numpy(tensor), dtype=target)
    trial.close(tensor.grad, trial.numpy(weights).real, dtype=dtype)


def to_real(trial: Trial, target: str) -> None:
    """The gradient of a conversion from complex to real numbers has an imaginary part of zero."""
    values, weights = trial.random(5, dtype="complex128", seed=1), trial.random(5, dtype=target, seed=2)
    tensor = trial.tensor(values).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        converted = trial.call(tensor, trial.dtype(target))
    (converted * trial.tensor(weights)).sum().backward()
    trial.close(converted.detach(), values.real, dtype=target)
    trial.close(tensor.grad, weights.astype("complex128"), dtype="complex128")


def to_of_parameters(trial: Trial) -> None:
    """A parameter that needs no conversion is returned itself; what is converted or copied is a plain tensor in the
    graph of the parameter, which stays a leaf."""
    values = trial.random(2, 3)
    parameter = torch.nn.Parameter(trial.tensor(values))
    trial.check(trial.call(parameter, torch.float32) is parameter, "the parameter was copied")
    for dtype, options in (("float64", {}), ("float32", {"copy": True})):
        converted = trial.call(parameter, trial.dtype(dtype), **options)
        trial.check(type(converted) is torch.Tensor, f"expected a plain tensor, got {type(converted).__name__}")
        trial.equal([converted.is_leaf, converted.requires_grad], [False, True])
        trial.exact(converted.detach(), values, dtype)
    trial.equal([parameter.is_leaf, trial.dtype_name(parameter)], [True, "float32"])


def to_format(trial: Trial) -> None:
    """A memory format alone, or with the dtype that the tensor has, gives another tensor in this format and leaves
    the first one as it was."""
    values = trial.random(2, 3, 4, 5)
    tensor = trial.tensor(values)
    strides = tensor.stride()
    for given in ((), (torch.float32,)):
        moved = trial.call(tensor, *given, memory_format=torch.channels_last)
        trial.equal([moved.stride(), tensor.stride()], [(60, 1, 15, 3), strides])
        trial.check(moved is not tensor, "the tensor itself was returned")
        back = trial.call(moved, *given, memory_format=torch.contiguous_format)
        trial.equal(back.stride(), strides)
        trial.exact(back, values, "float32")
