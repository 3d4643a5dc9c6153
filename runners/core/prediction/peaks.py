"""The published peak rates of the device that a run computes on, by the model that the framework reports.

Only models of which every device has these rates: a card in another form (PCIe, less memory) has others, and one
device of TPU v4 and TPU7x is a core or a chip, by the framework's settings.
"""

from __future__ import annotations

from typing import Mapping

from runners.core.prediction import gpus, tpus

_GPUS = {
    "Tesla T4": "gpu-t4",
    "Tesla V100-SXM2-16GB": "gpu-v100",
    "Tesla V100-SXM2-32GB": "gpu-v100",
    "NVIDIA A100-SXM4-80GB": "gpu-a100",
    "NVIDIA H100 80GB HBM3": "gpu-h100",
    "NVIDIA H200": "gpu-h200",
    "NVIDIA B200": "gpu-b200",
}
_TPUS = {
    "TPU v2": "tpu-v2",
    "TPU v3": "tpu-v3",
    "TPU v5 lite": "tpu-v5e",
    "TPU v5e": "tpu-v5e",
    "TPU v5p": "tpu-v5p",
    "TPU v6 lite": "tpu-v6e",
    "TPU v6e": "tpu-v6e",
}


def peak_rates(model: object) -> Mapping[str, float]:
    """``peak_flops_per_s``, of products in half precision, and ``peak_bytes_per_s``; empty for a model that is not
    known."""
    name = str(model)
    found = gpus.MODELS.get(_GPUS.get(name, "")) or tpus.MODELS.get(_TPUS.get(name, ""))
    return {"peak_flops_per_s": found.flops_per_s, "peak_bytes_per_s": found.bytes_per_s} if found else {}
