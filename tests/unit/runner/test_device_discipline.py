"""A case never names a device: it could not run on another one."""

from __future__ import annotations

import ast
import re

import pytest

from tests.unit.runner.runner_cli import ROOT

NAMES_A_DEVICE = re.compile(r"(/?(device:)?(cpu|cuda|gpu|tpu|xla)(:\d+|:\*)?)", re.IGNORECASE)
MOVES_TO_THE_HOST = {"cpu", "cuda"}

BY_NATURE = {
    # torch.cuda and torch.cuda.synchronize are what is tested there.
    "torch/cases/cuda.py",
    "torch/cases/cuda_synchronize.py",
    # What these compute elsewhere on purpose is to be caught.
    "torch/cases/placement.py",
    "tensorflow/cases/placement.py",
    "jax/cases/placement.py",
    # One of its tests must end otherwise on the CPU.
    "fake/cases/behaviours.py",
}

MODULES = sorted((ROOT / "runners").glob("*/cases/*.py"))


@pytest.mark.parametrize("path", [pytest.param(path, id=f"{path.parts[-3]}-{path.stem}") for path in MODULES])
def test_no_case_names_a_device(path):
    if "/".join(path.parts[-3:]) in BY_NATURE:
        pytest.skip("this function names its device by nature")
    tree = ast.parse(path.read_text("utf-8"))
    named = [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMES_A_DEVICE.fullmatch(node.value)
    ]
    moved = [
        (node.lineno, node.func.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MOVES_TO_THE_HOST
    ]
    assert named + moved == []


def test_there_are_cases_to_look_at():
    assert len(MODULES) > 60
