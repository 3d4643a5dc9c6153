"""Gradients of torch.nn.Conv3d with all its options, compared with the adjoint of the convolution in NumPy."""

from __future__ import annotations

from typing import Any, Sequence

from runners.core.testing.trial import Trial
from runners.torch.cases.convolution import check_gradients
from runners.torch.cases.layers import filled


def conv3d_option_gradients(
    trial: Trial,
    shape: Sequence[int],
    out_channels: int,
    kernel: Any,
    dtype: str,
    layout: str = "contiguous",
    memory_format: str | None = None,
    **options: Any,
) -> None:
    """With every option, alone and together, the gradients of input, weight and bias are those of the sum over the
    kernel's positions; what padding repeats adds to the gradient of its origin."""
    module = trial.make(shape[-4], out_channels, kernel, device=trial.device, dtype=trial.dtype(dtype), **options)
    weights = filled(trial, module, dtype)
    trial.equal(sorted(weights), ["bias", "weight"] if options.get("bias", True) else ["weight"])
    check_gradients(trial, module, weights, shape, dtype, options, layout, memory_format)
