"""Time against size: from run files to tables, figures and a CSV, through ``portbench scaling``."""

from __future__ import annotations

import csv
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from portbench.cli import cli
from portbench.scaling.crossover import pairs
from portbench.scaling.read import read_scaling

Document = dict[str, Any]
Make = Callable[..., Document]

SIZES = (1000, 10_000, 100_000)
ADD = "torch.add"


def command(*words: object) -> Result:
    return CliRunner(env={"COLUMNS": "300"}).invoke(cli, [str(word) for word in words])


@pytest.fixture
def sized(make_result: Make, make_call: Make) -> Make:
    """The result of one size, whose calls took ``ms`` each in one run."""

    def make(n: int, ms: float, function: str = ADD, run: int = 1, **facts: Any) -> Document:
        call = make_call(block_ns=tuple(round(ms * 1e6 * 10) for _ in range(3)), calls_per_block=10) | {"cold": None}
        size = {"n": n, "of": "elements", "flops": float(n), "bytes": 12 * n}
        return make_result(function=function, test=f"sizes[n={n}]", run=run, calls=[call], size=size) | facts

    return make


@pytest.fixture
def sizes(make_run: Make, write: Callable[[str, Any], Path]) -> Callable[..., Path]:
    """Writes a run file of the protocol scaling."""

    def make(name: str, results: list[Document], device: str = "cpu", **changes: Any) -> Path:
        document = make_run(results, target=f"torch-2.9.0-{device}", manifest="scaling-torch", **changes)
        document["protocol"]["name"] = "scaling"
        return write(f"results/{name}.json", document)

    return make


@pytest.fixture
def crossing(sizes: Callable[..., Path], sized: Make) -> Path:
    """On xla a call takes 0.12 ms at least; on the CPU 10 us for 1,000 elements, and in proportion."""
    cpu = [sized(n, n / 1e5, run=run) for n in SIZES for run in (1, 2, 3)]
    xla = [sized(n, 0.12 + n / 1e6, run=run) for n in SIZES for run in (1, 2, 3)]
    sizes("cpu", cpu)
    return sizes("xla", xla, device="xla").parent


def test_the_crossover_is_where_the_ratio_is_one(crossing: Path) -> None:
    (pair,) = pairs(read_scaling([crossing]))
    # The baseline comes first: xla before cpu.
    assert [pair.first.key.device, pair.second.key.device] == ["xla", "cpu"]
    (found,) = pair.comparisons
    assert [round(each.ratio, 3) for each in found.ratios] == [12.1, 1.3, 0.22]
    assert [each.faster for each in found.ratios] == [2, 2, 1]
    # Between 10,000 (1.3) and 100,000 (0.22) on logarithms: 10^(4 + ln 1.3 / ln 5.91).
    assert found.faster_from == pytest.approx(10 ** (4 + 0.14769), rel=1e-3)


def test_imprecise_values_have_a_time_and_others_that_fail_have_none(sizes: Callable[..., Path], sized: Make) -> None:
    error = {"type": "runners.core.compare.Mismatch", "message": "other values", "traceback": "", "causes": []}
    failed = {"outcome": "failed", "phase": "compare", "error": error}
    results = [sized(1000, 1.0, **failed, category="precision"), sized(10_000, 1.0, **failed, category="other")]
    (side,) = read_scaling([sizes("cpu", results).parent]).sides
    (points,) = side.points.values()
    assert [(point.median_ns, point.outcome) for point in points] == [(1e6, "failed"), (None, "failed")]


def test_a_difference_that_the_runs_do_not_agree_on_is_not_clear(sizes: Callable[..., Path], sized: Make) -> None:
    sizes("cpu", [sized(1000, ms, run=run) for run, ms in ((1, 1.0), (2, 2.0), (3, 2.1))])
    folder = sizes("xla", [sized(1000, ms, run=run) for run, ms in ((1, 1.5), (2, 1.5), (3, 1.5))], "xla").parent
    (pair,) = pairs(read_scaling([folder]))
    (ratio,) = pair.comparisons[0].ratios
    assert ratio.ratio == pytest.approx(0.75)
    assert ratio.faster == 0


def test_the_tables_say_who_is_faster_at_which_size(crossing: Path) -> None:
    shown = command("scaling", crossing)
    assert shown.exit_code == 0, shown.output
    assert "1 function: torch-2.9.0-xla is faster at every size in 0, torch-2.9.0-cpu in 0," in shown.output
    assert re.search(r"10 kB to 100 kB +1 +0 +1 +0", shown.output)
    assert re.search(r"1 MB to 10 MB +1 +1 +0 +0", shown.output)
    assert re.search(r"torch\.add +torch-2\.9\.0-xla, from 14,000 on", shown.output)
    # 1.2 MB in 1 ms on the CPU. Its operations are the most that were measured there: 100 % of the peak.
    assert re.search(r"torch\.add +torch-2\.9\.0-cpu +elements +100,000 +1\.00 +1\.20 +0\.100 +100\.0", shown.output)


def test_the_peak_is_that_of_the_device_where_it_is_known(sizes: Callable[..., Path], sized: Make) -> None:
    path = sizes("cpu", [sized(1000, 0.01)])
    text = path.read_text("utf-8")
    path.write_text(text.replace('"tf32": false', '"peak_bytes_per_s": 12e9, "peak_flops_per_s": 1e12'), "utf-8")
    shown = command("scaling", path)
    # 12 kB in 10 us are 1.2 GB/s: a tenth.
    assert re.search(r"1\.20 +0\.100 +10\.0", shown.output), shown.output


