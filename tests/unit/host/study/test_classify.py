"""``portbench classify``, and causes, annotated tests and flaky tests in summary and report."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import Result

from portbench.errors import BadInput
from portbench.formats.documents import read_document
from portbench.study.merge import merge
from tests.paths import OLDER_STUDIES

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Make = Callable[..., Document]
Command = Callable[..., Result]

OLDER = OLDER_STUDIES


def error(kind: str, message: str) -> Document:
    """An exception as a run file has it."""
    return {"type": kind, "message": message, "traceback": "", "causes": []}


TYPE = error("RuntimeError", "\"linalg_svd_cpu\" not implemented for 'Half'")
UNKNOWN = error("RuntimeError", "limit index (-1) must be greater than 7")
VALUES = error("runners.core.compare.Mismatch", "wrong value: 3 of 9 values differ")


@pytest.fixture
def study(write: Write, make_run: Make, make_result: Make, tmp_path: Path) -> Path:
    """A study of two versions on two machines; every failure of it was recorded as other."""
    found = [
        make_result("torch.svd", "half", 1, outcome="failed", error=TYPE),
        make_result("torch.svd", "rows", 1, outcome="failed", error=UNKNOWN),
        make_result(
            "torch.norm", "rows", 1, outcome="failed", error=VALUES, value_verdict="imprecise", phase="compare"
        ),
        make_result("torch.norm", "sum", 1, outcome="failed", error=VALUES, value_verdict="wrong", phase="compare"),
        make_result("torch.gone", "rows", 1, outcome="failed", error=TYPE, category="removed"),
        make_result("torch.new", "rows", 1, outcome="skipped"),
        make_result("torch.cat", "rows", 1),
        make_result("torch.cat", "rows", 2, outcome="crashed"),
        make_result("torch.cat", "rows", 3),
    ]
    other = dict(UNKNOWN, message="limit index (-12) must be greater than 3")
    later = [
        make_result("torch.svd", "rows", 1, outcome="failed", error=other),
        make_result("torch.sort", "rows", 1, outcome="failed", error=other),
    ]
    write("runs/a.json", make_run(found, target="torch-1.12.0-cpu"))
    write("runs/b.json", make_run(later, target="torch-2.9.0-xla", machine="cloud"))
    return merge([str(tmp_path / "runs")], tmp_path / "study").study.path


@pytest.fixture
def annotations(write: Write) -> Callable[..., Path]:
    """Writes a file of annotations."""

    def of(*entries: Document) -> Path:
        document = {"schema": "portbench/annotations", "schema_version": 1, "annotations": list(entries)}
        return write("annotations.json", document)

    return of


def rows(study: Path, columns: str) -> dict[tuple[str, str], Any]:
    """Columns of a study's failures by function and test, of the later version where both have it."""
    table = study / read_document(study / "study.json").data["tables"] / "results" / "*.parquet"
    query = f"SELECT function, test, {columns} FROM '{table}' WHERE outcome <> 'passed' ORDER BY version"
    return {(function, test): tuple(rest) for function, test, *rest in duckdb.sql(query).fetchall()}


def summary(study: Path) -> Document:
    """The summary of a study, checked."""
    return read_document(study / "study.json", "study").data


