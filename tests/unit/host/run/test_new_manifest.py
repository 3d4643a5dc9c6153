"""`portbench init`: a manifest with one test of a function."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portbench.formats.documents import read_document
from portbench.run import new_manifest as module
from portbench.util.repository import find_checkout
from tests.unit.host.clones import COMMAND

STUDY = ("torch", "tensorflow", "jax")


def portbench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PORTBENCH_PYTHON": sys.executable}
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("framework", STUDY)
def test_every_function_of_the_paper_has_a_valid_manifest_with_one_test(framework: str, tmp_path: Path) -> None:
    checkout = find_checkout()
    document: Any = json.loads((checkout.manifests / "study" / f"{framework}.json").read_text())
    for entry in document["functions"]:
        made = module.new_manifest(framework, entry["function"], "one", checkout)
        path = tmp_path / "one.json"
        path.write_text(json.dumps(made.document))
        (function,) = read_document(path, "manifest").data["functions"]
        (test,) = function["tests"]
        assert function["function"] == entry["function"]
        assert all(len(values) == 1 for values in test.get("grid", {}).values())
        assert made.is_complete


def test_the_file_is_written_once_and_its_command_is_printed(tmp_path: Path) -> None:
    done = portbench(tmp_path, "init", "torch", "torch.argsort")
    assert done.returncode == 0, done.stderr
    command = shlex.split(done.stdout.splitlines()[-1])
    assert command == ["portbench", "run", "torch-cpu", "--manifest", "torch.argsort.json", "--runs", "1"]
    dry = portbench(tmp_path, *command[1:], "--dry-run")
    assert "torch-1.12.0-cpu: 1 function, 1 test, 1 run of manifest torch.argsort" in dry.stdout
    again = portbench(tmp_path, "init", "torch", "torch.argsort")
    assert again.returncode == 2
    assert "torch.argsort.json exists already" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("trch", "torch.cat"), "'trch' is not one of"),
        (("torch", "argsort"), "argsort does not begin with 'torch.'; did you mean torch.argsort?"),
        (("jax", "torch.argsort"), "does not begin with 'jax.'"),
        (("torch", "torch.argsort", "-o", "argsort.txt"), "names the manifest"),
        (("torch", "torch.argsort", "-o", "no/such/folder.json"), "cannot be written"),
    ],
)
def test_wrong_input_is_one_error_and_writes_nothing(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = portbench(tmp_path, "init", *arguments)
    assert done.returncode in (2, 5)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_without_an_environment_the_manifest_is_a_template(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "environment_exists", lambda target: False)
    made = module.new_manifest("torch", "torch.tanh", "tanh", find_checkout())
    assert not made.is_complete
    path = tmp_path / "tanh.json"
    path.write_text(json.dumps(made.document))
    assert read_document(path, "manifest").data["functions"][0]["tests"][0]["expect"] == {"value": 0}


def tried(monkeypatch: pytest.MonkeyPatch, outcomes: dict[str, tuple[str, str | None]]) -> module.NewManifest:
    """A manifest of torch.reduce_sum, whose candidates end as ``outcomes`` says by the number of their arguments."""

    def results(head: object, function: str, candidates: list[Any], *others: object) -> list[Any]:
        ends = [outcomes.get(str(len(test["args"])), ("failed", "call")) for test in candidates]
        return [{"outcome": outcome, "phase": phase, "reason": None} for outcome, phase in ends]

    monkeypatch.setattr(module, "_try", results)
    return module.new_manifest("tensorflow", "tf.math.reduce_sum", "sum", find_checkout())


def test_the_first_candidate_that_passes_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tried(monkeypatch, {"2": ("passed", None)})
    (test,) = made.document["functions"][0]["tests"]
    assert (len(test["args"]), test["expect"]) == (2, {"numpy": "sum"})
    assert made.is_complete


def test_inputs_that_are_accepted_are_kept_where_no_reference_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tried(monkeypatch, {"2": ("failed", "compare")})
    (test,) = made.document["functions"][0]["tests"]
    assert (len(test["args"]), test["expect"]) == (2, {"value": 0})
    assert not made.is_complete


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("framework", "functions"),
    [
        ("torch", ("torch.argsort", "torch.tanh")),
        ("tensorflow", ("tf.linalg.svd", "tf.math.reduce_sum")),
        ("jax", ("jax.numpy.cos", "jax.numpy.cumsum")),
    ],
)
def test_new_manifests_run(framework: str, functions: tuple[str, ...], tmp_path: Path) -> None:
    for function in functions:
        done = portbench(tmp_path, "init", framework, function)
        assert done.returncode == 0, done.stderr
        command = shlex.split(done.stdout.splitlines()[-1])
        done = portbench(tmp_path, *command[1:], "--backend", "venv", "--json")
        (target,) = json.loads(done.stdout)["targets"]
        assert target["outcomes"] == {"passed": 1}
