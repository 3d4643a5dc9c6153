"""The functions of a study's manifests: their places in the sample, and those without any record."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from portbench.study.merge import merge
from portbench.study.store import connect, create_views, read_study
from tests.paths import EXAMPLES

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Make = Callable[..., Document]
Command = Callable[..., Result]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return tmp_path / "study"


def listed(name: str, tests: int, **facts: Any) -> Document:
    return {"name": name, "tests": tests, "decile": None, "uses": None, "top20": None, "listed_as": None} | facts


def listing(run: Document, *functions: Document) -> Document:
    """A run file that lists the functions of its manifest."""
    run["manifest"] |= {"functions": list(functions)}
    return run


def table(study: Path) -> list[tuple[Any, ...]]:
    with connect() as connection:
        create_views(connection, read_study(study).tables)
        return connection.sql("FROM listed_functions ORDER BY ALL").fetchall()


def test_each_function_of_each_manifest_is_one_row(
    write: Write, make_run: Make, make_result: Make, study: Path
) -> None:
    cat = listed("torch.cat", 1, decile=10, uses=4321, top20=True, listed_as="torch.concat")
    other = listed("torch.linalg.norm", 7)
    write("r/1.json", listing(make_run(), cat, other))
    write("r/2.json", listing(make_run(machine="lab"), cat, other))
    jax = make_run([make_result("jax.lax.add")], target="jax-0.10.2-cpu")
    write("r/3.json", listing(jax, listed("jax.lax.add", 2, decile=1)))
    write("r/4.json", make_run(manifest="older"))
    merge([str(study.parent / "r/1.json")], study)
    merge([str(study.parent / "r")], study)
    assert table(study) == [
        ("jax", "study-jax", "jax.lax.add", 2, 1, None, None, None),
        ("torch", "study-torch", "torch.cat", 1, 10, 4321, True, "torch.concat"),
        ("torch", "study-torch", "torch.linalg.norm", 7, None, None, None, None),
    ]


def test_without_a_listing_there_are_no_rows_and_nothing_is_known_to_be_missing(
    write: Write, make_run: Make, study: Path
) -> None:
    summary = merge([str(write("1.json", make_run()))], study).study.summary
    (target,) = summary["targets"]
    assert table(study) == []
    assert target["missing"] is None
    assert [function["missing_tests"] for function in target["functions"]] == [None]


def test_missing_skipped_and_failed_are_different(
    write: Write, make_run: Make, make_result: Make, study: Path, portbench: Command
) -> None:
    results = [
        make_result("torch.cat", "rows"),
        make_result("torch.cat", "columns", outcome="failed"),
        make_result("torch.add", "rows", outcome="skipped", reason="needs two devices", category=None),
    ]
    functions = (listed("torch.cat", 4), listed("torch.add", 1), listed("torch.dot", 3))
    path = write("1.json", listing(make_run(results), *functions))
    (target,) = merge([str(path)], study).study.summary["targets"]
    found = {function["name"]: function for function in target["functions"]}
    assert target["missing"] == {"functions": ["torch.dot"], "tests": 5}
    cat, add = found["torch.cat"], found["torch.add"]
    assert cat["tests_by_verdict"] == {"passed": 1, "failed": 1, "flaky": 0, "skipped": 0, "error": 0}
    assert (cat["missing_tests"], cat["skipped"]) == (2, [])
    assert add["skipped"] == [{"reason": "needs two devices", "tests": 1}]
    assert add["missing_tests"] == 0
    assert target["functions_by_status"] == {"all_pass": 0, "some_fail": 1, "all_fail": 0, "not_testable": 1}
    done = portbench("merge", path, "-o", study)
    assert "torch-2.9.0-cpu on box: 2 functions, 5 tests of its manifest missing" in done.stdout


def test_functions_missing_on_one_machine_may_be_on_another(
    write: Write, make_run: Make, make_result: Make, study: Path
) -> None:
    functions = (listed("torch.cat", 1), listed("torch.add", 1))
    write("r/1.json", listing(make_run([make_result("torch.cat")]), *functions))
    write("r/2.json", listing(make_run([make_result("torch.add")]), *functions))
    write("r/3.json", listing(make_run([make_result("torch.add")], machine="lab"), *functions))
    summary = merge([str(study.parent / "r")], study).study.summary
    assert [(entry["machine"], entry["missing"]) for entry in summary["targets"]] == [
        ("box", {"functions": [], "tests": 0}),
        ("lab", {"functions": ["torch.cat"], "tests": 1}),
    ]


def test_a_successor_counts_for_the_function_that_this_version_lacks(
    write: Write, make_run: Make, make_result: Make, study: Path
) -> None:
    results = [
        make_result("torch.old", "rows", outcome="skipped"),
        make_result("torch.new", "rows", successor_of="torch.old"),
    ]
    path = write("1.json", listing(make_run(results), listed("torch.old", 1)))
    (target,) = merge([str(path)], study).study.summary["targets"]
    assert target["missing"] == {"functions": [], "tests": 0}
    assert [function["missing_tests"] for function in target["functions"]] == [None, 0]


def test_the_kept_example_is_read(study: Path) -> None:
    example = EXAMPLES / "run" / "valid" / "listed_functions.json"
    functions = json.loads(example.read_text())["manifest"]["functions"]
    merge([str(example)], study)
    assert [row[2] for row in table(study)] == sorted(function["name"] for function in functions)


@pytest.mark.parametrize(
    ("selection", "missing"),
    [
        ([], {"functions": ["torch.add", "torch.linalg.eig"], "tests": 6}),
        (["torch.[abc]*"], {"functions": ["torch.add"], "tests": 4}),
        (["torch.cat", "torch.linalg.*"], {"functions": ["torch.linalg.eig"], "tests": 3}),
        (["torch.cat"], {"functions": [], "tests": 1}),
        (["torch.cat", "test:rows[*]"], None),
        (["not:torch.a*"], {"functions": ["torch.linalg.eig"], "tests": 3}),
        (["torch.[abc]*", "not:torch.add"], {"functions": [], "tests": 1}),
    ],
)
def test_what_was_not_selected_is_not_missing(
    write: Write, make_run: Make, study: Path, selection: list[str], missing: Document | None
) -> None:
    run = listing(make_run(), listed("torch.cat", 2), listed("torch.add", 3), listed("torch.linalg.eig", 2))
    run["manifest"]["selection"] = selection
    (target,) = merge([str(write("1.json", run))], study).study.summary["targets"]
    assert target["missing"] == missing
    assert target["functions"][0]["missing_tests"] == (1 if missing else None)