def everything(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_without_an_output_nothing_is_written(study: Path, portbench: Command) -> None:
    before = everything(study)
    result = portbench("classify", study)
    assert result.exit_code == 0, result.output
    assert everything(study) == before
    assert "7 failures: 2 with another category than recorded, 0 overridden" in result.output
    assert "other -> type: 1\n" in result.output
    assert "other -> precision: 1\n" in result.output


def test_other_is_listed_by_fingerprint_the_most_frequent_first(study: Path, portbench: Command) -> None:
    shown = portbench("classify", study).output
    listed = [line.split() for line in shown[shown.index("other (") :].splitlines()[1:]]
    assert listed[0][1:] == ["2", "tests", "of", "torch.sort", "and", "1", "more,", "3", "results"]
    assert " ".join(listed[1]) == "RuntimeError: limit index (#) must be greater than #"
    assert listed[3][1:] == ["1", "test", "of", "torch.norm,", "1", "result"]


def test_the_tables_have_new_and_recorded_categories(study: Path, portbench: Command, tmp_path: Path) -> None:
    result = portbench("classify", study, "-o", tmp_path / "new")
    assert result.exit_code == 0, result.output
    assert rows(tmp_path / "new", "category, recorded_category, outcome") == {
        ("torch.svd", "half"): ("type", "other", "failed"),
        ("torch.svd", "rows"): ("other", "other", "failed"),
        ("torch.sort", "rows"): ("other", "other", "failed"),
        ("torch.norm", "rows"): ("precision", "other", "failed"),
        ("torch.norm", "sum"): ("other", "other", "failed"),
        ("torch.gone", "rows"): ("removed", None, "failed"),
        ("torch.new", "rows"): ("removed", None, "skipped"),
        ("torch.cat", "rows"): ("crash", "crash", "crashed"),
    }
    before, after = summary(study), summary(tmp_path / "new")
    assert before["classification"] is None
    assert after["classification"]["annotations_sha256"] is None
    for one, other in zip(before["targets"], after["targets"], strict=True):
        assert one["functions_by_status"] == other["functions_by_status"]
        for function, derived in zip(one["functions"], other["functions"], strict=True):
            assert function["tests_by_verdict"] == derived["tests_by_verdict"]


def test_a_study_can_be_classified_in_place_repeatedly(study: Path, portbench: Command, tmp_path: Path) -> None:
    assert portbench("classify", study, "-o", study).exit_code == 0
    once = everything(study)
    assert portbench("classify", study, "-o", study).exit_code == 0
    assert everything(study) == once
    assert rows(study, "recorded_category")["torch.svd", "half"] == ("other",)
    assert sum(path.name.startswith("tables-") for path in study.iterdir()) == 1
    assert portbench("report", study).exit_code == 0


def test_annotations_decide_and_the_report_marks_them(
    study: Path, annotations: Callable[..., Path], portbench: Command, tmp_path: Path
) -> None:
    fingerprint = next(f["fingerprint"] for f in summary(study)["failures"] if "limit index" in f["cause"])
    path = annotations(
        {
            "function": "torch.svd",
            "test": "half",
            "category": "memory",
            "reason": "of the test",
            "link": "https://x.org/1",
        },
        {"function": "torch.svd", "category": "timeout", "reason": "of the function"},
        {"fingerprint": fingerprint, "category": "not_implemented", "reason": "of the cause"},
        {"function": "torch.cat", "category": "timeout", "reason": "it hung first"},
        {"function": "torch.gone", "category": "type", "reason": "nothing of it ran"},
        {"function": "torch.svd", "fingerprint": "0" * 12, "category": "type", "reason": "another cause"},
    )
    out = tmp_path / "new"
    result = portbench("classify", study, "--annotations", path, "-o", out)
    assert result.exit_code == 0, result.output
    assert "5 overridden" in result.output
    unused = [line for line in result.output.splitlines() if line.startswith("matches no failure")]
    assert [line.rsplit(": ", 1)[1] for line in unused] == ["$.annotations[4]", "$.annotations[5]"]
    found = rows(out, "category, overruled, outcome")
    of_test = {"category": "type", "reason": "of the test", "link": "https://x.org/1"}
    assert found["torch.svd", "half"] == ("memory", of_test, "failed")
    assert found["torch.svd", "rows"][0] == "timeout"
    assert found["torch.sort", "rows"][0] == "not_implemented"
    assert found["torch.cat", "rows"] == (
        "timeout",
        {"category": "crash", "reason": "it hung first", "link": None},
        "crashed",
    )
    assert found["torch.gone", "rows"][0] == "removed"
    assert [entry["function"] for entry in summary(out)["overruled"]] == [
        *("torch.cat", "torch.svd", "torch.svd"),
        *("torch.sort", "torch.svd"),
    ]
    assert portbench("report", out, "-o", tmp_path / "report").exit_code == 0
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert "## Categories overruled by annotations" in text
    assert (
        "| `torch-1.12.0-cpu` | `torch.svd` | `half` | type by the rules, memory by annotation | of the test | "
        "https\\://x.org/1 | 1 |" in text
    )
    assert "timeout (overruled)" in text
    assert "## Categories overruled by annotations" not in str(portbench("report", study).output)


def test_new_run_files_remove_a_classification(
    study: Path, write: Write, make_run: Make, make_result: Make, portbench: Command, tmp_path: Path
) -> None:
    more = write("runs/c.json", make_run([make_result("torch.cat", outcome="failed", error=TYPE)], machine="lab"))
    portbench("classify", study, "-o", study)
    said = portbench("merge", more, "-o", study).output
    assert "portbench classify" in said
    merge([str(tmp_path / "runs")], tmp_path / "fresh")
    assert summary(study) == summary(tmp_path / "fresh")
    assert rows(study, "category")["torch.svd", "half"] == ("other",)
    # Nothing new: nothing changes.
    portbench("classify", study, "-o", study)
    assert "portbench classify" not in portbench("merge", more, "-o", study).output
    assert rows(study, "category")["torch.svd", "half"] == ("type",)


def test_rules_of_another_folder(study: Path, write: Write, portbench: Command) -> None:
    write("rules/core/failure_rules.json", {"rules": []})
    write("rules/torch/failure_rules.json", {"rules": [{"category": "memory", "message": "limit index"}]})
    result = portbench("classify", study, "--rules", write("rules/x", "").parent)
    assert "other -> memory: 3\n" in result.output


@pytest.mark.parametrize("version", ["version_1", "version_2"])
def test_a_study_of_an_older_version(version: str, portbench: Command, tmp_path: Path) -> None:
    shutil.copytree(OLDER / version, tmp_path / "study")
    result = portbench("classify", tmp_path / "study", "-o", tmp_path / "new")
    assert result.exit_code == 0, result.output
    assert summary(tmp_path / "new")["classification"]
    assert portbench("report", tmp_path / "new").exit_code == 0


def test_an_output_that_is_not_this_study_is_refused(
    study: Path, write: Write, make_run: Make, portbench: Command, tmp_path: Path
) -> None:
    other = merge([str(write("other.json", make_run(machine="lab")))], tmp_path / "other").study.path
    for out in (other, write("folder/file", "").parent):
        before = everything(out)
        result = portbench("classify", study, "-o", out)
        assert isinstance(result.exception, BadInput)
        assert str(out) in str(result.exception)
        assert everything(out) == before


def test_an_invalid_file_of_annotations_is_refused(study: Path, write: Write, portbench: Command) -> None:
    result = portbench("classify", study, "--annotations", write("a.json", {"schema": "portbench/annotations"}))
    assert isinstance(result.exception, BadInput)
    result = portbench("classify", study, "--annotations", study / "study.json")
    assert "is a study, not a file of annotations" in str(result.exception)


def test_failures_of_one_cause_are_one_entry_over_versions_and_machines(study: Path) -> None:
    first, *rest = summary(study)["failures"]
    assert (first["tests"], first["results"], first["categories"]) == (2, 3, ["other"])
    assert first["functions"] == ["torch.sort", "torch.svd"]
    assert first["targets"] == ["torch-1.12.0-cpu", "torch-2.9.0-xla"]
    assert first["machines"] == ["box", "cloud"]
    assert len(rest) == 4 - 1
    stored = rows(study, "fingerprint, cause")
    assert stored["torch.svd", "rows"] == (first["fingerprint"], first["cause"])
    assert stored["torch.new", "rows"] == (None, None)


def test_flaky_tests_are_listed_by_name(study: Path, portbench: Command, tmp_path: Path) -> None:
    (function,) = (f for f in summary(study)["targets"][0]["functions"] if f["name"] == "torch.cat")
    assert function["flaky_tests"] == [{"test": "rows", "passed": 2, "ran": 3, "categories": ["crash"]}]
    assert function["status"] == "some_fail"
    portbench("report", study, "-o", tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert "### Flaky tests" in text
    assert "| `torch.cat` | `rows` | crash | 2/3 |" in text
    assert text.count("### Flaky tests") == 1
