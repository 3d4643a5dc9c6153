"""PyTorch: facts that are needed before it is imported."""

from __future__ import annotations

import os
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Mapping

from runners.core.devices import fast_compile_flags, nvidia_variables
from runners.core.prediction.tpus import MODELS

MODULE = "torch"
NAMESPACE = "torch"
PACKAGES = ("torch", "torch_xla")
"""Importing torch_xla puts classes of its own in the place of some of PyTorch: torch.nn.GRU."""
CODE_EXECUTION_APIS = (
    "cpp_extension",
    "load_library",
    "torch.classes",
    "torch.distributed.elastic",
    "torch.distributed.launch",
    "torch.distributed.launcher",
    "torch.distributed.run",
    "torch.fx.graph_module._exec_with_source",
    "torch.hub",
    "torch.jit._serialization.load",
    "torch.jit.load",
    "torch.jit.unsupported_tensor_ops",
    "torch.load",
    "torch.package",
    "torch.serialization.load",
    "torch.testing._internal",
    "torch.utils.collect_env",
)
DEVICES = ("cpu", "gpu", "tpu", "xla", "privateuse1")

BACKEND = "PORTBENCH_TORCH_BACKEND"
"""The environment variable that names the module of a vendor's backend, for the device privateuse1."""

_IS_PYTORCH_1 = metadata.version("torch").startswith("1.") if find_spec("torch") else False

HAS_TORCH_TPU = find_spec("torch_tpu") is not None
"""Whether this environment reaches TPUs through TorchTPU. Without it, through torch_xla."""

_OF_TORCH_TPU = ("tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x")
"""The TPUs that TorchTPU knows."""

PREDICTED = {
    **(dict.fromkeys(_OF_TORCH_TPU, "predict_torch_tpu") if HAS_TORCH_TPU else dict.fromkeys(MODELS, "predict_tpu")),
    "gpu-predicted": "predict_gpu",
    "mps-predicted": "predict_mps",
}
FORKS_AFTER_IMPORT = ("cpu", "tpu", "xla", *PREDICTED, *(() if _IS_PYTORCH_1 else ("gpu",)))
"""CUDA does not work in a fork of a process that has imported PyTorch 1.12; with 2.11 it does. Not privateuse1: nothing
is known of a vendor's backend."""


_NO_AUTOLOAD = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}

STAND_IN = "fastatomstruct-xla-cpu"
"""The package with XLA's CPU compiler as a PJRT plugin, which TorchTPU loads in the place of libtpu."""


def stand_in_library() -> str | None:
    """The path of the plugin; None if its package is not installed."""
    found = find_spec(STAND_IN.replace("-", "_"))
    folders = list(found.submodule_search_locations or ()) if found else []
    return str(Path(folders[0], "libpjrt_cpu.so")) if folders else None


def variables(device: str) -> Mapping[str, str]:
    """The variables that select the device. Of torch_xla: PJRT_DEVICE from 2.0 on, XRT_TPU_CONFIG before. A user's
    setting of another machine's TPU stays. Programs for an absent TPU are traced on the CPU."""
    if device == "privateuse1":
        # PyTorch would import every installed backend by itself, and say less about what is wrong with one.
        return dict(_NO_AUTOLOAD)
    if HAS_TORCH_TPU:
        return _variables_of_torch_tpu(device)
    if device == "xla":
        return {"PJRT_DEVICE": "CPU"}
    if device in PREDICTED:
        return {"PJRT_DEVICE": "CPU", **fast_compile_flags()}
    if device == "tpu":
        xrt = os.environ.get("XRT_TPU_CONFIG", "localservice;0;localhost:51011")
        return {"PJRT_DEVICE": "TPU", "XRT_TPU_CONFIG": xrt}
    return nvidia_variables() if device == "gpu" else {}


def _variables_of_torch_tpu(device: str) -> Mapping[str, str]:
    # PyTorch would import TorchTPU by itself, which takes half a minute, and open a TPU for every device.
    own = _NO_AUTOLOAD
    library = stand_in_library()
    if library and (device == "xla" or device in _OF_TORCH_TPU):
        flags = {} if device == "xla" else fast_compile_flags()
        return {**own, **flags, "TPU_LIBRARY_PATH": library, "TPU_SKIP_MDS_QUERY": "1"}
    return dict(own)
