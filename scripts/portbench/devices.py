"""The kinds of devices, as every part of the host names and orders them."""

from __future__ import annotations

PREDICTED_TPUS = ("tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x")
"""TPUs that programs are compiled for ahead of time; the device itself is not there."""

PREDICTED_DEVICES = (*PREDICTED_TPUS, "gpu-predicted", "rocm-predicted")
"""Devices whose results are all predicted and never measured."""

PREDICTED_MARK = " (predicted)"
"""Follows the name of such a target wherever one is shown."""

BASELINE_ORDER = ("gpu", "tpu", "xla", "cpu")
"""Of two devices that are compared, the one that comes first here is the baseline."""
