"""PyTorch: a program with threads, processes, exceptions, modes, subclasses and a compiler is recorded and replayed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.frameworks


@pytest.fixture(scope="module")
def recorded(
    environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """What the recorded program printed, and its manifest."""
    folder = tmp_path_factory.mktemp("recorded") / "recording"
    program = [str(environment_python("torch-2.9.0-cpu")), str(ROOT / "tests" / "contract" / "torch_recorded.py")]
    command = [sys.executable, "-m", "portbench", "record", "-o", str(folder), "--", *program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (folder / "torch.json").is_file(), done.stderr[-3000:]
    return done, folder / "torch.json"


@pytest.fixture(scope="module")
def manifest(recorded: tuple[subprocess.CompletedProcess[str], Path]) -> Any:
    return json.loads(recorded[1].read_text("utf-8"))


def test_the_program_does_what_it_does_alone(recorded: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    done, _ = recorded
    assert done.returncode == 3, done.stderr[-3000:]
    printed = done.stdout
    assert "threads [4.0, 4.0]\n" in printed
    assert "fork [13.0, 25.0]\nspawn [13.0, 25.0]\nchild 0\n" in printed
    # The subclass and the mode see their own call alone, and the exception is the framework's.
    assert ", 1, 1, 'mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)']\n" in printed
    assert "TracerWarning" not in done.stderr


def test_calls_of_threads_processes_and_compiled_code_are_there(manifest: Any) -> None:
    calls = {
        entry["function"]: sum(test["weight"]["calls"] for test in entry["tests"])
        for entry in manifest["functions"]
        if entry["tests"][0]["case"] != "program"
    }
    assert calls["torch.trapezoid"] == 2
    assert calls["torch.cumprod"] == 1
    # Two data loaders with a worker each.
    assert calls["torch.Tensor.square"] == 8
    assert calls["torch.sinh"] == 1
    assert calls["torch.optim.AdamW"] == 2
    assert manifest["recorded"]["failures"] == []
    reasons = {entry["reason"] for entry in manifest["recorded"]["left_out"]}
    assert reasons >= {"a tensor of layout torch.sparse_coo", "a quantized tensor", "a nested tensor"}
    masks = [entry for entry in manifest["recorded"]["left_out"] if entry["function"] == "torch.Tensor.__setitem__"]
    assert [entry["calls"] for entry in masks] == [1] and "mask" in masks[0]["reason"]


def test_tests_say_how_the_call_was_made(manifest: Any) -> None:
    tests = {entry["function"]: entry["tests"] for entry in manifest["functions"]}
    (product,) = [test for test in tests["torch.matmul"] if "autocast" in test]
    assert (product["autocast"], product["gradient"]) == ("bfloat16", True)
    # A generator is no setting: the random numbers differ on each device anyway.
    assert not any("generator" in test.get("kwargs", {}) for test in tests["torch.rand"])
    (filled,) = tests["torch.Tensor.fill_"]
    assert "gradient" not in filled
    assert filled["sites"][0].startswith("tests/contract/torch_recorded.py:")


def test_no_value_of_the_user_is_stored(recorded: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    stored = b"".join(path.read_bytes() for path in recorded[1].parent.rglob("*") if path.is_file())
    for secret in (b"0.9876", b"0.12345", b"0.45678", b"words of a user"):
        assert secret not in stored


def test_every_call_can_be_replayed(
    recorded: tuple[subprocess.CompletedProcess[str], Path], environment_python: Callable[[str], Path]
) -> None:
    command = [str(environment_python("torch-2.9.0-cpu")), "-m", "tests.programs.replay", str(recorded[1])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["failures"] == []
    assert found["tests"] > 60
