"""TensorFlow: facts that are needed before it is imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Mapping

from runners.core.devices import fast_compile_flags, nvidia_variables, tpu_facts
from runners.core.prediction import gpus, tpus

MODULE = "tensorflow"
NAMESPACE = "tf"
PACKAGES = ("tensorflow", "keras", "tensorflow_estimator", "tensorboard")
CODE_EXECUTION_APIS = (
    "deserialize",
    "deserialize_keras_object",
    "from_config",
    "get_file",
    "load_library",
    "load_model",
    "load_op_library",
    "load_pluggable_device_library",
    "model_from_config",
    "model_from_json",
    "model_from_yaml",
    "saved_model_cli",
    "tf.saved_model.load",
)
DEVICES = ("cpu", "gpu", "tpu", "xla", "pluggable")

PLUGIN = "PORTBENCH_TENSORFLOW_PLUGIN"
"""The environment variable that names a vendor's plugin, for the device pluggable."""

_COMPILED = (*tpus.MODELS, *gpus.MODELS)
PREDICTED = {**dict.fromkeys(_COMPILED, "predict_compiled"), "gpu-predicted": "predict_gpu"}
FORKS_AFTER_IMPORT = ("cpu", "xla", *PREDICTED)
"""Not tpu: TensorFlow for TPUs opens libtpu, with its lock and threads, at its import. Not gpu: CUDA does not survive a
fork. Not pluggable: nothing is known of a vendor's library."""

NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}
"""If the target is not a GPU, TensorFlow must not see one, or it would place operations there."""

XLA_DEVICES = "--tf_xla_enable_xla_devices"
CUDA_FOLDER = "--xla_gpu_cuda_data_dir"


def variables(device: str) -> Mapping[str, str]:
    """Flags that the user has set stay; the runner's own are added."""
    if device == "gpu":
        compiler = _cuda_compiler()
        flags = _added("XLA_FLAGS", f"{CUDA_FOLDER}={compiler}") if compiler else {}
        return {**nvidia_variables(), **flags}
    if device == "tpu":
        return {**NO_GPU, **_tpu_metadata()}
    if device == "xla" or device in _COMPILED:
        fast = fast_compile_flags() if device in _COMPILED else {}
        return {**NO_GPU, **_added("TF_XLA_FLAGS", XLA_DEVICES), **fast}
    return NO_GPU


def _added(variable: str, flag: str) -> Mapping[str, str]:
    words = os.environ.get(variable, "").split()
    present = any(word.split("=")[0] == flag.split("=")[0] for word in words)
    return {} if present else {variable: " ".join([*words, flag])}


def _tpu_metadata() -> Mapping[str, str]:
    """Without a TPU, TensorFlow's import would wait for minutes for the server that describes a TPU VM."""
    return {} if {"chips", "device_nodes"} & set(tpu_facts()) else {"TPU_SKIP_MDS_QUERY": "1"}


def _cuda_compiler() -> str | None:
    """The folder of a Python package with ptxas and libdevice, which XLA would otherwise look for in a CUDA
    installation."""
    folders = (Path(folder) / "nvidia" / "cuda_nvcc" for folder in sys.path if folder.endswith("site-packages"))
    return next((str(folder) for folder in folders if (folder / "bin" / "ptxas").exists()), None)
