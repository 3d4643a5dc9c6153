"""The analysis of the paper, tested by the summary of a merged study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.study.merge import merge

Document = dict[str, Any]
Make = Callable[..., Document]
Summarise = Callable[..., Document]


@pytest.fixture
def summarise(write: Callable[[str, Any], Path], make_run: Make, tmp_path: Path) -> Summarise:
    """The one target of a study with one run file for each list of results."""

    def run(*run_files: list[Document]) -> Document:
        for number, results in enumerate(run_files):
            write(f"runs/{number}.json", make_run(results, started_at=f"2026-11-21T0{number}:00:00Z"))
        (target,) = merge([str(tmp_path / "runs")], tmp_path / "study").study.summary["targets"]
        return target

    return run


def outcomes(make: Make, *outcomes: str, test: str = "rows", function: str = "torch.cat") -> list[Document]:
    """One result for each run."""
    return [make(function, test, run, outcome=outcome) for run, outcome in enumerate(outcomes, 1)]


@pytest.mark.parametrize(
    ("seen", "verdict", "status"),
    [
        (("passed", "passed", "passed"), "passed", "all_pass"),
        (("failed", "failed", "failed"), "failed", "all_fail"),
        (("failed", "timed_out", "crashed"), "failed", "all_fail"),
        (("passed", "failed", "passed"), "flaky", "some_fail"),
        (("crashed", "passed", "passed"), "flaky", "some_fail"),
        (("skipped", "skipped", "skipped"), "skipped", "not_testable"),
        (("error", "error", "error"), "error", "not_testable"),
        (("passed", "skipped", "passed"), "passed", "all_pass"),
        (("failed", "skipped", "failed"), "failed", "all_fail"),
    ],
)
def test_verdict_and_status_of_a_single_test(
    seen: tuple[str, ...], verdict: str, status: str, make_result: Make, summarise: Summarise
) -> None:
    (function,) = summarise(outcomes(make_result, *seen))["functions"]
    assert function["tests_by_verdict"] == {"passed": 0, "failed": 0, "flaky": 0, "skipped": 0, "error": 0} | {
        verdict: 1
    }
    assert function["status"] == status


@pytest.mark.parametrize(
    ("tests", "status"),
    [
        (("passed", "passed"), "all_pass"),
        (("passed", "failed"), "some_fail"),
        (("failed", "crashed"), "all_fail"),
        (("passed", "skipped"), "all_pass"),
        (("timed_out", "skipped"), "all_fail"),
        (("skipped", "skipped"), "not_testable"),
    ],
)
def test_status_over_tests(tests: tuple[str, ...], status: str, make_result: Make, summarise: Summarise) -> None:
    results = [make_result(test=f"t{number}", outcome=outcome) for number, outcome in enumerate(tests)]
    (function,) = summarise(results)["functions"]
    assert function["status"] == status


def test_runs_of_several_run_files_count_together(make_result: Make, summarise: Summarise) -> None:
    target = summarise(outcomes(make_result, "passed"), outcomes(make_result, "failed"))
    assert target["functions"][0]["tests_by_verdict"]["flaky"] == 1


def test_a_failure_of_category_removed_counts_as_not_run(make_result: Make, summarise: Summarise) -> None:
    (function,) = summarise([make_result(outcome="failed", category="removed")])["functions"]
    assert function["status"] == "not_testable"
    assert function["tests_by_category"] == {"removed": 1}
    assert function["skipped"] == [{"reason": "it does not work", "tests": 1}]


def test_rates_are_over_functions_with_a_status(make_result: Make, summarise: Summarise) -> None:
    results = []
    for number, tests in enumerate(["p", "p", "pf", "f", "s", "s"]):
        for test in tests:
            outcome = {"p": "passed", "f": "failed", "s": "skipped"}[test]
            results.append(make_result(f"torch.f{number}", test, outcome=outcome))
    target = summarise(results)
    assert target["functions_by_status"] == {"all_pass": 2, "some_fail": 1, "all_fail": 1, "not_testable": 2}
    assert target["percent_of_rated_functions"] == {"all_pass": 50.0, "some_fail": 25.0, "all_fail": 25.0}


def test_without_any_rated_function_there_is_no_percentage(make_result: Make, summarise: Summarise) -> None:
    target = summarise([make_result(outcome="skipped")])
    assert target["percent_of_rated_functions"] is None
    assert target["functions_by_status"] == {"all_pass": 0, "some_fail": 0, "all_fail": 0, "not_testable": 1}


def test_cold_is_the_mean_of_the_means_of_passing_tests(
    make_result: Make, make_call: Make, summarise: Summarise
) -> None:
    results = [
        # Call and wait count; every test has the same weight, however many calls it times.
        make_result(test="a", run=1, calls=[make_call(100, 20), make_call(200, 0), make_call() | {"cold": None}]),
        make_result(test="a", run=2, calls=[make_call(400, 0)]),
        make_result(test="b", run=1, calls=[make_call(1_000, 0)]),
        # A test that failed in one run gives no time, not even of the run in which it passed.
        make_result(test="flaky", run=1, calls=[make_call(10**9, 0)]),
        make_result(test="flaky", run=2, outcome="failed", calls=[make_call(10**9, 0)]),
    ]
    (function,) = summarise(results)["functions"]
    assert function["cold_mean_ns"] == (240 + 1_000) / 2


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_results_does_not_change_the_last_digit_of_a_mean(
    order: int, make_result: Make, make_call: Make, summarise: Summarise
) -> None:
    """9e15 + 1/3 + 1/3 + ... is 9e15, 1/3 + 1/3 + ... + 9e15 is more."""
    results = [make_result(test="a", calls=[make_call(9 * 10**15, 0)])]
    third = [make_call(1, 0), make_call(0, 0), make_call(0, 0)]
    results += [make_result(test=f"b{number}", calls=third) for number in range(6)]
    (function,) = summarise(results[::order])["functions"]
    assert function["cold_mean_ns"] == (9e15 + 2) / 7


def test_steady_is_the_median_over_tests_of_the_median_over_runs_and_blocks(
    make_result: Make, make_call: Make, summarise: Summarise
) -> None:
    def steady(test: str, run: int, *block_ns: int, calls_per_block: int = 10) -> Document:
        return make_result(test=test, run=run, calls=[make_call(1, 1, block_ns, calls_per_block)])

    results = [
        steady("a", 1, 10, 20, 1_000),
        steady("a", 2, 30, 40),
        steady("b", 1, 500, calls_per_block=1),
        steady("c", 1, 70),
        make_result(test="d", outcome="failed", calls=[make_call(1, 1, (1,), 1)]),
    ]
    (function,) = summarise(results)["functions"]
    # Per call a: 1, 2, 100 and 3, 4, the median of which is 3; b: 500; c: 7.
    assert function["steady_median_ns"] == 7.0


def test_without_samples_there_are_no_times(make_result: Make, summarise: Summarise) -> None:
    (function,) = summarise([make_result(calls=[])])["functions"]
    assert function["status"] == "all_pass"
    assert function["cold_mean_ns"] is None
    assert function["steady_median_ns"] is None


def test_categories_placements_and_reasons_are_counted_in_tests(make_result: Make, summarise: Summarise) -> None:
    on_host = {"verdict": "host", "evidence": []}
    results = [
        *outcomes(make_result, "failed", "timed_out", test="a"),
        *outcomes(make_result, "failed", "failed", test="b"),
        make_result(test="c", run=1),
        make_result(test="c", run=2, placement=on_host),
        make_result(test="d", placement=on_host),
        *outcomes(make_result, "skipped", "skipped", test="e"),
        make_result(test="f", outcome="skipped", reason="needs two devices", category=None),
    ]
    (function,) = summarise(results)["functions"]
    assert function["tests_by_category"] == {"other": 2, "timeout": 1, "removed": 1}
    assert function["tests_by_placement"] == {"device": 1, "host": 2}
    assert function["skipped"] == [
        {"reason": "needs two devices", "tests": 1},
        {"reason": "torch.cat is not in this version", "tests": 1},
    ]


def test_a_successor_is_kept_apart_and_does_not_count(make_result: Make, summarise: Summarise) -> None:
    gone = outcomes(make_result, "skipped", function="torch.lu")
    tried = [make_result("torch.linalg.lu", successor_of="torch.lu", outcome="failed")]
    itself = outcomes(make_result, "passed", function="torch.linalg.lu")
    target = summarise([*gone, *tried], itself)
    found = {(function["name"], function["successor_of"]): function["status"] for function in target["functions"]}
    assert found == {
        ("torch.lu", None): "not_testable",
        ("torch.linalg.lu", "torch.lu"): "all_fail",
        ("torch.linalg.lu", None): "all_pass",
    }
    assert target["functions_by_status"] == {"all_pass": 1, "some_fail": 0, "all_fail": 0, "not_testable": 1}
    assert target["percent_of_rated_functions"]["all_pass"] == 100
    times = {(function["name"], function["successor_of"]): function["cold_mean_ns"] for function in target["functions"]}
    assert times["torch.linalg.lu", "torch.lu"] is None
    assert times["torch.linalg.lu", None] == 1_500_000
