"""Tables and headlines of whole studies, from run files to files."""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from portbench.analysis.results import Results, compute_results
from portbench.analysis.terms import STRICT
from portbench.errors import StorageFailed
from portbench.published import paper
from portbench.report.headlines import build_headlines
from portbench.study.categories import Rules
from portbench.study.import_2023 import import_raw_data
from portbench.study.merge import merge
from portbench.tables.write import write_tables
from portbench.util.text import escape_control
from tests.unit.host.opened_study import listed, opened_study

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Make = Callable[..., Document]

ON_HOST = {"verdict": "host", "evidence": [], "host_operations": ["aten::sort"]}


def computed(runs: Path, strict: bool = False) -> Results:
    """The results of a folder of run files."""
    study = merge([str(runs)], runs.parent / "study").study
    with opened_study(study.path, strict) as connection:
        return compute_results(connection)


def on_device(make_run: Make, results: list[Document], device: str, model: str, **changes: Any) -> Document:
    """A run file of torch 1.12.0 on a machine named after its device, whose environment tells the model."""
    document = make_run(
        results, target=f"torch-1.12.0-{device}", machine=changes.pop("machine", f"{device}-box"), **changes
    )
    facts = {"gpu": {"model": model, "compute_capability": "7.5"}, "tpu": {"generation": model}}
    document["environment"]["device"] = facts[device]
    return document


@pytest.fixture
def every_outcome(write: Write, make_run: Make, make_result: Make, make_call: Make) -> Path:
    """A folder of run files in which every outcome occurs, on a T4 and a v3."""

    def timed(ms: int) -> list[Document]:
        return [make_call(ms * 1_000_000, 0, (ms * 1_000_000,) * 3, 1)]

    gpu = [
        make_result("torch.cat", "a", calls=timed(1)),
        make_result("torch.cat", "b", calls=timed(3)),
        make_result("torch.dot", "a", calls=timed(2)),
        make_result("torch.sum", "a", outcome="failed"),
        make_result("torch.new", "a", outcome="skipped"),
    ]
    tpu = [
        make_result("torch.cat", "a", calls=timed(100)),
        make_result("torch.cat", "b", outcome="timed_out"),
        make_result("torch.dot", "a", calls=timed(1), placement=ON_HOST),
        make_result("torch.sum", "a", outcome="crashed"),
        make_result("torch.new", "a", outcome="skipped"),
    ]
    write("runs/gpu.json", on_device(make_run, gpu, "gpu", "Tesla T4"))
    return write("runs/tpu.json", on_device(make_run, tpu, "tpu", "v3")).parent


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table that was written as CSV."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_each_table_is_written_in_three_formats_and_listed(every_outcome: Path, tmp_path: Path) -> None:
    folder = tmp_path / "report" / "tables"
    results = computed(every_outcome)
    written = write_tables(results, folder)
    assert sorted(written) == sorted(folder.iterdir())
    stems = {path.stem for path in written} - {"README"}
    assert stems == {
        "causes-measured",
        "modules-measured",
        "table-1-paper-method",
        "table-1-robust",
        "table-2-gpu-tpu-paper-method",
        "table-2-gpu-tpu-robust",
        "table-6-torch-gpu-tpu-paper-method",
        "table-6-torch-gpu-tpu-robust",
        "table-8-paper-method",
    }
    assert len(written) == 3 * len(stems) + 1
    index = (folder / "README.md").read_text("utf-8")
    assert set(re.findall(r"\]\(([^)]+)\)", index)) == {path.name for path in written} - {"README.md"}
    assert re.findall(r"^- Table (\d): it needs", index, re.MULTILINE) == ["3", "4", "5", "7"]


