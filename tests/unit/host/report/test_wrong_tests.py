"""Tests that are wrong themselves come first in reports and explanations, and no rate counts their errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from portbench.analysis.pairing import pair, pair_exclusions
from portbench.analysis.rates import rates
from portbench.explain.texts import CHECK_EXPECTED, WRONG_TEST
from portbench.study.open import analysed, study_of
from tests.unit.host.conftest import result_document, run_document

Write = Callable[[str, Any], Path]
Command = Callable[..., Result]


@pytest.fixture
def results(write: Write) -> Path:
    """One test passes, one is an error of the manifest, one differs from its expected value as on the CPU."""
    message = "wrong value: 1 of 1 values differ"
    unexpected = {"type": "runners.core.compare.Mismatch", "message": message, "traceback": "", "causes": []}
    found = [
        result_document(test="good"),
        result_document(test="mistaken", outcome="error"),
        result_document("torch.add", "expects", outcome="failed", error=unexpected, value_verdict="unexpected"),
    ]
    write("r/xla.json", run_document(found, target="torch-2.9.0-xla"))
    return write("r/cpu.json", run_document([result_document(test="good"), result_document(test="mistaken")])).parent


def test_an_error_of_the_manifest_counts_in_no_rate_and_is_excluded_with_its_reason(results: Path) -> None:
    with study_of([str(results)]) as study, analysed(study) as found:
        sides = rates(found.connection)
        xla = next(side for side in sides if side.device == "xla")
        cpu = next(side for side in sides if side.device == "cpu")
        assert sides[xla].by_function.counts["all_pass"] == 1
        assert (sides[xla].robust.failed, sides[xla].robust.tests) == (1, 2)
        (excluded,) = sides[xla].exclusions
        pair(found.connection, xla, cpu)
        reasons = [each.reason for each in pair_exclusions(found.connection, "not_shared", xla, cpu)]
    assert (excluded.function, excluded.tests) == ("torch.cat", 1)
    assert excluded.reason == "an error of the manifest (flot32)"
    assert any(reason.startswith("an error of the manifest on ") for reason in reasons)


def test_the_report_begins_with_the_wrong_tests_and_calls_none_of_them_wrong_values(
    results: Path, portbench: Command
) -> None:
    said = portbench("report", results).stdout
    first, second = said.index("Check these tests first"), said.index("Percent of functions")
    assert first < second
    table = said[first:second]
    assert "mistaken" in table
    assert "expects" in table
    assert CHECK_EXPECTED in " ".join(table.split())
    assert "Wrong values" not in said
    summary = json.loads(portbench("report", results, "--json").stdout)
    (xla,) = [entry for entry in summary["targets"] if entry["target"]["device"] == "xla"]
    by_name = {function["name"]: function for function in xla["functions"]}
    assert by_name["torch.cat"]["tests_by_verdict"]["error"] == 1
    assert by_name["torch.cat"]["status"] == "all_pass"
    assert by_name["torch.add"]["tests_by_value_verdict"] == {"unexpected": 1}
    assert by_name["torch.add"]["wrong_values"] == []
    assert summary["failures"] != []
    assert all("flot32" not in cause["cause"] for cause in summary["failures"])


def test_explain_says_whose_mistake_it_is(results: Path, portbench: Command) -> None:
    said = " ".join(portbench("explain", results, "torch.cat").stdout.split())
    assert "1 error" in said
    assert WRONG_TEST in said
    assert CHECK_EXPECTED in " ".join(portbench("explain", results, "torch.add").stdout.split())


def test_a_test_of_which_only_some_runs_are_errors_is_judged_by_the_others(write: Write) -> None:
    runs = [result_document(run=1, outcome="error"), result_document(run=2), result_document(run=3)]
    path = write("r/run.json", run_document(runs))
    with study_of([str(path)]) as study:
        (entry,) = study.summary["targets"]
    assert entry["functions"][0]["tests_by_verdict"]["passed"] == 1
