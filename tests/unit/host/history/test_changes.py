"""What a history says about run files of several versions: statuses, changes, tables, the figure, a bisection."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from portbench.history.bisect import bisect
from portbench.history.changes import History, read_history
from portbench.history.output import as_data, write
from portbench.history.run import VersionRun
from portbench.history.tables import tables
from portbench.tables.as_markdown import as_markdown
from portbench.tables.as_terminal import print_tables
from tests.unit.host.conftest import result_document, run_document

Written = Callable[[str, Any], Path]
ALL = {"torch.cat": ["passed", "passed"], "torch.dot": ["passed"], "torch.new": ["skipped"], "torch.old": ["passed"]}
VERSIONS: Mapping[str, Mapping[str, list[str]]] = {
    "1.12.0": ALL,
    "2.0.1": {**ALL, "torch.cat": ["failed", "passed"]},
    "2.9.0": {**ALL, "torch.cat": ["failed", "failed"], "torch.new": ["passed"], "torch.old": ["skipped"]},
    "2.10.0": {**ALL, "torch.new": ["passed"], "torch.old": ["skipped"]},
}


def run_of(write: Written, version: str, functions: Mapping[str, list[str]]) -> VersionRun:
    results = [
        result_document(function, f"t{place}", outcome=outcome)
        for function, outcomes in functions.items()
        for place, outcome in enumerate(outcomes)
    ]
    path = write(f"{version}.json", run_document(results, target=f"torch-{version}-cpu"))
    return VersionRun(version, "2024-01-31", "3.10", path)


@pytest.fixture
def history(write: Written) -> History:
    runs = [run_of(write, version, functions) for version, functions in VERSIONS.items()]
    runs.insert(2, VersionRun("2.4.1", missing="no wheel fits"))
    return read_history("torch", "cpu", "study", runs)


def test_statuses_are_those_of_a_study(history: History) -> None:
    statuses = [version.statuses.get("torch.cat") for version in history.versions]
    assert statuses == ["all tests pass", "some fail", None, "all tests fail", "all tests pass"]
    assert history.versions[0].statuses["torch.new"] == "removed"
    assert history.versions[0].counts == {"all tests pass": 3, "removed": 1}


def test_a_change_is_between_a_version_and_the_one_before_that_ran(history: History) -> None:
    found = [(change.since, change.version, change.function, change.kind) for change in history.changes]
    assert found == [
        ("1.12.0", "2.0.1", "torch.cat", "broke"),
        ("2.0.1", "2.9.0", "torch.cat", "broke"),
        ("2.0.1", "2.9.0", "torch.new", "added"),
        ("2.0.1", "2.9.0", "torch.old", "removed"),
        ("2.9.0", "2.10.0", "torch.cat", "fixed"),
    ]
    assert history.changes[0].tests == ("t0",)
    assert "it does not work" in history.changes[0].evidence
    assert history.changed("2.9.0", "broke") == 1


def test_a_version_that_did_not_run_is_named_with_the_reason(history: History) -> None:
    text = "".join(as_markdown(table) for table in tables(history))
    assert "no wheel fits" in text
    assert "`torch.cat` | 1.12.0 all tests pass; 2.0.1 some fail; 2.9.0 all tests fail; 2.10.0 all tests pass" in text
    assert "`torch.dot`" not in text
    console = Console(width=60, record=True)
    print_tables(tables(history), console)
    assert "torch.cat" in console.export_text()


def test_the_files_have_every_version_and_are_the_same_each_time(history: History, tmp_path: Path) -> None:
    first, second = ({path.name: path.read_bytes() for path in write(history, tmp_path / name)} for name in "ab")
    assert first == second
    assert set(first) == {"history.svg", "history.png", "history.md", "history.json"}
    assert json.loads(first["history.json"]) == json.loads(json.dumps(as_data(history)))
    assert [version["version"] for version in json.loads(first["history.json"])["versions"]][2] == "2.4.1"


def test_a_history_without_a_run_has_a_table_but_no_figure(tmp_path: Path) -> None:
    history = read_history("torch", "cpu", "study", [VersionRun("2.4.1", missing="no wheel fits")])
    assert {path.name for path in write(history, tmp_path)} == {"history.md", "history.json"}
    assert "no wheel fits" in (tmp_path / "history.md").read_text()


BROKEN_FROM_5 = {
    f"2.{minor}.0": {"torch.cat": ["passed" if minor < 5 else "failed"], "torch.dot": ["passed"]} for minor in range(12)
}


def test_a_bisection_runs_few_versions(write: Written) -> None:
    asked = []

    def run(version: str) -> VersionRun:
        asked.append(version)
        return run_of(write, version, BROKEN_FROM_5[version])

    found = bisect("torch", "cpu", "torch.cat", list(BROKEN_FROM_5), run)
    assert found.change
    assert (found.change.since, found.change.version, found.change.kind) == ("2.4.0", "2.5.0", "broke")
    assert found.between == ()
    assert len(asked) == len(set(asked)) <= 6


def test_a_bisection_passes_over_versions_that_do_not_run(write: Written) -> None:
    def run(version: str) -> VersionRun:
        if version in ("2.0.0", "2.4.0", "2.5.0", "2.6.0", "2.11.0"):
            return VersionRun(version, missing="no wheel fits")
        return run_of(write, version, BROKEN_FROM_5[version])

    found = bisect("torch", "cpu", "torch.cat", list(BROKEN_FROM_5), run)
    assert found.change
    assert (found.change.since, found.change.version) == ("2.3.0", "2.7.0")
    assert found.between == ("2.4.0", "2.5.0", "2.6.0")


def test_a_bisection_of_a_function_that_did_not_change_finds_nothing(write: Written) -> None:
    found = bisect(
        "torch",
        "cpu",
        "torch.dot",
        list(BROKEN_FROM_5),
        lambda version: run_of(write, version, BROKEN_FROM_5[version]),
    )
    assert found.change is None
    assert found.statuses == (("2.0.0", "all tests pass"), ("2.11.0", "all tests pass"))


def test_a_bisection_finds_the_version_that_removed_a_function(write: Written) -> None:
    versions = {f"2.{minor}.0": {"torch.old": ["passed" if minor < 3 else "skipped"]} for minor in range(6)}
    found = bisect(
        "torch", "cpu", "torch.old", list(versions), lambda version: run_of(write, version, versions[version])
    )
    assert found.change
    assert (found.change.kind, found.change.since, found.change.version) == ("removed", "2.2.0", "2.3.0")
