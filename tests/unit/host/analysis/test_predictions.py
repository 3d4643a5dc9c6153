"""Predicted targets in all outputs: apart from what was measured, marked, with figures and reasons."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from portbench.analysis.predictions import PredictedFunction, kind_of_reason, read_predictions
from portbench.analysis.results import compute_results
from portbench.errors import BadInput
from portbench.figures.data import names_of, rated_sides
from portbench.formats.documents import read_document
from portbench.report.headlines import build_headlines
from portbench.study.open import analysed, study_of
from tests.unit.host.conftest import result_document, run_document
from tests.unit.host.opened_study import opened
from tests.unit.host.predicted_study import UNTRACED, on_tpu, predicted_result, predicted_run, reported

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Command = Callable[..., Result]

SMALL = {"compile_ns": 2_000_000, "flops": 192.0, "bytes": 9216.0, "memory_bytes": 8192, "roofline_ns": 20.5}
LARGE = {"compile_ns": 3_000_000, "flops": 4e6, "bytes": 2048.0, "memory_bytes": 2_097_152, "roofline_ns": 1250.0}


def predicted() -> Document:
    """Of torch on a TPU v3: one function with each verdict and figures, one of which nothing is known."""
    return predicted_run(
        [
            predicted_result(test="small", figures=SMALL),
            predicted_result(test="large", figures=LARGE),
            predicted_result(test="refused", verdict="refused"),
            predicted_result(test="unknown", verdict="unknown"),
            predicted_result("torch.unique", verdict="unknown"),
            predicted_result("torch.sort", verdict="refused"),
        ],
        machine="laptop",
    )


def measured() -> list[Document]:
    """The same version on the CPU and on a TPU v3."""
    results = [result_document(test=test, run=run) for test in ("small", "large", "refused") for run in (1, 2)]
    return [run_document(results), on_tpu([*results, result_document("torch.sort", outcome="failed")])]


def test_tests_figures_and_reasons_of_each_predicted_target(tmp_path: Path) -> None:
    with opened([predicted(), *measured()], tmp_path) as connection:
        (found,) = read_predictions(connection)
    assert (found.side.device, found.sources) == ("tpu-v3", ("compiled by libtpu 0.0.42.1 for v3:2x2",))
    assert found.tests == {"accepted": 2, "refused": 2, "unknown": 2}
    assert found.reasons == {"the call cannot be traced as one program: TracerBoolConversionError": 2}
    assert found.functions["torch.cat", ""] == PredictedFunction(
        accepted=2,
        refused=1,
        unknown=1,
        compile_ns=5_000_000,
        flops=4e6,
        bytes=9216.0,
        memory_bytes=2_097_152,
        roofline_ns=1250.0,
    )
    assert found.functions["torch.unique", ""].flops is None


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (UNTRACED, "the call cannot be traced as one program: TracerBoolConversionError"),
        (
            "the test does not pass on the stand-in cpu: a.b.Mismatch",
            "the test does not pass on the stand-in cpu: a.b.Mismatch",
        ),
        ("the call names devices: of this machine", "the call names devices"),
        ("the test makes no timed call", "the test makes no timed call"),
        ("", ""),
    ],
)
def test_reasons_are_counted_by_what_they_have_in_common(reason: str, kind: str) -> None:
    assert kind_of_reason(reason) == kind


def test_predictions_change_nothing_of_what_was_measured(write: Write, tmp_path: Path) -> None:
    for number, document in enumerate(measured()):
        write(f"runs/{number}.json", document)
    found = []
    for name in ("without", "with"):
        text = reported(tmp_path / "runs", tmp_path / name)
        # README.md lists the tables of predictions too.
        tables = {path.name: path.read_bytes() for path in (tmp_path / name).glob("table-*")}
        with study_of([str(tmp_path / "runs")]) as study, analysed(study) as shown:
            results = compute_results(shown.connection)
            figures = rated_sides(results, names_of(results))
            found.append((tables, [headline.sentence for headline in build_headlines(results)], figures, text))
        write("runs/predicted.json", predicted())
    assert found[0][:3] == found[1][:3]
    assert len(found[0][0]) > 5
    assert "predicted" not in found[0][3]
    assert "| `torch-2.9.0-tpu` | `tpu-vm` | 50.0 | 0.0 | 50.0 | 2 | 0 | 0 | - |" in found[1][3]


def test_the_report_shows_predicted_targets_apart(write: Write, tmp_path: Path) -> None:
    for number, document in enumerate([predicted(), *measured()]):
        write(f"runs/{number}.json", document)
    tables = tmp_path / "tables"
    text = reported(tmp_path / "runs", tables)
    lines = text.splitlines()
    apart = lines[lines.index("## Percent of functions, predicted") :]
    assert "| torch-2.9.0-tpu-v3 (predicted) | `laptop` | 0.0 | 50.0 | 50.0 | 3 | 1 | 0 |" in apart
    own = lines[lines.index("## torch-2.9.0-tpu-v3 (predicted) on `laptop`") :]
    assert "| function | status | ran on | tests accepted | unknown | memory KiB | MFLOPs | at least µs |" in own
    assert "| `torch.cat` | some fail | device | 2/3 | 1 | 2,048 | 4.00 | 1.25 |" in own
    assert "| `torch.unique` | not testable | - | - | 1 | - | - | - |" in own
    assert "a lower bound of the time, not measured" in text
    assert "the call cannot be traced as one program: TracerBoolConversionError (2)" in text
    assert "## Failures by cause, predicted" in lines
    heading = (tables / "predicted-table-8-paper-method.md").read_text("utf-8").splitlines()[0]
    assert heading.startswith("# Predicted, nothing ran: Table 8")
    with (tables / "functions-predicted.csv").open(newline="") as file:
        rows = {row["function"]: row for row in csv.DictReader(file)}
    assert (rows["torch.cat"]["memory_bytes"], rows["torch.unique"]["unknown"]) == ("2097152", "1")


def test_measured_and_predicted_failures_are_counted_apart(write: Write, portbench: Command, tmp_path: Path) -> None:
    for number, document in enumerate([predicted(), *measured()]):
        write(f"runs/{number}.json", document)
    assert portbench("merge", tmp_path / "runs", "-o", tmp_path / "study").exit_code == 0
    failures = read_document(tmp_path / "study" / "study.json", "study").data["failures"]
    assert [(cause["predicted"], cause["tests"], cause["targets"]) for cause in failures] == [
        (True, 2, ["torch-2.9.0-tpu-v3"]),
        (False, 1, ["torch-2.9.0-tpu"]),
    ]


def test_explain_shows_the_prediction(write: Write, portbench: Command) -> None:
    path = write("runs/predicted.json", predicted())
    shown = portbench("explain", path, "torch.cat", "--test", "large")
    assert shown.exit_code == 0, shown.output
    assert "torch.cat on torch-2.9.0-tpu-v3 (predicted), laptop: some fail" in shown.output
    words = " ".join(shown.output.split())
    assert "predicted accepted" in words
    assert "needs 3.00 ms to compile on this host, 4,000,000 FLOPs, 2.00 KiB moved, 2,048 KiB of memory" in words
    assert "at least 1.25 µs (roofline: a lower bound, not measured)" in words
    assert "predicted compiled by libtpu 0.0.42.1 for v3:2x2" in words
    assert "portbench run torch-2.9.0-tpu-v3 " in words
    everything = json.loads(portbench("explain", path, "torch.cat", "--json").output)
    (refused,) = [test for test in everything["targets"][0]["tests"] if test["id"] == "refused"]
    assert refused["results"][0]["prediction"]["verdict"] == "refused"


def test_a_bundle_says_that_no_device_was_there(
    write: Write, portbench: Command, manifest: Document, tmp_path: Path
) -> None:
    given = write("manifest/torch.json", manifest)
    document = predicted_run([predicted_result("torch.argsort", "stable", verdict="refused")])
    document["manifest"]["sha256"] = read_document(given).sha256
    document["environment"] |= {"container": "docker", "image_digest": "sha256:" + "d" * 64}
    path = write("runs/predicted.json", document)
    done = portbench("explain", path, "torch.argsort", "--manifest", given, "--bundle", tmp_path / "bundle")
    assert done.exit_code == 0, done.output
    report = (tmp_path / "bundle" / "report.md").read_text("utf-8")
    assert report.startswith("# torch.argsort on tpu-v3 (predicted): it does not work\n")
    assert "No such device was available: this was compiled by libtpu 0.0.42.1 for v3:2x2." in report
    # The image is one for all TPUs.
    assert f"sha256:{'d' * 64} --device tpu-v3 --manifest" in (tmp_path / "bundle" / "reproduce.sh").read_text()


def test_a_prediction_is_not_compared_with_a_measurement(write: Write, portbench: Command, tmp_path: Path) -> None:
    for number, document in enumerate([predicted(), *measured()]):
        write(f"runs/{number}.json", document)
    result = portbench("compare", "torch-2.9.0-tpu-v3", "torch-2.9.0-tpu", "--study", tmp_path / "runs")
    assert isinstance(result.exception, BadInput)
    assert "one was predicted and the other measured" in str(result.exception)


def test_two_predictions_are_compared_and_marked(write: Write, portbench: Command, tmp_path: Path) -> None:
    write("runs/old.json", predicted_run([predicted_result(verdict="refused")], target="torch-2.8.0-tpu-v3"))
    write("runs/new.json", predicted_run([predicted_result()]))
    # On the CPU both versions were measured: no device to compare a prediction with.
    for version in ("2.8.0", "2.9.0"):
        write(f"runs/cpu-{version}.json", run_document([result_document()], target=f"torch-{version}-cpu"))
    result = portbench("compare", "torch-2.8.0-tpu-v3", "torch-2.9.0-tpu-v3", "--study", tmp_path / "runs", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert len(found["pairs"][0]["new_passes"]) == 1
    assert found["devices"] == []
    shown = portbench("compare", "torch-2.8.0-tpu-v3", "torch-2.9.0-tpu-v3", "--study", tmp_path / "runs")
    assert "torch-2.8.0-tpu-v3 (predicted) on box" in " ".join(shown.output.split())


def test_known_failures_of_a_predicted_target_are_checked(write: Write, portbench: Command) -> None:
    run = write("runs/predicted.json", predicted())
    checked = portbench("check", run)
    assert checked.exit_code == 1, checked.output
    assert "torch.sort" in checked.output
