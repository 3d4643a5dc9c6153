"""The names and the order of the kinds of devices."""

from __future__ import annotations

PREDICTED_TPUS = ("tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x")
"""TPUs that programs are compiled for without the device."""

PREDICTED_GPUS = ("gpu-t4", "gpu-v100", "gpu-a100", "gpu-h100", "gpu-h200", "gpu-b200")
"""GPUs that programs are compiled for without the device."""

AHEAD_OF_TIME = {"tpu-aot": PREDICTED_TPUS, "gpu-aot": PREDICTED_GPUS}
"""The devices that one environment and image compiles for, by the name of its files in images/."""

COMPILED_DEVICES = (*PREDICTED_TPUS, *PREDICTED_GPUS)

PREDICTED_DEVICES = (*COMPILED_DEVICES, "gpu-predicted", "rocm-predicted", "mps-predicted")
"""Devices whose results are always predicted and never measured."""

PREDICTED_MARK = " (predicted)"
"""Follows the name of a predicted target wherever it is shown."""

VENDOR_DEVICES = {"jax": "pjrt", "torch": "privateuse1", "tensorflow": "pluggable"}
"""By framework, the device whose library or module the user names."""

BASELINE_ORDER = ("gpu", "tpu", *VENDOR_DEVICES.values(), "xla", "cpu")
"""Of two compared devices, the first in this order is the baseline."""
