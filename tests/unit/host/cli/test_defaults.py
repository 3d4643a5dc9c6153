"""Defaults of `portbench run` in portbench.toml and pyproject.toml."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.host.clones import Clone, make_clone

CURRENT = ("--backend", "current")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return make_clone(tmp_path)


def argv_of(folder: Path) -> list[str]:
    """The arguments of the runner, from the run file that the stand-in writes."""
    return list(json.loads((folder / "fake-9.9-cpu.json").read_text())["argv"])


def value(argv: list[str], flag: str) -> str:
    return argv[argv.index(flag) + 1]


def test_a_file_gives_defaults_and_the_command_line_overrides_them(clone: Clone) -> None:
    text = 'runs = 1\ntimeout = "10m"\nbackend = "current"\nfunction = ["fake.i*", "fake.s*"]\nverbose = true\n'
    (clone.root / "portbench.toml").write_text(text)
    done = clone.portbench("run", "fake-cpu", "--runs", "2")
    assert done.returncode == 0, done.stderr
    argv = argv_of(clone.root / "results")
    assert (value(argv, "--runs"), value(argv, "--timeout")) == ("2", "600.0")
    assert [argv[n + 1] for n, word in enumerate(argv) if word == "--function"] == ["fake.i*", "fake.s*"]
    assert "[1/2] passed" in done.stderr
    # Which file, and which of its values were used.
    assert done.stderr.splitlines()[0] == "defaults from portbench.toml: function, timeout, backend, verbose"


def test_the_nearest_file_with_a_table_counts_and_its_paths_are_relative_to_it(clone: Clone) -> None:
    (clone.root / "pyproject.toml").write_text('[tool.portbench]\nruns = 1\nout = "ours"\nbackend = "current"\n')
    inside = clone.root / "manifests" / "study"
    (inside / "pyproject.toml").write_text("[tool.ruff]\n")
    done = Clone(inside).portbench("run", "fake-cpu")
    assert done.returncode == 0, done.stderr
    assert value(argv_of(clone.root / "ours"), "--runs") == "1"
    assert "defaults from ../../pyproject.toml: runs, backend, out" in done.stderr
    (inside / "portbench.toml").write_text("runs = 2\n")
    done = Clone(inside).portbench("run", "fake-cpu", *CURRENT)
    assert value(argv_of(inside / "results"), "--runs") == "2"


def test_without_a_file_nothing_is_said(clone: Clone) -> None:
    assert "defaults" not in clone.portbench("run", "fake-cpu", *CURRENT).stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run = 3", ['portbench.toml: "run": unknown key', "did you mean runs"]),
        ("resume = true", ['"resume": unknown key']),
        ('runs = "three"', ["\"runs\": found 'three'", "not a valid integer"]),
        ("runs = 0", ['"runs": found 0', "1<=x<=10000"]),
        ("runs = true", ['"runs": found True']),
        ("quiet = 1", ['"quiet": found 1', "expected true or false"]),
        ('function = "torch.*"', ['"function"', "expected a list of texts"]),
        ('timeout = "soon"', ['"timeout"', "is not a time such as"]),
        ('memory = "2GB"', ['"memory"', "such as 2G"]),
        ('protocol = "hot"', ['"protocol"', "cold"]),
        ("runs = ", ["portbench.toml: not valid TOML"]),
    ],
)
def test_a_wrong_file_is_one_error_with_file_and_key(clone: Clone, text: str, words: list[str]) -> None:
    (clone.root / "portbench.toml").write_text(text)
    done = clone.portbench("run", "fake-cpu", *CURRENT)
    assert done.returncode == 2
    assert done.stderr.count("error:") == 1
    for each in words:
        assert each in done.stderr
    assert "Traceback" not in done.stderr
    assert clone.portbench("run", "--help").returncode == 0


def test_tool_portbench_must_be_a_table(clone: Clone) -> None:
    (clone.root / "pyproject.toml").write_text("[tool]\nportbench = 3\n")
    done = clone.portbench("run", "fake-cpu", *CURRENT)
    assert done.returncode == 2
    assert "pyproject.toml: tool.portbench: found 3, expected a table" in done.stderr
