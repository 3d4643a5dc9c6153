"""The peak rates of measured devices: only where every device of the reported model has them."""

from __future__ import annotations

import pytest

from runners.core.prediction.peaks import peak_rates


@pytest.mark.parametrize(
    ("model", "flops_per_s", "bytes_per_s"),
    [
        ("Tesla T4", 65e12, 320e9),
        ("NVIDIA H100 80GB HBM3", 989.5e12, 3350e9),
        ("NVIDIA H200", 989.5e12, 4800e9),
        ("TPU v5 lite", 197e12, 819e9),
    ],
)
def test_known_models(model, flops_per_s, bytes_per_s):
    assert peak_rates(model) == {"peak_flops_per_s": flops_per_s, "peak_bytes_per_s": bytes_per_s}


@pytest.mark.parametrize("model", ["NVIDIA H100 PCIe", "NVIDIA A100-SXM4-40GB", "TPU v4", "AMD EPYC 7B13", None, ""])
def test_other_models(model):
    assert peak_rates(model) == {}
