"""What is known of PyTorch before it is imported: which way to a TPU the environment has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runners import torch
from runners.core.prediction.tpus import MODELS
from tests.unit.runner.runner_cli import ROOT

_ASKED = """
import json
from runners import torch
devices = ("cpu", "tpu", "xla", "tpu-v5e")
print(json.dumps([torch.PREDICTED, {device: dict(torch.variables(device)) for device in devices}]))
"""


@pytest.fixture
def facts(tmp_path: Path) -> Any:
    """PREDICTED, and the variables of some devices, in an environment with these packages."""

    def of(*packages: str) -> Any:
        for package in packages:
            (tmp_path / package).mkdir()
            (tmp_path / package / "__init__.py").write_text("raise AssertionError('imported')")
        env: dict[str, str] = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
        done = subprocess.run([sys.executable, "-c", _ASKED], env=env, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    return of


def test_torch_xla_is_the_way_to_a_tpu_without_torchtpu(facts: Any) -> None:
    predicted, variables = facts()
    assert {device: predicted[device] for device in MODELS} == dict.fromkeys(MODELS, "predict_tpu")
    assert variables["tpu"]["PJRT_DEVICE"] == "TPU"
    assert variables["xla"] == {"PJRT_DEVICE": "CPU"}


def test_torchtpu_is_the_way_to_a_tpu_where_it_is_installed(facts: Any, tmp_path: Path) -> None:
    predicted, variables = facts("torch_tpu", torch.STAND_IN.replace("-", "_"))
    assert predicted.pop("gpu-predicted") == "predict_gpu"
    assert predicted.pop("mps-predicted") == "predict_mps"
    assert predicted == dict.fromkeys(("tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x"), "predict_torch_tpu")
    # Neither a CPU nor a TPU gets the stand-in.
    assert variables["cpu"] == variables["tpu"] == {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    library = str(tmp_path / "fastatomstruct_xla_cpu" / "libpjrt_cpu.so")
    assert variables["xla"]["TPU_LIBRARY_PATH"] == variables["tpu-v5e"]["TPU_LIBRARY_PATH"] == library


def test_without_its_stand_in_torchtpu_gets_no_other_library(facts: Any) -> None:
    _, variables = facts("torch_tpu")
    assert "TPU_LIBRARY_PATH" not in variables["tpu-v5e"]
