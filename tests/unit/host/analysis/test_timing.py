"""Configurations whose timing is unverified, and results whose outcome is not known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.analysis.configurations import Configuration
from portbench.analysis.paper_method import paper_method
from portbench.analysis.rates import rates
from portbench.analysis.results import compute_results
from tests.unit.host.opened_study import opened

Document = dict[str, Any]
Make = Callable[..., Document]
FAILED = {
    "passed": False,
    "reason": "the time did not grow",
    "units": 1,
    "base_ns": 1,
    "grown_ns": 1,
    "ratio": 1.0,
    "left_ns": 0,
}


@pytest.fixture
def models(make_run: Make, make_result: Make, make_call: Make) -> Callable[..., list[Document]]:
    """Run files of two models of a TPU: five functions, which take ``times`` as long on the newer one."""

    def runs(times: int, sync: str = "as-published", **facts: Any) -> list[Document]:
        found = []
        for model, call_ns in (("v2", 1_000), ("v3", 1_000 * times)):
            results = [make_result(f"torch.f{number}", calls=[make_call(call_ns, 0)], **facts) for number in range(5)]
            run = make_run(results, target="torch-1.12.0-tpu", machine=model, sync=sync)
            run["environment"]["device"] = {"model": f"TPU {model}", "accelerator_type": f"{model}-8"}
            found.append(run)
        return found

    return runs


def side(model: str) -> Configuration:
    return Configuration("torch", "1.12.0", "tpu", model, "as-published")


@pytest.mark.parametrize(("times", "unverified"), [(9, []), (11, [side("v2")])])
def test_times_that_are_implausibly_small_against_another_model(
    times: int, unverified: list[Configuration], models: Callable[..., list[Document]], tmp_path: Path
) -> None:
    results = compute_results(opened(models(times), tmp_path))
    assert list(results.unverified) == unverified
    assert [results.unverified_sides(pair) for pair in results.by_model] == [tuple(unverified)]


def test_times_with_the_complete_wait_are_verified(models: Callable[..., list[Document]], tmp_path: Path) -> None:
    assert compute_results(opened(models(1_000, sync="complete"), tmp_path)).unverified == {}


def test_times_that_do_not_grow_with_the_work(models: Callable[..., list[Document]], tmp_path: Path) -> None:
    study = opened(models(1, sync_check=FAILED), tmp_path)
    assert compute_results(study).unverified == dict.fromkeys(
        (side("v2"), side("v3")), "its synchronization check failed: the times do not grow with the work"
    )


def test_a_test_of_unknown_outcome_counts_in_times_and_in_no_rate(
    models: Callable[..., list[Document]], tmp_path: Path
) -> None:
    runs = models(2, outcome=None)
    for run in runs:
        run["imported"] = {"source": "a report", "not_recorded": "outcomes"}
    study = opened(runs, tmp_path)
    assert len(paper_method(study, side("v2"), side("v3")).functions) == 5
    found = rates(study)[side("v2")]
    assert (found.is_timings_only, found.unknown, found.robust.tests, found.by_function.percent) == (True, 5, 0, None)
