"""The end of a report: findings in plain sentences, the page, and what to type next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.unit.host.predicted_study import on_tpu, predicted_result, predicted_run

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Make = Callable[..., Document]
Command = Callable[..., Result]


@pytest.fixture
def runs(write: Write, make_run: Make, make_result: Make) -> Path:
    """A TPU that was measured, another that was predicted, and a CPU of two versions."""
    failed = make_result("torch.dot", outcome="failed", category="type")
    write("runs/tpu.json", on_tpu([make_result("torch.cat"), failed]))
    predicted = [predicted_result("torch.cat"), predicted_result("torch.sort", verdict="refused", category="type")]
    write("runs/predicted.json", predicted_run(predicted))
    write("runs/old.json", make_run([make_result("torch.cat")], target="torch-2.8.0-cpu"))
    return write("runs/cpu.json", make_run([make_result("torch.cat"), make_result("torch.dot")])).parent


@pytest.fixture
def end(runs: Path, portbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines from the heading of the findings on."""
    monkeypatch.setenv("COLUMNS", "300")
    shown = portbench("report", runs, "-o", tmp_path / "report").stdout.splitlines()
    return (
        [line.strip() for line in shown[shown.index("Findings".ljust(300).rstrip()) :]]
        if "Findings" in shown
        else shown
    )


def test_measured_and_predicted_devices_have_sentences_of_their_own(end: list[str]) -> None:
    assert end[1:5] == [
        "- Measured on a TPU v3-8 (tpu-vm): all tests pass for 1 of 2 PyTorch 2.9.0 functions (50 %).",
        (
            "- Predicted for a TPU v3, nothing ran there: all tests are accepted for 1 of 2 PyTorch 2.9.0 functions "
            "(50 %)."
        ),
        (
            "- Measured on torch-2.9.0-tpu: 1 function with failing tests, most often because of a data type that the "
            "device does not take (1)."
        ),
        (
            "- Measured on the CPU of box: all tests pass for 1 of 1 PyTorch 2.8.0 functions (100 %) and 2 of 2 "
            "PyTorch 2.9.0 functions (100 %)."
        ),
    ]
    assert sum(line.startswith("- ") for line in end) == 5


def test_wrong_values_are_named_as_the_cause(
    portbench: Command, write: Write, make_run: Make, make_result: Make, tmp_path: Path
) -> None:
    error = {"type": "runners.core.compare.Mismatch", "message": "wrong value: 1", "traceback": "", "causes": []}
    failed = {"outcome": "failed", "phase": "compare", "category": "other", "error": error, "value_verdict": "wrong"}
    path = write("runs/gpu.json", make_run([make_result("torch.dot", **failed)], target="torch-2.9.0-gpu"))
    shown = portbench("report", path.parent, "-o", tmp_path / "report").stdout
    assert "1 function with failing tests, most often because of wrong values (1)." in " ".join(shown.split())


def test_the_report_ends_with_the_page_and_what_to_type_next(end: list[str], runs: Path, tmp_path: Path) -> None:
    assert end[-3].startswith(f"wrote {tmp_path}/report/index.html, report.md, ")
    assert end[-2:] == [
        f"next: portbench explain {runs} torch.dot",
        f"next: portbench compare torch-2.8.0-cpu@box torch-2.9.0-cpu@box --study {runs}",
    ]


def test_the_markdown_links_every_file_and_names_figures_without_data(end: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "report"
    text = (folder / "report.md").read_text("utf-8")
    files = [path.relative_to(folder).as_posix() for path in (*folder.glob("tables/*"), *folder.glob("figures/*"))]
    assert len(files) > 10
    assert [name for name in files if f"]({name})" not in text] == []
    assert "figures that are not drawn:" in text
    assert "newer-hardware-robust: " in text


def test_a_report_of_many_headlines_begins_with_twelve(
    write: Write, make_run: Make, make_result: Make, portbench: Command, tmp_path: Path
) -> None:
    for number in range(10):
        write(f"many/{number}.json", make_run([make_result("torch.cat")], machine=f"box{number}"))
    portbench("report", tmp_path / "many", "-o", tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    headlines = text.partition("## Headlines\n")[2].partition("\n## ")[0]
    assert headlines.count("\n- ") == 12
    rest = text.partition("## More headlines\n")[2]
    assert rest.count("| failing tests |") + headlines.count("\n- Robust") == 10
