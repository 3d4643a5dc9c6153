"""Results of collected tests: most are compared with the framework itself, so they are marked and never the paper's."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from portbench.analysis.terms import COLLECTED_TESTS
from tests.paths import EXAMPLES

Document = dict[str, Any]
Make = Callable[..., Document]
Write = Callable[[str, Document], Path]


def run_on_t4(make_run: Make, make_result: Make, manifest: str) -> Document:
    """A run of the paper's version on one of the paper's devices."""
    results = [make_result("torch.cat", "a"), make_result("torch.dot", "a", outcome="failed", category="type")]
    document = make_run(results, target="torch-1.12.0-gpu", manifest=manifest)
    document["environment"]["device"] = {"model": "Tesla T4", "compute_capability": "7.5"}
    return document


def test_no_figure_of_collected_tests_stands_beside_the_papers(
    write: Write, make_run: Make, make_result: Make, portbench: Callable[..., Any], tmp_path: Path
) -> None:
    shown = {}
    for manifest in ("study-torch", "collected-torch"):
        runs = write(f"{manifest}/run.json", run_on_t4(make_run, make_result, manifest)).parent
        out = tmp_path / f"report-{manifest}"
        printed = " ".join(portbench("report", runs, "-o", out).output.split())
        tables = list((out / "tables").glob("*.csv"))
        columns = {name for path in tables for name in next(csv.reader(path.open(encoding="utf-8")))}
        notes = [COLLECTED_TESTS in path.read_text("utf-8") for path in (out / "tables").glob("[!R]*.md")]
        text = (out / "report.md").read_text("utf-8")
        page = (out / "index.html").read_text("utf-8").replace("&#39;", "'")
        marked = [COLLECTED_TESTS in printed, COLLECTED_TESTS in text, COLLECTED_TESTS in page, *notes]
        published = any("published" in name for name in columns)
        shown[manifest] = (set(marked), published)
    assert shown == {"study-torch": ({False}, True), "collected-torch": ({True}, False)}


def test_counts_of_another_framework_are_refused(
    write: Write, make_run: Make, make_result: Make, portbench: Callable[..., Any], tmp_path: Path
) -> None:
    runs = write("results/run.json", run_on_t4(make_run, make_result, "study-torch")).parent
    data = json.loads((EXAMPLES / "counts/valid/two_functions.json").read_text("utf-8"))
    data["frameworks"] = [{**data["frameworks"][0], "framework": "jax"}]
    counts = tmp_path / "counts.json"
    counts.write_text(json.dumps(data), "utf-8")
    done = portbench("report", runs, "--counts", counts, "-o", tmp_path / "report")
    assert done.exit_code == 1
    assert "$.frameworks: found jax, expected one of torch" in " ".join(str(done.exception or done.output).split())
    assert not (tmp_path / "report").exists()


def test_the_share_that_passes_is_weighted_by_use(
    write: Write, make_run: Make, make_result: Make, portbench: Callable[..., Any], tmp_path: Path
) -> None:
    runs = write("results/run.json", run_on_t4(make_run, make_result, "collected-torch")).parent
    data = json.loads((EXAMPLES / "counts/valid/two_functions.json").read_text("utf-8"))
    uses = {"torch.cat": 90, "torch.dot": 10, "torch.other": 1000}
    functions = [{"name": name, "identifier": uses[name], "resolved": uses[name], "files": 1} for name in uses]
    calls = {"identifier": 1100, "resolved": 1100, "both": 0}
    data["frameworks"] = [{**data["frameworks"][0], "framework": "torch", "functions": functions, "calls": calls}]
    counts = tmp_path / "counts.json"
    counts.write_text(json.dumps(data), "utf-8")
    printed = " ".join(portbench("report", runs, "--counts", counts).output.split())
    assert "all tests pass for 1 of 2 PyTorch 1.12.0 functions (50 %; weighted by use 90.0 %)." in printed
