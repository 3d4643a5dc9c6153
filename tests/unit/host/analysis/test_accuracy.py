"""Predictions against measurements: agreements, missed failures, false alarms, and tests that are counted apart."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.analysis.accuracy import Accuracy, counterparts, match_predictions
from portbench.analysis.configurations import Configuration
from portbench.devices import PREDICTED_DEVICES
from tests.unit.host.conftest import result_document, run_document
from tests.unit.host.opened_study import opened
from tests.unit.host.predicted_study import on_tpu, predicted_result, predicted_run, reported

Document = dict[str, Any]
Write = Callable[[str, Any], Path]

HOST = {"verdict": "mixed", "evidence": ["aten::sort on cpu"], "host_operations": ["aten::sort"]}
ON_CPU_TOO = {"outcome": "failed", "reason": None, "category": "other", "error": None}

# Each test: what is predicted, what was measured.
TESTS: dict[str, tuple[Document, Document]] = {
    "agreement": ({"verdict": "refused"}, {"outcome": "failed"}),
    "other": ({"verdict": "refused"}, {"outcome": "failed", "category": "memory"}),
    "missed": ({}, {"outcome": "crashed"}),
    "alarm": ({"verdict": "refused"}, {}),
    "both": ({}, {}),
    "unknown": ({"verdict": "unknown"}, {"outcome": "failed"}),
    "skipped": ({}, {"outcome": "skipped"}),
    "cpu_control": ({}, {"outcome": "failed", "cpu_control": ON_CPU_TOO}),
    "on_cpu": ({}, {"outcome": "failed"}),
    "host": ({"placement": HOST}, {"placement": HOST}),
    "host_missed": ({}, {"placement": HOST}),
    "host_alarm": ({"placement": HOST}, {}),
    "host_unseen": ({"placement": HOST | {"verdict": "unknown"}}, {"placement": HOST}),
}


def documents() -> list[Document]:
    """One function, predicted, measured, and of one test on the CPU."""
    predicted = [predicted_result(test=test, **facts) for test, (facts, _) in TESTS.items()]
    seen = [result_document(test=test, **facts) for test, (_, facts) in TESTS.items()]
    on_cpu = [result_document(test="on_cpu", outcome="failed"), result_document(test="alarm")]
    flaky = result_document(test="flaky"), result_document(test="flaky", run=2, outcome="failed")
    return [
        predicted_run([*predicted, predicted_result(test="flaky"), predicted_result(test="only predicted")]),
        on_tpu([*seen, *flaky]),
        predicted_run([predicted_result()], target="torch-2.9.0-tpu-v5e"),
        run_document(on_cpu),
    ]


def test_each_test_has_the_outcome_of_prediction_and_measurement(tmp_path: Path) -> None:
    with opened(documents(), tmp_path) as connection:
        (found,) = match_predictions(connection)
    assert (found.predicted.device, found.measured.device, found.model) == ("tpu-v3", "tpu", "TPU v3-8")
    assert {test.test: test.outcome for test in found.tests} == {
        "agreement": "agreement",
        "other": "agreement",
        "missed": "missed",
        "alarm": "false alarm",
        "both": "both pass",
        "unknown": "not predicted",
        "skipped": "not run",
        "cpu_control": "fails on the CPU too",
        "on_cpu": "fails on the CPU too",
        "flaky": "flaky",
        **dict.fromkeys(("host", "host_missed", "host_alarm", "host_unseen"), "both pass"),
    }
    assert found.same_category == 1
    assert {test.test: test.placement for test in found.tests if test.placement} == {
        "both": "both pass",
        "host": "agreement",
        "host_missed": "missed",
        "host_alarm": "false alarm",
    }


def test_a_failure_on_the_cpu_of_another_version_excuses_nothing(tmp_path: Path) -> None:
    runs = [
        predicted_run([predicted_result()]),
        on_tpu([result_document(outcome="failed")]),
        run_document([result_document(outcome="failed")], target="torch-2.8.0-cpu"),
    ]
    with opened(runs, tmp_path) as connection:
        (found,) = match_predictions(connection)
    assert found.failures == Accuracy(agreements=0, missed=1, false_alarms=0, both_pass=0)


@pytest.mark.parametrize(
    ("model", "device"),
    [
        ("TPU v2-8", "tpu-v2"),
        ("TPU v3", "tpu-v3"),
        ("TPU v3-8", "tpu-v3"),
        ("TPU v4-16", "tpu-v4"),
        ("TPU v5 lite", "tpu-v5e"),
        ("TPU v5litepod-4", "tpu-v5e"),
        ("TPU v5e", "tpu-v5e"),
        ("TPU v5", "tpu-v5p"),
        ("TPU v5p-8", "tpu-v5p"),
        ("TPU v6 lite", "tpu-v6e"),
        ("TPU v6e-1", "tpu-v6e"),
        ("TPU7x", "tpu7x"),
        ("TPU v2 or v3", None),
        ("TPU v4 lite", None),
        (None, None),
    ],
)
def test_a_prediction_is_compared_with_tpus_of_its_generation(model: str | None, device: str | None) -> None:
    measured = Configuration("jax", "0.10.2", "tpu", "box")
    predicted = [Configuration("jax", "0.10.2", name, "laptop") for name in PREDICTED_DEVICES]
    found = counterparts(predicted, [measured], {measured: model})
    assert [side.device for side, _ in found] == ([device] if device else [])


def test_a_predicted_gpu_is_one_of_cuda() -> None:
    t4, mi300, tpu = (
        Configuration("jax", "0.10.2", device, name) for device, name in (("gpu", "a"), ("gpu", "b"), ("tpu", "c"))
    )
    predicted = Configuration("jax", "0.10.2", "gpu-predicted", "laptop")
    models = {t4: "Tesla T4", mi300: "AMD Instinct MI300X", tpu: "TPU v3"}
    assert counterparts([predicted], models, models) == [(predicted, t4)]


def test_the_same_version_comes_before_others_and_the_complete_wait_before_the_papers() -> None:
    predicted = Configuration("torch", "2.9.0", "tpu-v3", "laptop")
    own, older, newer = (Configuration("torch", version, "tpu", "vm") for version in ("2.9.0", "1.12.0", "2.10.0"))
    by_study = Configuration("torch", "2.9.0", "tpu", "vm", "study")
    other = Configuration("jax", "2.9.0", "tpu", "vm")
    models = dict.fromkeys((own, older, newer, by_study, other), "TPU v3-8")
    assert counterparts([predicted], models, models) == [(predicted, own)]
    assert counterparts([predicted], [by_study, older], models) == [(predicted, by_study)]
    assert counterparts([predicted], [older, newer, other], models) == [(predicted, older), (predicted, newer)]


def test_report_and_tables_name_wrong_predictions(write: Write, tmp_path: Path) -> None:
    for number, document in enumerate(documents()):
        write(f"runs/{number}.json", document)
    tables = tmp_path / "tables"
    text = reported(tmp_path / "runs", tables)
    assert (
        "| `torch-2.9.0-tpu-v3` | `torch-2.9.0-tpu` | `tpu-vm` | failures | TPU v3-8 | missed: crash 1; 1 of 2 "
        "agreements of the same category; not predicted 1; not run 1; flaky 1; fails on the CPU too 2 | 9 | 2 | 1 | 1 "
        "| 5 | 66.7 | 66.7 |"
    ) in text
    for test, what in (
        ("missed", "missed failure"),
        ("alarm", "false alarm"),
        ("host_missed", "missed: work on the host"),
    ):
        assert f"| `torch-2.9.0-tpu-v3` | `torch-2.9.0-tpu` | `torch.cat` | `{test}` | {what} |" in text
    with (tables / "accuracy-predicted-against-measured.csv").open(newline="") as file:
        failures, placed = csv.DictReader(file)
    assert [failures[name] for name in ("tests", "agreements", "missed", "false_alarms", "both_pass")] == list("92115")
    assert (failures["of"], failures["not_predicted"], failures["fails_on_the_CPU_too"]) == ("failures", "1", "2")
    assert [placed[name] for name in ("tests", "agreements", "missed", "false_alarms", "both_pass")] == list("41111")
    with (tables / "tests-predicted-against-measured.csv").open(newline="") as file:
        listed = {row["test"]: row for row in csv.DictReader(file)}
    assert "both" not in listed
    assert (listed["missed"]["outcome"], listed["missed"]["measured_category"]) == ("missed", "crash")
    assert listed["alarm"]["predicted_message"] == "it does not work"
    assert listed["host_alarm"]["placement"] == "false alarm"
