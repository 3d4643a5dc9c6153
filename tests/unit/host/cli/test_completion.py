"""What the tab key offers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from portbench.cli import cli
from portbench.study.merge import merge
from tests.unit.host.conftest import result_document, run_document


def offered(*words: str) -> list[str]:
    """The completions of the last word."""
    *before, incomplete = words
    completer = ShellComplete(cli, {}, "portbench", "_PORTBENCH_COMPLETE")
    return [item.value for item in completer.get_completions(before, incomplete)]


def test_commands_and_options_are_completed() -> None:
    assert offered("ex") == ["explain"]
    assert offered("run", "--fun") == ["--function"]


@pytest.mark.parametrize("command", ["run", "doctor", "enumerate", "kernels"])
def test_targets_are_completed_short_names_first(command: str) -> None:
    found = offered(command, "torch-")
    assert found[0].startswith("torch-") and found[0].count("-") == 1
    assert "torch-2.9.0-cpu" in found
    assert all(name.startswith("torch-") for name in found)
    assert offered(command, "2.9.0-cpu") == ["torch-2.9.0-cpu"]
    assert offered(command, "jax-latest-c") == ["jax-latest-cpu"]
    assert offered(command, "jax-0.12.0.1-c") == ["jax-0.12.0.1-cpu"]
    assert offered("mutation-test", "study", "--target", "torch-1.12.0-cp") == ["torch-1.12.0-cpu"]
    assert offered("images", "build", "jax-0.10.2-cp") == ["jax-0.10.2-cpu"]


def test_functions_are_those_of_the_manifest_and_the_targets() -> None:
    assert offered("run", "torch-cpu", "--function", "torch.arg") == ["torch.argsort"]
    assert offered("run", "torch-cpu", "--function", "gelu") == ["torch.nn.GELU"]
    assert offered("run", "fake-cpu", "--manifest", "faults", "--function", "fake.") == [
        "fake.identity",
        "fake.scale",
        "fake.quotient",
        "fake.refuse",
        "fake.gone",
    ]
    assert offered("run", "jax-cpu", "--function", "torch.") == []
    assert "jax.numpy.cos" in offered("run", "--function", "jax.numpy.c")


def test_manifests_are_names_and_files_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stdin.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert offered("run", "fake-cpu", "--manifest", "st") == ["study", "stdin.json"]


def test_studies_and_their_functions_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.json").write_text(json.dumps(run_document([result_document("torch.cat")])))
    merge([str(tmp_path / "run.json")], tmp_path / "build" / "study-1")
    monkeypatch.chdir(tmp_path)
    for command in ("report", "explain", "classify", "compare"):
        assert offered(command, "") == ["build/study-1"]
    assert offered("explain", "build/study-1", "torch.") == ["torch.cat"]
    assert offered("explain", "run.json", "torch.") == ["torch.cat"]


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "nowhere", "torch."),
        ("run", "torch-9.9.9-cpu", "--function", "torch."),
        ("run", "torch-cpu", "--manifest", "broken.json", "--function", "torch."),
    ],
)
def test_what_cannot_be_read_offers_nothing(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "portbench.toml").write_text("runs = ")
    monkeypatch.chdir(tmp_path)
    assert offered(*words) == []
