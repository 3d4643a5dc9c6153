"""What every command has in common: its output in a pipe, in a terminal without Unicode, and as JSON."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from portbench.cli import COMMANDS, cli
from portbench.study.merge import merge
from tests.paths import EXAMPLES, ROOT
from tests.unit.host.clones import COMMAND
from tests.unit.host.conftest import result_document, run_document

HELP = ("--help",)
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "targets": (),
    "doctor": ("fake-cpu", "--backend", "venv"),
    "init": ("fake", "fake.identity", "-o", "NEW.json"),
    "run": ("fake-cpu", "--manifest", "faults", "--dry-run", "-v"),
    "check": ("RUNS",),
    "mutation-test": HELP,
    "bisect": HELP,
    "launch": HELP,
    "record": HELP,
    "verdict": HELP,
    "scan": ("scripts/portbench/util", "--target", "torch-2.9.0-cpu", "--study", "RUNS"),
    "validate": ("manifests",),
    "merge": ("RUNS", "-o", "NEW"),
    "report": ("STUDY",),
    "scaling": (str(EXAMPLES / "run" / "valid" / "scaling.json"),),
    "publish": ("STUDY", "-o", "NEW"),
    "explain": ("STUDY", "torch.cat"),
    "compare": ("torch-2.9.0-cpu", "torch-2.9.0-gpu", "--study", "STUDY"),
    "classify": ("STUDY",),
    "import": HELP,
    "import-study-2023": ("-o", "NEW"),
    "enumerate": ("--diff", *2 * (str(EXAMPLES / "functions" / "valid" / "two.json"),)),
    "count": ("scripts/portbench/util", "--functions", str(EXAMPLES / "functions" / "valid" / "two.json"), "-o", "NEW"),
    "collect": HELP,
    "coverage": (
        *(str(EXAMPLES / "manifest" / "valid" / "collected.json"), "--functions"),
        str(EXAMPLES / "functions" / "valid" / "two.json"),
    ),
    "sample": HELP,
    "images": HELP,
    "lock": HELP,
    "add-version": HELP,
    "kernels": HELP,
    "history": HELP,
}
"""What each command does without a framework, a network and an engine. RUNS, STUDY and NEW are paths."""

LONG_ID = "rows[dtype=float32,layout=" + "transposed-" * 12 + "é]"


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run files of two targets with names in all languages, and a study of them."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "runs").mkdir()
    for device in ("cpu", "gpu"):
        results = [result_document("torch.cat", LONG_ID), result_document("torch.dot", outcome="failed")]
        results[1] |= {"category": "other", "phase": "call", "error": _error("1 ≠ 2")}
        run = run_document(results, machine="büro", target=f"torch-2.9.0-{device}")
        (folder / "runs" / f"{device}.json").write_text(json.dumps(run))
    merge([str(folder / "runs")], folder / "study")
    return {"RUNS": str(folder / "runs"), "STUDY": str(folder / "study")}


def _error(message: str) -> dict[str, Any]:
    return {"type": "ValueError", "message": message, "traceback": "", "causes": []}


def start(arguments: tuple[str, ...], stdout: int, **variables: str) -> subprocess.Popen[str]:
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"} | variables
    return subprocess.Popen(
        [*COMMAND, *arguments], cwd=ROOT, env=environment, stdout=stdout, stderr=subprocess.PIPE, text=True
    )


def test_every_command_is_tested_here() -> None:
    assert set(ARGUMENTS) == {name for section in COMMANDS.values() for name in section}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_neither_a_closed_pipe_nor_ascii_gives_a_traceback(name: str, paths: dict[str, str], tmp_path: Path) -> None:
    arguments = (name, *(paths.get(word, word.replace("NEW", str(tmp_path / "new"))) for word in ARGUMENTS[name]))
    process = start(arguments, subprocess.PIPE, PYTHONIOENCODING="ascii")
    stdout, stderr = process.communicate(timeout=120)
    assert stdout
    assert "Traceback" not in stderr and "Error" not in stderr, stderr
    reading, writing = os.pipe()
    os.close(reading)
    process = start(arguments, writing, PYTHONIOENCODING="ascii")
    os.close(writing)
    _, stderr = process.communicate(timeout=120)
    for words in ("Traceback", "BrokenPipe", "Exception ignored"):
        assert words not in stderr


@pytest.mark.parametrize("command", ["explain", "report"])
def test_a_table_in_a_pipe_has_no_cut_or_wrapped_id(command: str, paths: dict[str, str]) -> None:
    arguments = (command, paths["STUDY"], *(["torch.cat"] if command == "explain" else []))
    stdout, _ = start(arguments, subprocess.PIPE, PYTHONIOENCODING="utf-8").communicate(timeout=120)
    wanted = LONG_ID if command == "explain" else "torch-2.9.0-cpu"
    assert any(wanted in line for line in stdout.splitlines())
    assert "…" not in stdout.replace("tpu-v2 …", "")


def test_columns_limits_the_width_also_in_a_pipe(paths: dict[str, str]) -> None:
    arguments = ("explain", paths["STUDY"], "torch.cat")
    stdout, _ = start(arguments, subprocess.PIPE, COLUMNS="100", PYTHONIOENCODING="utf-8").communicate(timeout=120)
    assert not any(line.startswith(LONG_ID) for line in stdout.splitlines())


WITHOUT_JSON = {
    "init",
    "collect",
    "record",
    "import",
    "import-study-2023",
    "publish",
    "sample",
    "lock",
    "add-version",
    "kernels",
    "images build",
    "launch slurm",
    "launch kubernetes",
    "launch skypilot",
    "launch ray",
}
"""These write files and say which; 'images build' and 'images clean' also say what they do."""


def _commands(group: click.Group, words: str = "") -> dict[str, click.Command]:
    context = click.Context(group)
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found |= _commands(command, f"{words}{name} ") if isinstance(command, click.Group) else {words + name: command}
    return found


def test_every_command_that_prints_a_table_prints_json_too() -> None:
    without = {
        name
        for name, command in _commands(cli).items()
        if not any("--json" in parameter.opts for parameter in command.params)
    }
    assert without == {*WITHOUT_JSON, "images clean", "images sbom"}


def test_merge_and_classify_print_one_json_object(
    portbench: Callable[..., Any], paths: dict[str, str], tmp_path: Path
) -> None:
    merged = json.loads(portbench("merge", paths["RUNS"], "-o", tmp_path / "study", "--json").stdout)
    assert merged["added"] == 2
    assert [target["target"] for target in merged["targets"]] == ["torch-2.9.0-cpu", "torch-2.9.0-gpu"]
    assert {target["machine"] for target in merged["targets"]} == {"büro"}
    classified = json.loads(portbench("classify", tmp_path / "study", "--json").stdout)
    assert (classified["failures"], classified["written"]) == (2, None)
    assert [cause["results"] for cause in classified["other"]] == [2]


def test_a_pipe_gets_json_alone(paths: dict[str, str]) -> None:
    done = subprocess.run(
        [*COMMAND, "report", paths["RUNS"], "--json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["schema"] == "portbench/study"
