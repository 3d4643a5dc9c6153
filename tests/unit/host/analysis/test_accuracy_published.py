"""Predictions against the columns of the paper: rates, functions, and what explains the difference."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from portbench.analysis.accuracy_published import outcome, recorded_statuses
from portbench.analysis.results import compute_predictions, compute_results
from portbench.cli import cli
from portbench.published import disagreements, paper
from tests.unit.host.opened_study import listed, opened
from tests.unit.host.predicted_study import predicted_result, predicted_run, reported

Document = dict[str, Any]
Write = Callable[[str, Any], Path]

EIG, SVD, INFEED = "jax.numpy.linalg.eig", "jax.numpy.linalg.svd", "jax.lax.infeed"


def on_jax(device: str = "tpu-v3", version: str = "0.10.2") -> Document:
    """JAX predicted: eig is refused, as published; svd in one of two tests; infeed unknown; one of no sample."""
    results = [
        predicted_result(EIG, verdict="refused", category="not_implemented"),
        predicted_result(SVD, "a"),
        predicted_result(SVD, "b", verdict="refused"),
        predicted_result(INFEED, verdict="unknown"),
        predicted_result("jax.numpy.linalg.lu"),
        predicted_result("jax.scipy.linalg.lu"),
        predicted_result("jax.own"),
    ]
    document = predicted_run(results, target=f"jax-{version}-{device}")
    names = (EIG, SVD, INFEED, "jax.own")
    document["manifest"]["functions"] = [
        *(listed(name, 5, 5, False) for name in names),
        listed("jax.numpy.linalg.lu", 5, 5, False, "jax.numpy.cos"),
        listed("jax.scipy.linalg.lu", None, None, None),
    ]
    return document


@pytest.mark.parametrize(
    ("status", "possible", "found"),
    [
        ("not_testable", {"all_pass"}, "not predicted"),
        ("all_pass", {"all_pass"}, "both pass"),
        ("all_pass", {"all_fail"}, "missed"),
        ("all_pass", {"all_pass", "some_fail"}, "undecided"),
        ("some_fail", {"all_pass"}, "false alarm"),
        ("some_fail", {"all_fail"}, "agreement"),
        ("some_fail", {"all_pass", "some_fail"}, "undecided"),
        ("all_fail", {"all_pass", "some_fail"}, "false alarm"),
        ("all_fail", {"all_fail"}, "agreement"),
        ("all_fail", {"all_pass", "some_fail", "all_fail"}, "undecided"),
    ],
)
def test_a_status_is_compared_with_those_that_the_paper_allows_for(status: str, possible: set[str], found: str) -> None:
    assert outcome(status, frozenset(possible)) == found


def test_what_the_paper_says_of_a_function() -> None:
    tpu = paper.possible_statuses("jax", "tpu")
    assert tpu is not None
    assert {name for name, statuses in tpu.items() if statuses == {"all_fail"}} == {EIG, INFEED}
    assert tpu[SVD] == {"all_pass"}
    gpu = paper.possible_statuses("jax", "gpu")
    assert gpu is not None
    assert gpu[EIG] == {"all_pass", "all_fail"}
    torch = paper.possible_statuses("torch", "tpu")
    assert torch is not None
    assert (torch["torch.argsort"], torch["torch.tensor"]) == (
        {"all_pass", "some_fail"},
        {"all_pass", "some_fail", "all_fail"},
    )
    assert paper.possible_statuses("torch", "cpu") is None


def test_the_authors_reports_give_the_status_of_each_function() -> None:
    gpu, tpu = recorded_statuses("torch", "gpu", "T4"), recorded_statuses("torch", "tpu", "v3-8")
    assert gpu["torch.argsort"] == ("all_pass", "")
    assert gpu["torch.saddmm"] == ("all_fail", "RuntimeError: NYI: CUDA sspaddmm is not implemented")
    assert gpu["torch.distributions.RelaxedOneHotCategorical"][0] == "some_fail"
    assert all(bool(failure) == (status != "all_pass") for status, failure in {**gpu, **tpu}.values())
    assert recorded_statuses("jax", "gpu", "T4") == recorded_statuses("torch", "gpu", "A100") == {}


def test_functions_of_the_sample_are_compared_with_the_published(tmp_path: Path) -> None:
    runs = [on_jax(), on_jax("tpu-v5e"), predicted_run([predicted_result()], target="fake-1.0.0-tpu-v3")]
    with opened(runs, tmp_path) as connection:
        (found,) = compute_predictions(connection).comparisons
    assert (found.device, found.model, found.percent["all_fail"], found.counts["total"]) == ("tpu", "v3-8", 3, 63)
    assert {entry.listed_as: entry.outcome for entry in found.functions} == {
        EIG: "agreement",
        SVD: "false alarm",
        INFEED: "not predicted",
        "jax.numpy.cos": "both pass",
        "jax.scipy.linalg.lu": "both pass",
    }
    assert (found.rates.counts["all_pass"], found.rates.rated) == (2, 4)
    said = " ".join(found.because)
    assert "Versions: jax 0.10.2 here, 0.4.8 in the paper. Predicted: compiled by libtpu 0.0.42.1 for v3:2x2" in said
    assert "1 of 7 tests cannot be predicted" in said
    assert "Tests that are predicted to fail, by category: not implemented 1, other 1." in said
    assert "follows from its counts" in said
    assert "PyTorch" not in said
    assert "torch_xla" not in said


def test_collected_tests_are_not_compared_with_the_published(tmp_path: Path) -> None:
    run = on_jax()
    run["manifest"]["name"] = "collected-jax-0.10.2"
    with opened([run], tmp_path) as connection:
        assert compute_predictions(connection).comparisons == ()
        assert compute_results(connection).is_collected


def test_the_same_version_is_named_once(tmp_path: Path) -> None:
    with opened([on_jax(version="0.4.8")], tmp_path) as connection:
        (found,) = compute_predictions(connection).comparisons
    assert found.because[0].startswith("Versions: jax 0.4.8. Predicted:")


def test_report_and_tables_show_both(write: Write, tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    text = reported(write("run.json", on_jax()), tables)
    assert (
        "| `jax-0.10.2-tpu-v3` | `box` | jax 0.4.8 on v3-8 | agreement 1, both pass 2, false alarm 1, not predicted 1 "
        "| 50.0 | 97 | 25.0 | 0 | 25.0 | 3 | 4 |"
    ) in text
    assert "## Why predicted and published rates differ" in text
    with (tables / "rates-predicted-against-published.csv").open(newline="") as file:
        rows = {row["status"]: row for row in csv.DictReader(file)}
    assert [rows["complete"][name] for name in ("percent", "published_percent", "difference_points")] == [
        "25.0",
        "3",
        "22.0",
    ]
    with (tables / "functions-predicted-against-published.csv").open(newline="") as file:
        functions = {row["function"]: row for row in csv.DictReader(file)}
    assert functions[EIG]["categories"] == "not_implemented"
    assert (functions[SVD]["published_status"], functions[SVD]["passed"], functions[SVD]["ran"]) == (
        "all tests pass",
        "1",
        "2",
    )


def checked(path: Path) -> Result:
    """The report on a run file that ``write`` wrote, with --check-accuracy."""
    return CliRunner().invoke(cli, ["report", str(path), "--check-accuracy"])


def test_a_disagreement_that_nobody_looked_at_is_listed_and_fails_the_check(write: Write, tmp_path: Path) -> None:
    path = write("run.json", on_jax())
    found = checked(path)
    assert found.exit_code == 1
    assert found.stderr == f"not explained: jax-0.10.2-tpu-v3 {SVD}: false alarm\n"
    tables = tmp_path / "tables"
    assert f"| `jax-0.10.2-tpu-v3` | `box` | `{SVD}` | false alarm | 1 of 2 | - | not explained yet | - |" in reported(
        path, tables
    )
    with (tables / "accuracy-predicted-against-published.csv").open(newline="") as file:
        (counts,) = csv.DictReader(file)
    names = ("functions", "agreements", "missed", "false_alarms", "both_pass", "undecided", "not_predicted")
    assert [counts[name] for name in (*names, "unexplained")] == ["5", "1", "0", "1", "2", "0", "1", "1"]


def test_an_explained_disagreement_is_listed_with_cause_and_evidence(write: Write, tmp_path: Path) -> None:
    document = predicted_run([predicted_result("torch.saddmm")], target="torch-1.12.0-gpu-predicted")
    document["manifest"]["functions"] = [listed("torch.saddmm", 2, 2, False)]
    path = write("run.json", document)
    assert checked(path).exit_code == 0
    text = reported(path, tmp_path / "tables")
    assert (
        "| missed | 1 of 1 | RuntimeError: NYI: CUDA sspaddmm is not implemented | kernel without body | Both " in text
    )
    with (tmp_path / "tables" / "functions-predicted-against-published.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["outcome"], row["cause"]) == ("missed", "kernel without body")
    # The same function, predicted for another version, has to be looked at by itself.
    document["target"]["version"] = "2.9.0"
    assert checked(write("newer.json", document)).exit_code == 1


def test_each_explanation_is_of_a_function_and_a_status_that_the_paper_has() -> None:
    rows = disagreements.explanations()
    assert len({(row.target, row.function, row.outcome) for row in rows}) == len(rows) > 0
    assert {row.cause for row in rows} <= set(disagreements.causes())
    for row in rows:
        framework, _, device = row.target.split("-", 2)
        model = "T4" if device.startswith("gpu") else "v3-8"
        status, _ = recorded_statuses(framework, model_kind(model), model)[row.function]
        # A miss passed here and failed there; a false alarm the other way round.
        assert (status == "all_pass") == (row.outcome == "false alarm"), row.function
        assert row.evidence.endswith("."), row.function


def model_kind(model: str) -> str:
    """The device of a model of the paper."""
    return "gpu" if model == "T4" else "tpu"


def test_each_sentence_is_of_a_framework_and_device_of_the_paper() -> None:
    for sentence in paper.explanations():
        assert sentence["framework"] in (None, *paper.FRAMEWORKS)
        assert sentence["device"] in (None, "gpu", "tpu")
        assert sentence["says"].endswith(".")
