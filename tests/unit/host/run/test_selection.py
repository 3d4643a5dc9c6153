"""What a run selects: `--dry-run`, `--failed`, ids of tests, and suggestions for names that match nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portbench.util.text import did_you_mean, similar
from tests.unit.host.clones import COMMAND

MANIFEST = {
    "schema": "portbench/manifest",
    "schema_version": 2,
    "name": "selected",
    "framework": "fake",
    "functions": [
        {
            "function": "fake.identity",
            "tests": [
                {"id": "same", "case": "fake.behaviours:passes"},
                {"id": "fails", "case": "fake.behaviours:fails"},
            ],
        },
        {
            "function": "fake.scale",
            "tests": [
                {"id": "fails", "case": "fake.behaviours:scales", "params": {"factor": 2}},
                {
                    "id": "twice",
                    "case": "call",
                    "grid": {"by": [2, 3]},
                    "args": [{"tensor": {"values": [1.0, 4.0], "dtype": "float64"}}, "$by"],
                    "expect": {"value": [2.0, 8.0]},
                },
            ],
        },
    ],
}


def portbench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PORTBENCH_PYTHON": sys.executable}
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.json").write_text(json.dumps(MANIFEST))
    return tmp_path


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return portbench(folder, "run", *options, "--manifest", "m.json", "--backend", "current")


RUN = ("fake-cpu", "--runs", "1", "--protocol", "cold")


def test_a_dry_run_lists_functions_and_tests_and_runs_nothing(folder: Path) -> None:
    done = run(folder, "fake-cpu", "fake-xla", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "fake-1.0.0-cpu: 2 functions, 5 tests, 3 runs of manifest selected",
        "  fake.identity  2 tests",
        "  fake.scale  3 tests",
        "fake-1.0.0-xla: 2 functions, 5 tests, 3 runs of manifest selected",
        "  fake.identity  2 tests",
        "  fake.scale  3 tests",
    ]
    assert not (folder / "results").exists()


def test_a_dry_run_says_how_many_tests_run_once(folder: Path) -> None:
    untimed = json.loads(json.dumps(MANIFEST).replace('"id":', '"timed": false, "id":', 1))
    (folder / "m.json").write_text(json.dumps({**untimed, "schema_version": 7}))
    first = run(folder, "fake-cpu", "--dry-run").stdout.splitlines()[0]
    assert first.startswith("fake-1.0.0-cpu: 2 functions, 5 tests, 3 runs of manifest selected (")
    (target,) = json.loads(run(folder, "fake-cpu", "--dry-run", "--json").stdout)["targets"]
    assert f"({target['untimed']} untimed tests run once)" in first
    assert 0 < target["untimed"] < target["tests"]


def test_a_verbose_dry_run_lists_ids_that_select_the_test(folder: Path) -> None:
    done = run(folder, "fake-cpu", "--dry-run", "-v", "--function", "fake.scale")
    *_, last = done.stdout.split()
    assert last == "fake.scale::twice[by=3]"
    (target,) = json.loads(run(folder, "fake-cpu", "--dry-run", "--json", "--test", last).stdout)["targets"]
    assert target["selected"] == {"fake.scale": ["twice[by=3]"]}
    assert (target["functions"], target["tests"], target["runs"]) == (1, 1, 3)


def test_excluded_functions_do_not_run_in_any_framework_that_has_them(folder: Path) -> None:
    (target,) = json.loads(run(folder, *RUN, "--exclude", "*.identity", "--test", "twice*", "--json").stdout)["targets"]
    recorded: Any = json.loads(Path(target["run_file"]).read_text())
    assert {row["function"] for row in recorded["results"]} == {"fake.scale"}
    assert recorded["manifest"]["selection"] == ["not:*.identity", "test:twice*"]
    done = run(folder, "fake-cpu", "--dry-run", "--exclude", "*.identity")
    assert done.stdout.splitlines()[1:] == ["  fake.scale  3 tests"]


def test_shards_are_parts_of_the_tests_that_stay_when_tests_are_added(folder: Path) -> None:
    def shards(parts: int) -> list[set[str]]:
        found = []
        for part in range(1, parts + 1):
            done = run(folder, "fake-cpu", "--shard", f"{part}/{parts}", "--dry-run", "--json")
            (target,) = json.loads(done.stdout)["targets"]
            found.append({f"{name}::{test}" for name, tests in target["selected"].items() for test in tests})
        return found

    before = shards(2)
    assert all(before) and not before[0] & before[1] and len(before[0] | before[1]) == 5
    more = [{"id": f"more-{number}", "case": "fake.behaviours:passes"} for number in range(20)]
    first, second = MANIFEST["functions"]  # type: ignore[misc]
    changed = {**MANIFEST, "functions": [{**first, "tests": more + first["tests"]}, second]}  # type: ignore[index]
    (folder / "m.json").write_text(json.dumps(changed))
    after = shards(2)
    assert len(after[0] | after[1]) == 25
    assert before[0] <= after[0] and before[1] <= after[1]


def test_merged_shards_are_the_study_of_one_run(folder: Path) -> None:
    for out, options in (("whole", []), ("parts", ["--shard", "1/2"]), ("parts", ["--shard", "2/2"])):
        done = run(folder, *RUN, "--out", out, *options, "--json")
        assert done.returncode == 0, done.stderr
    studies = []
    for out in ("whole", "parts"):
        assert portbench(folder, "merge", out, "-o", f"study-{out}").returncode == 0
        report = portbench(folder, "report", f"study-{out}", "-o", f"report-{out}")
        assert report.returncode == 0, report.stderr
        tables = (folder / f"report-{out}" / "tables").glob("*.csv")
        studies.append({path.name: path.read_text() for path in tables if "latency" not in path.name})
    assert studies[0] and studies[0] == studies[1]
    (pair,) = json.loads(portbench(folder, "compare", "parts", "whole", "--json").stdout)["pairs"]
    assert (pair["first_runs"], pair["second_runs"]) == (1, 1)
    parts = sorted(folder.glob("parts/*.json"))
    documents = [json.loads(path.read_text()) for path in parts]
    assert sorted(each["manifest"]["selection"] for each in documents) == [["shard:1/2"], ["shard:2/2"]]
    alone = portbench(folder, "merge", str(parts[0]), "-o", "study-alone")
    other = {(each["function"], each["test"]) for each in documents[1]["results"]}
    assert f"{len(other)} test{'s' * (len(other) > 1)} of its manifest missing" in alone.stdout


@pytest.mark.parametrize(
    ("shard", "words"),
    [
        ("0/2", "expected K/N with 1 <= K <= N <= 10000"),
        ("3/2", "expected K/N with 1 <= K <= N <= 10000"),
        ("1", "such as 1/4"),
        ("1/10001", "such as 1/4"),
        ("1/9973", "none of the 5 selected tests is in this shard"),
    ],
)
def test_a_shard_that_is_none_or_empty_is_refused(folder: Path, shard: str, words: str) -> None:
    done = run(folder, "fake-cpu", "--shard", shard)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


def test_failed_runs_exactly_the_tests_that_failed(folder: Path) -> None:
    done = run(folder, *RUN, "--json")
    assert done.returncode == 0, done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    assert [test["listed_as"] + "::" + test["test"] for test in target["failed"]] == [
        "fake.identity::fails",
        "fake.scale::twice[by=3]",
    ]
    again = run(folder, "--failed", target["run_file"], "--runs", "1", "--json")
    assert again.returncode == 0, again.stderr
    (target,) = json.loads(again.stdout)["targets"]
    assert target["target"] == "fake-1.0.0-cpu"
    recorded: Any = json.loads(Path(target["run_file"]).read_text())
    # fake.scale::fails has the same id as a test that failed, and passed.
    assert [(row["function"], row["test"]) for row in recorded["results"]] == [
        ("fake.identity", "fails"),
        ("fake.scale", "twice[by=3]"),
    ]
    assert recorded["manifest"]["selection"] == ["test:fake.identity::fails", "test:fake.scale::twice[by=3]"]


def test_a_run_file_without_failures_has_nothing_to_run(folder: Path) -> None:
    done = run(folder, *RUN, "--test", "same", "--json")
    (target,) = json.loads(done.stdout)["targets"]
    done = run(folder, "--failed", target["run_file"])
    assert done.returncode == 0
    assert "no test failed, nothing to run" in done.stdout
    assert json.loads(run(folder, "--failed", target["run_file"], "--json").stdout) == {"targets": []}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["torch-cpu"], "torch-1.12.0-cpu has another framework"),
        (["--test", "same"], "--failed and --test exclude each other"),
    ],
)
def test_failed_refuses_what_contradicts_the_run_file(folder: Path, options: list[str], words: str) -> None:
    (target,) = json.loads(run(folder, *RUN, "--test", "fails", "--json").stdout)["targets"]
    done = portbench(folder, "run", "--failed", target["run_file"], *options)
    assert done.returncode == 2
    assert words in done.stderr
    unknown = portbench(folder, "run", "--failed", target["run_file"])
    assert "manifest 'selected', which is not in" in unknown.stderr
    assert "--manifest" in unknown.stderr


def test_a_run_without_a_target_is_wrong_usage(folder: Path) -> None:
    done = portbench(folder, "run")
    assert done.returncode == 2
    assert "portbench targets" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--function", "fake.identty"], "no function matches fake.identty; did you mean fake.identity?"),
        (["--function", "scale"], "no function matches scale; did you mean fake.scale?"),
        (["--exclude", "fake.identty"], "--exclude fake.identty matches no function; did you mean fake.identity?"),
        (["--test", "twiec"], "matches twiec; did you mean twice[*]?"),
        (["--test", "twice"], "matches twice; did you mean twice[by=2] or twice[by=3]?"),
    ],
)
def test_a_mistyped_selection_gets_suggestions(folder: Path, options: list[str], words: str) -> None:
    done = run(folder, "fake-cpu", *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert not list(folder.glob("results/*.json"))


def test_a_mistyped_command_or_manifest_gets_suggestions(folder: Path) -> None:
    assert "did you mean run?" in portbench(folder, "rnu").stderr
    assert "did you mean faults?" in portbench(folder, "run", "fake-cpu", "--manifest", "fault").stderr
    assert "did you mean m.json?" in portbench(folder, "run", "fake-cpu", "--manifest", "n.json").stderr


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("torch.argsrot", ["torch.argsort"]),
        ("argsort", ["torch.argsort"]),
        ("gelu", ["torch.nn.GELU"]),
        ("torch.nn.gelu", ["torch.nn.GELU"]),
        ("gleu", ["torch.nn.GELU"]),
        ("nothing.like.it", []),
    ],
)
def test_similar_names(given: str, expected: list[str]) -> None:
    names = ["torch.cat", "torch.diag", "torch.argsort", "torch.nn.GELU"]
    assert similar(given, names) == expected


def test_suggestions_are_at_most_three_and_safe_to_print() -> None:
    assert did_you_mean("name", [f"name{n}" for n in range(108)]).count(" or ") == 2
    assert "\\x1b" in did_you_mean("a\x1b", ["ab\x1b"])
    assert did_you_mean("x", ["torch.cat"]) == ""
