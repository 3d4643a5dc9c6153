"""The page of a study as a file: what it carries, what it allows, and what it refuses to carry."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from portbench.errors import BadInput, StorageFailed
from portbench.explain.evidence import explain
from portbench.explain.reproducer import reproducer
from portbench.page import details, vendored
from portbench.page import write as page
from portbench.study.merge import merge
from portbench.study.store import Study, connect, create_views
from portbench.study.summary import analyse, runs_of, summarise
from portbench.util.repository import find_checkout

Document = dict[str, Any]
Make = Callable[..., Document]
Write = Callable[[str, Any], Path]


class Parts(HTMLParser):
    """The elements of a page, with their texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = (dict(attrs).get("id") or tag) if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts.append((self._open, data))

    def unpacked(self, name: str) -> Any:
        (text,) = [text for found, text in self.texts if found == name]
        return json.loads(gzip.decompress(base64.b64decode(text)))


@pytest.fixture
def study(write: Write, make_run: Make, make_result: Make, make_call: Make, tmp_path: Path) -> Study:
    """A function that passes, one that fails by a rule, one with many samples."""
    error = {
        "type": "RuntimeError",
        "message": "CUDA out of memory. Tried to allocate 2 GiB",
        "traceback": "",
        "causes": [],
    }
    on_host = {"verdict": "host", "evidence": [], "host_operations": ["aten::sort"]}
    results = [
        make_result(
            "torch.cat", "a test's id", 1, calls=[make_call(block_ns=tuple(range(1000, 1500)))], placement=on_host
        ),
        make_result("torch.dot", "b", 1, outcome="failed", error=error, category="memory"),
        make_result("torch.old", "b", 1, outcome="failed", error=error, category="other"),
    ]
    write("runs/gpu.json", make_run(results, target="torch-2.9.0-gpu"))
    write("runs/cpu.json", make_run([make_result("torch.cat", "a test's id", run) for run in (1, 2)]))
    return merge([str(tmp_path / "runs")], tmp_path / "study").study


def page_of(study: Study, path: Path, strict: bool = False) -> Parts:
    with connect() as connection:
        create_views(connection, study.tables)
        analyse(connection, strict)
        summary = summarise(connection, runs_of(study.summary), study.tables.name, strict)
        page.write(connection, summary, path, intolerable=4)
    return Parts(path.read_text("utf-8"))


def test_the_page_asks_for_nothing_and_runs_its_own_scripts_alone(study: Study, tmp_path: Path) -> None:
    parts = page_of(study, tmp_path / "new" / "index.html")
    asking = {"src", "srcset", "action", "data", "poster", "background"}
    assert not [element for element in parts.elements if asking & set(element[1])]
    assert [attributes["href"] for _, attributes in parts.elements if "href" in attributes] == ["#main"]
    assert not [
        name for _, attributes in parts.elements for name in (*attributes, *attributes) if name.startswith("on")
    ]
    (policy,) = [
        found["content"] for _, found in parts.elements if found.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy and policy.startswith("default-src 'none'")
    for kind in ("script", "style"):
        texts = [text for name, text in parts.texts if name == kind]
        digests = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts]
        assert f"{kind}-src {' '.join(digests)}" in policy
        assert len(digests) == {"script": 3, "style": 4}[kind]
        assert not any("sourceMappingURL" in text for text in texts)


@pytest.mark.parametrize("results", [1, 2, 4])
def test_the_page_is_the_same_in_however_many_parts_details_are_read(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, results: int
) -> None:
    whole = page_of(study, tmp_path / "whole.html")
    monkeypatch.setattr(details, "_PART_RESULTS", results)
    assert page_of(study, tmp_path / "parts.html").texts == whole.texts


def test_cells_and_latencies(study: Study, tmp_path: Path) -> None:
    parts = page_of(study, tmp_path / "index.html")
    index = parts.unpacked("data-index")
    assert [target["name"] for target in index["targets"]] == ["torch-2.9.0-cpu", "torch-2.9.0-gpu"]
    assert index["rows"]["function"] == ["torch.cat", "torch.dot", "torch.old"]
    cpu, gpu = index["cells"]
    assert (cpu["row"], cpu["status"], cpu["cold_ns"], cpu["steady_ns"]) == ([0], [0], [1_500_000], [20_000])
    assert (gpu["row"], gpu["status"], gpu["marks"]) == ([0, 1, 2], [0, 2, 2], [1, 0, 0])
    assert [
        [name for bit, name in enumerate(index["categories"]) if bits >> bit & 1] for bits in gpu["categories"]
    ] == [
        [],
        ["memory"],
        ["other"],
    ]
    assert index["intolerable"] == 4
    assert index["pairs"] == [[1, 0]]
    times = parts.unpacked("data-times")
    assert times[0] == {"row": [0], "test": [0], "cold_ns": [1_500_000], "steady_ns": [20_000]}