def test_a_table_too_long_to_read_has_its_rows_in_csv_alone(
    every_outcome: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portbench.tables.write.LONGEST", 1)
    written = {path.name for path in write_tables(computed(every_outcome), tmp_path)}
    # torch.cat and torch.dot were timed on both devices.
    stem = "table-6-torch-gpu-tpu-robust"
    assert {name for name in written if name.startswith(stem)} == {f"{stem}.md", f"{stem}.csv"}
    assert [row["function"] for row in rows(tmp_path / f"{stem}.csv")] == ["torch.cat", "torch.dot"]
    text = (tmp_path / f"{stem}.md").read_text("utf-8")
    assert f"2 rows: in {stem}.csv." in text and "failed on torch-1.12.0-tpu on tpu-box" in text
    assert "torch.dot" not in text.split("Left out")[0]
    index = (tmp_path / "README.md").read_text("utf-8")
    assert set(re.findall(r"\]\(([^)]+)\)", index)) == written - {"README.md"}


def test_every_outcome_counts_where_it_should(every_outcome: Path, tmp_path: Path) -> None:
    results = computed(every_outcome)
    write_tables(results, tmp_path)
    said = [headline.sentence for headline in build_headlines(results)]
    gpu, tpu = rows(tmp_path / "table-8-paper-method.csv")
    names = ("success", "partial", "complete", "total", "not_testable")
    assert [gpu[name] for name in names] == ["2", "0", "1", "3", "1"]
    assert [tpu[name] for name in names] == ["1", "1", "1", "3", "1"]
    # torch.cat only by its test a, which alone passed on both: 1 ms and 100 ms; torch.dot 2 ms and 1 ms.
    for method in ("paper-method", "robust"):
        timed = rows(tmp_path / f"table-6-torch-gpu-tpu-{method}.csv")
        assert [(row["function"], row["class"]) for row in timed] == [
            ("torch.cat", "intolerable"),
            ("torch.dot", "faster"),
        ]
        assert [float(row["gpu_ms"]) for row in timed] == pytest.approx([1, 2])
        assert [float(row["tpu_ms"]) for row in timed] == pytest.approx([100, 1])
    text = (tmp_path / "table-6-torch-gpu-tpu-paper-method.md").read_text("utf-8")
    assert "failed on torch-1.12.0-tpu on tpu-box" in text and "torch.cat (1)." in text
    assert any("50.0 % of functions (1 of 2) are more than 10 times slower" in sentence for sentence in said)


def test_the_published_figures_are_next_to_those_of_the_papers_targets(every_outcome: Path, tmp_path: Path) -> None:
    results = computed(every_outcome)
    write_tables(results, tmp_path)
    own = [row for row in rows(tmp_path / "table-1-paper-method.csv") if row["over"] == "all tests that ran there"]
    assert [row["published_success_percent"] for row in own] == ["92", "57"]
    assert [float(row["difference_success_points"]) for row in own] == pytest.approx([200 / 3 - 92, 100 / 3 - 57])


def test_strict_placement_counts_and_is_noted(every_outcome: Path, tmp_path: Path) -> None:
    results = computed(every_outcome, strict=True)
    write_tables(results, tmp_path, is_strict=True)
    assert [row["success"] for row in rows(tmp_path / "table-8-paper-method.csv")] == ["2", "0"]
    assert STRICT in (tmp_path / "table-8-paper-method.md").read_text("utf-8")
    assert STRICT in (tmp_path / "table-8-paper-method.tex").read_text("utf-8")


def test_a_study_in_which_nothing_ran(write_runs: Callable[..., Path], make_result: Make, tmp_path: Path) -> None:
    results = computed(write_runs([make_result(outcome="skipped")]))
    write_tables(results, tmp_path)
    assert list(build_headlines(results)) == []
    for row in rows(tmp_path / "table-1-paper-method.csv"):
        assert (row["success_percent"], row["functions"]) == ("", "0")
    written = "".join(path.read_text("utf-8") for path in tmp_path.glob("table-*"))
    assert "nan" not in written.lower().replace("nanosecond", "")


@pytest.fixture
def write_runs(write: Write, make_run: Make) -> Callable[..., Path]:
    """Writes the same results as run files of a GPU and a TPU, on machines with the given name."""

    def of(results: list[Document], name: str = "box") -> Path:
        write("runs/gpu.json", on_device(make_run, results, "gpu", name, machine=name))
        return write("runs/tpu.json", on_device(make_run, results, "tpu", "v3", machine=name)).parent

    return of


HOSTILE = "\x1b[2J\u202e[b]|`<script>alert(1)</script>![a](https://evil.example)\\input{x}$\n=1+1 www.evil.example"


def test_hostile_text_means_nothing_in_any_format(
    write_runs: Callable[..., Path], make_result: Make, tmp_path: Path
) -> None:
    found = [
        make_result(HOSTILE),
        make_result("torch.new", outcome="skipped", reason=HOSTILE),
        make_result("torch.dot", outcome="failed"),
    ]
    results = computed(write_runs(found, HOSTILE))
    written = write_tables(results, tmp_path / "out")
    assert len(written) > 20
    for path in written:
        text = path.read_text("utf-8")
        assert all(line.isprintable() for line in text.splitlines()), path
        if path.suffix == ".md":
            page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
            tags = {"h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "ul", "li", "a"}
            assert set(re.findall(r"<(\w+)", page)) <= tags, path
            assert "https://" not in text and "www.evil" not in text, path
        if path.suffix == ".tex":
            assert text.isascii() and "\\input" not in text, path
    page = MarkdownIt("commonmark").enable("table").render((tmp_path / "out" / "table-1-robust.md").read_text("utf-8"))
    assert escape_control(HOSTILE) in [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]


def test_a_folder_that_cannot_be_written_is_one_error(every_outcome: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(StorageFailed, match="cannot be written"):
        write_tables(computed(every_outcome), tmp_path / "taken" / "tables")


def test_table_4_comes_from_the_strata_that_run_files_list(every_outcome: Path, tmp_path: Path) -> None:
    functions = [
        listed("torch.cat", 10, 1000, True),
        listed("torch.dot", 10, 3000, False),
        listed("torch.sum", 1, 1, False),
        listed("torch.new", 2, 5, False),
    ]
    for path in every_outcome.iterdir():
        document = json.loads(path.read_text("utf-8"))
        document["manifest"]["functions"] = functions
        path.write_text(json.dumps(document), "utf-8")
    results = computed(every_outcome)
    write_tables(results, tmp_path)
    found = {(row["target"], row["stratum"]): row for row in rows(tmp_path / "table-4-paper-method.csv")}
    tpu = [found["torch-1.12.0-tpu", stratum] for stratum in ("top 20", "others", "all")]
    # On the TPU torch.cat fails partially, torch.sum completely; torch.new did not run.
    assert [(row["failing"], row["functions"]) for row in tpu] == [("1", "1"), ("1", "2"), ("2", "3")]
    assert [row["published_failing_percent"] for row in tpu] == ["46", "44", ""]
    robust = {row["stratum"]: row for row in rows(tmp_path / "table-4-robust.csv")}
    assert list(robust) == ["top 20", "others", "all", "decile 1", "decile 2", "decile 10"]
    assert (robust["decile 2"]["functions"], robust["decile 2"]["failing_percent"]) == ("0", "")
    # Of its tests half of torch.cat's fail, none of torch.dot's, all of torch.sum's: (1000/2 + 1) / 4001.
    (tpu_tests,) = [
        row
        for row in rows(tmp_path / "table-1-robust.csv")
        if row["target"] == "torch-1.12.0-tpu" and row["over"] == "all tests that ran there"
    ]
    assert float(tpu_tests["weighted_percent"]) == pytest.approx(100 * 501 / 4001)


def test_table_7_of_the_papers_raw_data(tmp_path: Path) -> None:
    import_raw_data([paper.raw_data() / "jax"], tmp_path / "runs", Rules({}, ""))
    results = computed(tmp_path / "runs")
    write_tables(results, tmp_path / "tables")
    said = [headline.sentence for headline in build_headlines(results)]
    text = (tmp_path / "tables" / "table-7-jax-gpu-tpu-paper-method.md").read_text("utf-8")
    assert "61 of 61 functions have the published figures to the last printed digit." in text
    # The text of the paper says 91.8 % of the JAX functions are faster on the TPU.
    assert any(
        "91.8 % of functions (56 of 61) are faster (paper: 91.8 %; its method on this data: 91.8 %)." in sentence
        for sentence in said
    )
    assert not (tmp_path / "tables" / "table-2-gpu-tpu-robust.md").exists()  # the paper measured first calls alone
