"""Gradients of torch.nn.Conv3d with all its options, compared with the adjoint of the convolution in NumPy."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.convolution import _PAD_MODES, along, convolved, windows
from runners.torch.cases.layers import filled


def conv3d_option_gradients(
    trial: Trial, shape: Sequence[int], out_channels: int, kernel: Any, dtype: str, **options: Any
) -> None:
    """With every option, alone and together, the gradients of input, weight and bias are those of the sum over the
    kernel's positions; what padding repeats adds to the gradient of its origin."""
    module = trial.make(shape[1], out_channels, kernel, device=trial.device, dtype=trial.dtype(dtype), **options)
    weights = filled(trial, module, dtype)
    trial.equal(sorted(weights), ["bias", "weight"] if options.get("bias", True) else ["weight"])
    x = trial.random(*shape, dtype=dtype)
    tensor = trial.tensor(x).requires_grad_()
    output = trial.call_method(module, "__call__", tensor)
    trial.close(output, convolved(widened(x), weights, **options), dtype=dtype)
    down = trial.random(*output.shape, dtype=dtype, seed=7)
    (output * trial.tensor(down)).sum().backward()
    entering, of_weight = _adjoint(widened(x), weights["weight"], widened(down), **options)
    trial.close(tensor.grad, entering, dtype=dtype)
    trial.close(module.weight.grad, of_weight, dtype=dtype)
    if "bias" in weights:
        trial.close(module.bias.grad, widened(down).sum((0, 2, 3, 4)), dtype=dtype)


def _adjoint(
    x: Any,
    weight: Any,
    down: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    bias: bool = True,
) -> Any:
    """Return the gradients of input and weight."""
    stride, dilation = along(stride, 3), along(dilation, 3)
    # Number 0 is a place outside of the input.
    numbers = np.arange(1, x.size + 1).reshape(x.shape)
    pads = [(0, 0), (0, 0), *((p, p) for p in along(padding, 3))]
    numbers = np.pad(numbers, pads, mode=_PAD_MODES[padding_mode])  # type: ignore[call-overload]
    padded = np.concatenate([[0], x.ravel()])[numbers]
    entering, of_weight = np.zeros_like(padded), np.zeros_like(weight)
    leaving, count = np.split(np.arange(len(weight)), groups), weight.shape[1]
    for position, window in windows(padded.shape[2:], weight.shape[2:], stride, dilation):
        for group, outputs in enumerate(leaving):
            inputs = (slice(None), slice(group * count, (group + 1) * count))
            above, kernels = down[:, outputs], weight[outputs][(..., *position)]
            part = padded[window][inputs]
            of_weight[(outputs, slice(None), *position)] = np.einsum("noxyz,ncxyz->oc", above, part)
            entering[window][inputs] += np.einsum("noxyz,oc->ncxyz", above, kernels)
    return np.bincount(numbers.ravel(), entering.ravel(), x.size + 1)[1:].reshape(x.shape), of_weight
