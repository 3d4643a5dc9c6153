"""Predicts calls for an absent GPU of Apple from the kernels that PyTorch's wheel for macOS registers for MPS
(kernels/mps/, written by mps_registry).

As in predict_gpu, a call is made on the CPU and each operation is looked up before it is computed. PyTorch's CPU
fallback (PYTORCH_ENABLE_MPS_FALLBACK) is off, which is its default. A tensor or dtype of 64-bit floating point among
the arguments is refused. The messages are PyTorch's own, from MPSFallback.mm, EmptyTensor.cpp and OperationUtils.mm.
Implements runners.core.prediction.prediction.Predictor.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Mapping

import torch

from runners.core.prediction import kernel_table
from runners.core.prediction.prediction import Estimate, Unknown
from runners.core.testing import tree
from runners.torch import predict_gpu
from runners.torch.dispatch_listener import LAYOUT, Request
from runners.torch.predict_gpu import KernelChecker, about, predict_with, refuses, stand_in

__all__ = ["about", "facts", "open_device", "predict", "refuses", "stand_in"]

_NO_DTYPE = {
    "float64": "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
    "Please use float32 instead.",
    "complex128": "Trying to convert ComplexDouble to the MPS backend but it does not have support for that dtype.",
}
"""PyTorch's message for each dtype that no tensor can have there."""

_FAST_PATHS = ("aten::_transformer_encoder_layer_fwd", "aten::_native_multi_head_attention")
"""Operations that PyTorch's modules use only on devices that they name; MPS is none of these."""


class MissingOnMps(predict_gpu.Refused):
    """PyTorch has no kernel for MPS."""

    recorded_as = "NotImplementedError"


class NoSuchDtypeOnMps(TypeError, predict_gpu.Refused):
    """No tensor on MPS can have the dtype."""

    recorded_as = "TypeError"


def open_device(device: str) -> kernel_table.Table:
    return kernel_table.of_device("torch", torch.__version__.split("+")[0], "mps")


def facts(table: kernel_table.Table) -> Mapping[str, str | int | float | bool | None]:
    return {"kernels_of_sha256": table.wheel["sha256"], "cpu_fallback": False}


def predict(call: partial[Any], table: kernel_table.Table) -> Estimate:
    given = [leaf for leaf in tree.leaves((call.args, call.keywords)) if isinstance(leaf, (torch.Tensor, torch.dtype))]
    for leaf in given:
        dtype = str(leaf if isinstance(leaf, torch.dtype) else leaf.dtype)[len("torch.") :]
        if dtype in _NO_DTYPE:
            raise NoSuchDtypeOnMps(_NO_DTYPE[dtype])
    return predict_with(_Checker(table), call)


class _Checker(KernelChecker):
    def __call__(self, asked: Request) -> None:
        dtypes = {dtype for name, found in asked.types.items() if name != LAYOUT for dtype in found}
        wide = sorted(dtypes & set(_NO_DTYPE))
        # PyTorch may choose another dtype for an intermediate value on MPS, and plain numbers are on the CPU.
        if wide:
            raise Unknown(f"the CPU computes {asked.name} in {wide[0]}, which MPS lacks; it may take another dtype")
        if asked.name in _FAST_PATHS:
            raise Unknown(f"{asked.name} is a fast path of the CPU and CUDA; MPS takes another one, which was not seen")
        super().__call__(asked)

    def _refusal(self, asked: Request, answer: kernel_table.Answer) -> Exception:
        if answer.verdict == "dtype":
            # Only the layout or a quantized tensor: no kernel of the list is limited in other ways.
            kind = "|".join(asked.types[LAYOUT])
            return Unknown(f"{asked.name} has a kernel for MPS, but the list has none for tensors that are {kind}")
        return MissingOnMps(
            f"The operator '{asked.name}' is not currently implemented for the MPS device. If you want this op to be "
            "considered for addition please comment on https://github.com/pytorch/pytorch/issues/141287 and mention "
            f"use-case, that resulted in missing op as well as commit hash {torch.version.git_version}. As a temporary "
            "fix, you can set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback "
            "for this op. WARNING: this will be slower than running natively on MPS."
        )
