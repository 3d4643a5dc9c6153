"""`portbench enumerate`: a list from the real runner on the fake framework, and the differences between two lists."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from portbench.errors import BadInput, Contradiction
from portbench.formats.documents import read_document
from tests.unit.host.clones import COMMAND, REPOSITORY

Portbench = Callable[..., Result]
Write = Callable[[str, Any], Path]


def enumerated(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "enumerate", *map(str, arguments), "--backend", "current"]
    environment = {**os.environ, "PORTBENCH_PYTHON": sys.executable, "COLUMNS": "120", **variables}
    return subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=120)


def entry(name: str, *aliases: str, signature: str | None = "()", home: str = "") -> dict[str, Any]:
    module, _, qualname = (home or name).rpartition(".")
    return {
        "name": name,
        "aliases": list(aliases),
        "kind": "function",
        "signature": signature,
        "signature_source": "inspect" if signature else None,
        "module": module,
        "qualname": qualname,
        "has_public_test": None,
    }


@pytest.fixture
def listing(write: Write) -> Callable[..., Path]:
    """A file with a list of these entries."""

    def make(name: str, *entries: dict[str, Any], framework: str = "torch", rule: str = "portbench") -> Path:
        example = REPOSITORY / "tests" / "examples" / "functions" / "valid" / "two.json"
        document = json.loads(example.read_text("utf-8"))
        document["target"] = {"framework": framework, "version": name, "device": "cpu"}
        document["rule"]["name"] = rule
        counts = {"functions": len(entries), "by_kind": {"function": len(entries)}, "by_namespace": {"a": len(entries)}}
        document["counts"].update(counts if entries else {"functions": 0, "by_kind": {}, "by_namespace": {}})
        return write(f"{name}.json", {**document, "functions": list(entries)})

    return make


def differences(portbench: Portbench, before: Path, after: Path) -> dict[str, Any]:
    done = portbench("enumerate", "--diff", before, after, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_list_is_written_and_summarized(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "fake.json"
    done = enumerated("fake-cpu", "-o", path)
    assert done.returncode == 0, done.stderr
    document = read_document(path, "functions").data
    assert {"fake.scale", "fake.Tensor"} <= {entry["name"] for entry in document["functions"]}
    assert f"fake-1.0.0-cpu: {len(document['functions'])} functions" in done.stdout
    assert "by portbench's rule" in done.stdout
    assert f"wrote {path}" in done.stderr.replace("\n", "")


def test_json_prints_the_list_and_nothing_else_on_stdout(tmp_path: Path) -> None:
    first = enumerated("fake-cpu", "--json", "--methods", PYTHONHASHSEED="1")
    document = json.loads(first.stdout)
    assert document["rule"]["methods"]
    assert "fake.Tensor.to" in {entry["name"] for entry in document["functions"]}
    assert enumerated("fake-cpu", "--json", "--methods", PYTHONHASHSEED="2").stdout == first.stdout


def test_the_list_states_the_papers_rule_and_what_is_guessed() -> None:
    done = enumerated("fake-cpu", "--as-published", "--json")
    rule = json.loads(done.stdout)["rule"]
    assert rule["name"] == "study"
    assert any("short names" in text for text in rule["known"])
    assert rule["guessed"]


def test_a_target_is_compared_with_a_file(tmp_path: Path) -> None:
    path = tmp_path / "fake.json"
    assert enumerated("fake-cpu", "-o", path).returncode == 0
    done = enumerated("--diff", path, "fake-cpu")
    assert done.returncode == 0, done.stderr
    assert "0 added, 0 removed, 0 moved, 0 with a changed signature" in done.stdout


def test_added_and_removed(portbench: Portbench, listing: Callable[..., Path]) -> None:
    found = differences(portbench, listing("1", entry("a.x"), entry("a.y")), listing("2", entry("a.y"), entry("a.z")))
    assert (found["added"], found["removed"], found["kept"]) == (["a.z"], ["a.x"], 1)
    assert (found["before"], found["after"]) == ("torch-1-cpu", "torch-2-cpu")


def test_a_function_with_another_canonical_name_has_moved(portbench: Portbench, listing: Callable[..., Path]) -> None:
    before = listing(
        "1",
        entry("a.old"),
        entry("a.b.shown", home="a.c.f"),
        entry("a.lost", "a.b.alias"),
        entry("a.same_place", home="a._impl.g"),
    )
    after = listing(
        "2",
        entry("a.b.shown", home="a.c.f"),
        entry("a.new", "a.old", home="a.new"),
        entry("a.b.alias", home="a.elsewhere"),
        entry("a.b.renamed", home="a._impl.g"),
    )
    found = differences(portbench, before, after)
    assert found["moved"] == [
        {"old": "a.lost", "new": "a.b.alias", "keeps_old": False},
        {"old": "a.old", "new": "a.new", "keeps_old": True},
        {"old": "a.same_place", "new": "a.b.renamed", "keeps_old": False},
    ]
    assert (found["added"], found["removed"]) == ([], [])


def test_two_functions_that_became_one_are_matched(portbench: Portbench, listing: Callable[..., Path]) -> None:
    before = listing("1", entry("a.add"), entry("a.plus"))
    found = differences(portbench, before, listing("2", entry("a.add", "a.plus")))
    assert found["moved"] == [{"old": "a.plus", "new": "a.add", "keeps_old": True}]
    assert (found["added"], found["removed"], found["kept"]) == ([], [], 2)


def test_signatures_are_compared_if_both_are_known(portbench: Portbench, listing: Callable[..., Path]) -> None:
    before = listing("1", entry("a.x", signature="(p)"), entry("a.y", signature=None), entry("a.z"))
    after = listing("2", entry("a.x", signature="(p, q=1)"), entry("a.y", signature="(p)"), entry("a.z"))
    found = differences(portbench, before, after)
    assert found["signatures"] == [{"name": "a.x", "before": "(p)", "after": "(p, q=1)"}]


def test_the_terminal_shows_the_first_changes_and_the_file_all(
    portbench: Portbench, listing: Callable[..., Path], tmp_path: Path
) -> None:
    after = listing("2", *(entry(f"a.f{number:03}") for number in range(40)), entry("a.\x1b[2J"))
    done = portbench("enumerate", "--diff", listing("1"), after, "-o", tmp_path / "changes.json")
    assert done.exit_code == 0, done.output
    assert "41 added, 0 removed" in done.stdout
    assert "and 16 more" in done.stdout
    assert "\x1b" not in done.stdout
    assert len(json.loads((tmp_path / "changes.json").read_text())["added"]) == 41


@pytest.mark.parametrize(
    ("change", "words"), [({"framework": "jax"}, "framework is torch"), ({"rule": "study"}, "name")]
)
def test_lists_with_other_frameworks_or_rules_are_an_error(
    portbench: Portbench, listing: Callable[..., Path], change: dict[str, str], words: str
) -> None:
    done = portbench("enumerate", "--diff", listing("1", entry("a.x")), listing("2", entry("a.x"), **change))
    assert isinstance(done.exception, Contradiction)
    assert words in str(done.exception)
    assert "2.json" in str(done.exception)


def test_another_file_is_an_error(portbench: Portbench, write: Write, listing: Callable[..., Path]) -> None:
    done = portbench("enumerate", "--diff", write("other.json", {"schema": "portbench/run"}), listing("1"))
    assert isinstance(done.exception, BadInput)


@pytest.mark.parametrize("arguments", [[], ["fake-cpu", "--diff", "a.json", "b.json"]])
def test_a_target_or_two_lists_are_required(portbench: Portbench, arguments: list[str]) -> None:
    done = portbench("enumerate", *arguments)
    assert done.exit_code == 2
    assert "--diff" in done.output


def test_an_unknown_target_is_one_error() -> None:
    done = enumerated("fake-gpu")
    assert done.returncode == 2
    assert "no target is called 'fake-gpu'" in done.stderr
    assert "Traceback" not in done.stderr