def test_samples_beyond_the_limit_are_counted(study: Study, tmp_path: Path) -> None:
    parts = page_of(study, tmp_path / "index.html")
    (test,) = parts.unpacked("data-block-0")["cells"]["0"]["1"]
    assert (test["steady_samples"], len(test["steady_ns"])) == (500, parts.unpacked("data-index")["most_samples"])
    assert test["steady_ns"][:2] == [10, 10.01]
    assert (test["cold_samples"], test["cold_ns"]) == (1, [1_500_000])


def test_evidence_names_the_rule_of_the_category(study: Study, tmp_path: Path) -> None:
    block = page_of(study, tmp_path / "index.html").unpacked("data-block-0")

    def said(row: int) -> list[list[str]]:
        (test,) = block["cells"][str(row)]["1"]
        return list(block["said"][test["results"][0][3]])

    assert ["category", "memory"] in said(1)
    (rule,) = [text for word, text in said(1) if word == "rule"]
    place, number = re.fullmatch(r"(runners/torch/failure_rules\.json), rule (\d+): .*", rule).groups()  # type: ignore[union-attr]
    rules = json.loads((find_checkout().root / place).read_text("utf-8"))["rules"]
    assert re.search(rules[int(number) - 1]["message"], "CUDA out of memory. Tried to allocate 2 GiB")
    # Another category of the runner is named, not changed.
    assert ["category", "other"] in said(2)
    assert "that of the runner; today's rules say memory: see portbench classify" in [text for _, text in said(2)]


def test_the_command_is_that_of_explain(study: Study, tmp_path: Path) -> None:
    index = page_of(study, tmp_path / "index.html").unpacked("data-index")
    for function, after in (("torch.cat", "after_passed"), ("torch.dot", "after_failed")):
        evidence = explain(study, function, target="torch-2.9.0-gpu").targets[0]
        again = reproducer(evidence, evidence.tests[0], find_checkout())
        run = next(run for run in index["runs"] if run["run_id"] == again.run["run_id"])
        repeat = index["repeats"][run["repeat"]]
        assert again.command.startswith(f"{repeat['before']} --function {function} --test ")
        assert again.command.endswith(f" {repeat[after]}")
        assert tuple(repeat["notes"]) == again.notes


def test_strict_placement_is_noted(study: Study, tmp_path: Path) -> None:
    parts = page_of(study, tmp_path / "index.html", strict=True)
    assert parts.unpacked("data-index")["strict_placement"] is True
    assert parts.unpacked("data-index")["cells"][1]["status"] == [2, 2, 2]
    assert ["strict placement", "passed, but not wholly on the device: counted as failed"] in [
        pair for said in parts.unpacked("data-block-0")["said"] for pair in said
    ]


def test_the_same_study_gives_the_same_page(study: Study, tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        page_of(study, tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_page_that_cannot_be_written_is_an_error(study: Study, write: Write) -> None:
    with pytest.raises(StorageFailed, match="cannot be written"):
        page_of(study, write("file", "") / "index.html")


def test_the_libraries_are_those_that_are_listed(tmp_path: Path) -> None:
    vendored.check()
    listed = {file["name"] for package in vendored.packages() for file in package["files"]}
    there = {path.name for path in vendored.FOLDER.iterdir()} - {"vendored.json"}
    assert listed == there
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", package["version"]) for package in vendored.packages())
    copy = tmp_path / "vendor"
    shutil.copytree(vendored.FOLDER, copy)
    (copy / "uPlot.min.css").write_text("changed")
    with pytest.raises(BadInput, match=r"uPlot\.min\.css of uplot .* is expected, found"):
        vendored.check(copy)
    (copy / "uPlot.min.css").unlink()
    with pytest.raises(BadInput, match="found: no file"):
        vendored.check(copy)
