"""``portbench scan``: the functions that source calls, and what a study knows of them on a target."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.errors import PortbenchError
from tests.unit.host.conftest import Document, result_document, run_document

Scan = Callable[..., Document]

SOURCE = """
import torch
import torch.nn.functional as F
from torch import linalg

def loss(x):
    values = linalg.eig(x)
    x.unique()
    return F.relu(torch.cat([x, x])) + F.relu(x)
"""
TARGET = "torch-2.9.0-cpu"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Results on a CPU: torch.cat passes, relu partly, eig not, and one of them on the host."""
    host = {"verdict": "mixed", "evidence": [], "host_operations": ["aten::sort"]}
    results = [
        result_document("torch.cat", "t"),
        result_document("torch.nn.functional.relu", "a"),
        result_document("torch.nn.functional.relu", "b", outcome="failed"),
        result_document("torch.linalg.eig", "t", outcome="failed"),
        result_document("torch.sort", "t", placement=host),
    ]
    path = tmp_path / "results" / "run.json"
    path.parent.mkdir()
    path.write_text(json.dumps(run_document(results, target=TARGET)))
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "model.py").write_text(SOURCE)
    (folder / "other.py").write_text("import numpy as np\nnp.cos(1)\n")
    return folder


@pytest.fixture
def scan(portbench: Callable[..., Any], source: Path, study: Path) -> Scan:
    def run(*arguments: object, status: int = 0) -> Document:
        done = portbench("scan", source, "--target", TARGET, "--study", study, "--json", *arguments)
        assert done.exit_code == status, done.exception
        return dict(json.loads(done.stdout))

    return run


def test_each_called_function_has_its_places_and_what_is_known(scan: Scan, source: Path) -> None:
    found = scan()
    assert found["files"] == 2
    verdicts = {each["function"]: each["verdict"] for each in found["functions"]}
    assert list(verdicts.items()) == [
        ("torch.linalg.eig", "all_fail"),
        ("torch.nn.functional.relu", "some_fail"),
        ("torch.cat", "all_pass"),
    ]
    relu = found["functions"][1]
    assert relu["sites"] == [f"{source}/model.py:9", f"{source}/model.py:9"]
    assert (relu["passed"], relu["tests"]) == (1, 2)
    assert "it does not work" in relu["cause"]
    assert found["functions"][0]["sites"] == [f"{source}/model.py:7"]


def test_operations_on_the_host_are_said(scan: Scan, source: Path) -> None:
    (source / "model.py").write_text("from torch import sort\nsort(1)\n")
    (function,) = scan()["functions"]
    assert (function["verdict"], function["host_operations"]) == ("host", ["aten::sort"])


def test_functions_that_the_study_lacks_are_unknown(scan: Scan, source: Path) -> None:
    (source / "model.py").write_text("import torch\n# torch.cat()\ntorch.special.erf(1)\n'torch.cat()'\n")
    (function,) = scan()["functions"]
    assert (function["function"], function["verdict"], function["tests"]) == ("torch.special.erf", "unknown", None)


def test_names_are_those_of_the_framework(portbench: Callable[..., Any], source: Path, tmp_path: Path) -> None:
    (source / "model.py").write_text("import tensorflow as tf\ntf.linalg.svd(1)\n")
    run = run_document([result_document("tf.linalg.svd", "t")], target="tensorflow-2.21.0-cpu")
    (tmp_path / "tf.json").write_text(json.dumps(run))
    target = ["--target", "tensorflow-2.21.0-cpu", "--study", tmp_path / "tf.json"]
    done = portbench("scan", source, *target, "--json")
    (function,) = json.loads(done.stdout)["functions"]
    assert (function["function"], function["verdict"]) == ("tf.linalg.svd", "all_pass")


def test_a_target_without_a_version_is_that_of_the_study(
    portbench: Callable[..., Any], source: Path, study: Path
) -> None:
    done = portbench("scan", source, "--target", "torch-cpu", "--study", study, "--json")
    assert json.loads(done.stdout)["target"] == TARGET


def test_the_text_says_that_a_scan_sees_less(portbench: Callable[..., Any], source: Path, study: Path) -> None:
    lines = portbench("scan", source, "--target", TARGET, "--study", study).stdout.splitlines()
    assert lines[0] == (
        "torch-2.9.0-cpu: 3 functions called in 2 files; all tests pass: 1; some tests fail: 1; all tests fail: 1"
    )
    assert "  all fail torch.linalg.eig  (0 of 1 test pass)" in lines
    assert lines[-1].startswith("A scan reads source only")


def test_fail_on(scan: Scan, source: Path) -> None:
    scan("--fail-on", "unknown,host")
    scan("--fail-on", "all_fail", status=1)


def test_files_that_are_no_python_3_are_named(scan: Scan, source: Path) -> None:
    (source / "broken.py").write_text("import torch\ndef (:\n")
    assert scan()["broken"] == [f"{source}/broken.py"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--target", TARGET, "--study", "STUDY"], "no such file or folder"),
        (["EMPTY", "--target", TARGET, "--study", "STUDY"], "no .py file"),
        (["SOURCE", "--target", "torch-tpu-v99", "--study", "STUDY"], "no target is called"),
        (["SOURCE", "--target", "torch-2.9.0-xla", "--study", "STUDY"], "no results of torch-2.9.0-xla; its targets"),
        (["SOURCE", "--target", TARGET, "--study", "nowhere"], "nowhere"),
        (["SOURCE", "--target", TARGET], "there is no study here"),
    ],
)
def test_wrong_input_is_one_sentence(
    portbench: Callable[..., Any],
    source: Path,
    study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    paths = {"SOURCE": str(source), "STUDY": str(study), "EMPTY": str(tmp_path / "empty")}
    done = portbench("scan", *(paths.get(word, word) for word in arguments))
    assert isinstance(done.exception, PortbenchError)
    assert message in str(done.exception) and done.exception.remedy


def test_results_in_the_working_folder_are_the_default(
    portbench: Callable[..., Any], source: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.parents[1])
    done = portbench("scan", source, "--target", TARGET, "--json")
    assert json.loads(done.stdout)["study"] == "results"
