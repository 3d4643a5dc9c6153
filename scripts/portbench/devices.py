"""The names and the order of the kinds of devices."""

from __future__ import annotations

PREDICTED_TPUS = ("tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x")
"""TPUs that programs are compiled for without the device."""

PREDICTED_DEVICES = (*PREDICTED_TPUS, "gpu-predicted", "rocm-predicted")
"""Devices whose results are always predicted and never measured."""

PREDICTED_MARK = " (predicted)"
"""Follows the name of a predicted target wherever it is shown."""

BASELINE_ORDER = ("gpu", "tpu", "xla", "cpu")
"""Of two compared devices, the first in this order is the baseline."""