def test_as_json(crossing: Path) -> None:
    shown = command("scaling", crossing, "--json")
    data = json.loads(shown.output)
    assert [target["device"] for target in data["targets"]] == ["cpu", "xla"]
    assert data["targets"][0]["functions"][0]["points"][0]["median_ns"] == pytest.approx(1e4)
    (pair,) = data["pairs"]
    (one,) = pair["functions"]
    assert (one["function"], one["faster"], one["at_every_size"]) == (ADD, "torch-2.9.0-xla", False)
    assert [each["faster"] for each in one["sizes"]] == ["torch-2.9.0-cpu", "torch-2.9.0-cpu", "torch-2.9.0-xla"]


def test_files_of_a_report(crossing: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    shown = command("scaling", crossing, "-o", out)
    assert shown.exit_code == 0, shown.output
    assert sorted(path.name for path in out.rglob("*.*") if not path.name.startswith(".")) == [
        "scaling-torch-1.png",
        "scaling-torch-1.svg",
        "scaling.csv",
        "scaling.md",
    ]
    rows = list(csv.DictReader((out / "scaling.csv").read_text("utf-8").splitlines()))
    assert len(rows) == 2 * len(SIZES)
    first = rows[0]
    assert (first["device"], first["n"], first["runs"], first["bytes"]) == ("cpu", "1000", "3", "12000")
    assert float(first["median_ns"]) == pytest.approx(1e4)
    marks = {each.get("id") for each in ET.parse(out / "figures" / "scaling-torch-1.svg").iter()}
    assert {"line-0-0", "line-0-1"} <= marks
    before = {path.name: path.read_bytes() for path in (out / "figures").iterdir()}
    assert command("scaling", crossing, "-o", out).exit_code == 0
    assert {path.name: path.read_bytes() for path in (out / "figures").iterdir()} == before
    assert "![Time against size" in (out / "scaling.md").read_text("utf-8")


def test_a_size_that_failed_has_no_time_and_is_listed(sizes: Callable[..., Path], sized: Make) -> None:
    error = {"type": "RuntimeError", "message": "out of memory\nand more", "traceback": "", "causes": []}
    facts = {"outcome": "failed", "phase": "call", "category": "memory", "error": error, "calls": []}
    path = sizes("cpu", [sized(1000, 0.01), sized(10_000, 1.0, **facts)])
    shown = command("scaling", path)
    assert re.search(r"torch\.add +torch-2\.9\.0-cpu +10,000 +elements +failed +out of memory", shown.output), (
        shown.output
    )
    assert re.search(r"elements +1,000 +0\.0100 +1\.20", shown.output)


def test_a_predicted_target_has_a_lower_bound_and_is_in_no_comparison(
    sizes: Callable[..., Path], sized: Make, make_run: Make
) -> None:
    figures = {"compile_ns": 10, "flops": 1000.0, "bytes": 12_000.0, "memory_bytes": None, "roofline_ns": 15.0}
    prediction = {"verdict": "accepted", "reason": None, **figures}
    result = sized(1000, 1.0, calls=[], prediction=prediction)
    result["size"]["bytes"] = None
    kind = {"kind": "compiled", "compiler": "libtpu 0.0.52", "topology": "v5e:2x2"}
    path = sizes("tpu", [result], "tpu-v5e")
    document = path.read_text("utf-8")
    path.write_text(
        document.replace('"environment"', f'"prediction": {kind}, "environment"'.replace("'", '"'), 1), "utf-8"
    )
    sizes("cpu", [sized(1000, 1.0)])
    shown = command("scaling", path.parent)
    assert shown.exit_code == 0, shown.output
    assert "against" not in shown.output
    assert re.search(r"torch\.add +torch-2\.9\.0-tpu-v5e +elements +1,000 +1\.5e-05 +0\.0120", shown.output), (
        shown.output
    )


def test_other_run_files_are_refused_by_name_and_skipped_in_a_folder(
    crossing: Path, make_run: Make, write: Callable[[str, Any], Path]
) -> None:
    other = write("results/other.json", make_run())
    assert command("scaling", crossing).exit_code == 0
    refused = command("scaling", other)
    assert "$.protocol.name: expected 'scaling', found 'both'" in str(refused.exception)


def test_a_folder_without_sizes_is_refused(make_run: Make, write: Callable[[str, Any], Path]) -> None:
    folder = write("results/other.json", make_run()).parent
    refused = command("scaling", folder)
    assert "no run file of the protocol scaling" in str(refused.exception)


def test_two_contents_of_a_manifest_are_refused(sizes: Callable[..., Path], sized: Make) -> None:
    sizes("one", [sized(1000, 1.0)])
    path = sizes("two", [sized(1000, 1.0)], "xla")
    path.write_text(path.read_text("utf-8").replace("a" * 64, "c" * 64), "utf-8")
    assert "two contents" in str(command("scaling", path.parent).exception)


def test_a_study_has_no_sizes(
    crossing: Path, make_run: Make, write: Callable[[str, Any], Path], tmp_path: Path
) -> None:
    refused = command("merge", crossing / "cpu.json", "-o", tmp_path / "study")
    assert "$.protocol.name: expected cold, steady or both, found 'scaling'" in str(refused.exception)
    write("results/other.json", make_run())
    merged = command("merge", crossing, "-o", tmp_path / "study")
    assert merged.exit_code == 0, merged.exception
    assert ADD not in (tmp_path / "study" / "study.json").read_text("utf-8")
