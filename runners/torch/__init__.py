"""PyTorch: facts that are needed before it is imported."""

from __future__ import annotations

import os
from typing import Mapping

from runners.core.devices import fast_compile_flags, nvidia_variables
from runners.core.prediction.tpus import MODELS

MODULE = "torch"
NAMESPACE = "torch"
PACKAGES = ("torch",)
CODE_EXECUTION_APIS = (
    "cpp_extension",
    "load_library",
    "torch.classes",
    "torch.distributed.launch",
    "torch.distributed.run",
    "torch.hub",
    "torch.jit._serialization.load",
    "torch.jit.load",
    "torch.load",
    "torch.package",
    "torch.serialization.load",
    "torch.testing._internal",
    "torch.utils.collect_env",
)
DEVICES = ("cpu", "gpu", "tpu", "xla")
PREDICTED = {**dict.fromkeys(MODELS, "predict_tpu"), "gpu-predicted": "predict_gpu"}
FORKS_AFTER_IMPORT = ("cpu", "tpu", "xla", *PREDICTED)
"""Not gpu: CUDA does not work in a fork of a process that has imported PyTorch 1.12."""


def variables(device: str) -> Mapping[str, str]:
    """The variables that select the device of torch_xla: PJRT_DEVICE from 2.0 on, XRT_TPU_CONFIG before. A user's
    setting of another machine's TPU stays. Programs for an absent TPU are traced on the CPU."""
    if device == "xla":
        return {"PJRT_DEVICE": "CPU"}
    if device in PREDICTED:
        return {"PJRT_DEVICE": "CPU", **fast_compile_flags()}
    if device == "tpu":
        xrt = os.environ.get("XRT_TPU_CONFIG", "localservice;0;localhost:51011")
        return {"PJRT_DEVICE": "TPU", "XRT_TPU_CONFIG": xrt}
    return nvidia_variables() if device == "gpu" else {}
