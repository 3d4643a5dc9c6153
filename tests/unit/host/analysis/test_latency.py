"""Latencies of functions on two sides, by the paper's method and robust, against figures that were derived by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded
from portbench.analysis.latency import robust
from portbench.analysis.paper_method import paper_method
from portbench.analysis.terms import PAPER_METHOD, ROBUST
from tests.unit.host.opened_study import listed, opened

Document = dict[str, Any]
Make = Callable[..., Document]
GPU, TPU = Configuration("torch", "1.12.0", "gpu", "a"), Configuration("torch", "1.12.0", "tpu", "b")
Opened = Callable[[list[Document], list[Document]], Any]


@pytest.fixture
def compared(make_run: Make, tmp_path: Path) -> Opened:
    """A study of results on the gpu and on the tpu."""

    def run(on_gpu: list[Document], on_tpu: list[Document]) -> Any:
        documents = [
            make_run(results, target=str(side.target), machine=side.machine)
            for side, results in ((GPU, on_gpu), (TPU, on_tpu))
        ]
        documents[0]["manifest"]["functions"] = [listed("torch.cat", 10, 5, True, "torch.concat")]
        return opened(documents, tmp_path)

    return run


def test_the_papers_method_is_the_mean_of_the_means_of_shared_tests(
    make_result: Make, make_call: Make, compared: Opened
) -> None:
    def cold(test: str, run: int, *call_ns: int, wait_ns: int = 0) -> Document:
        return make_result(test=test, run=run, calls=[make_call(ns, wait_ns) for ns in call_ns])

    found = paper_method(
        compared(
            [
                *(cold("a", 1, 100, 200, wait_ns=10), cold("a", 2, 300, 390, wait_ns=10), cold("b", 1, 1_700)),
                *(cold("some runs", 1, 9), cold("some runs", 2, 9)),
            ],
            [
                *(cold("a", 1, 4_000, wait_ns=500), cold("a", 2, 6_000, wait_ns=500), cold("b", 1, 1_000)),
                *(cold("some runs", 1, 9), cold("some runs", 2)),
            ],
        ),
        GPU,
        TPU,
    )
    assert (found.method, found.first, found.second) == (PAPER_METHOD, GPU, TPU)
    assert found.exclusions == (Excluded("torch.cat", f"not timed in every run on {TPU}", 1),)
    (function,) = found.functions
    assert (function.function, function.listed_as, function.tests) == ("torch.cat", "torch.concat", 2)
    # gpu: 110, 210, 310 and 400 are 257.5 in the mean, with 1700; tpu: 4500 and 6500 are 5500, with 1000.
    assert (function.first_ns, function.second_ns) == (978.75, 3_250)
    assert function.ratio == pytest.approx(3_250 / 978.75)
    assert function.low is function.high is None


def test_robust_is_the_geometric_mean_of_medians(make_result: Make, make_call: Make, compared: Opened) -> None:
    def steady(test: str, run: int, *block_ns: int, calls_per_block: int = 10) -> Document:
        return make_result(test=test, run=run, calls=[make_call(1, 1, block_ns, calls_per_block)])

    found = robust(
        compared(
            # Per call a: 1, 2, 100 and 3, 4, the median of which is 3; b: 8; c: 9.
            [
                steady("a", 1, 10, 20, 1_000),
                steady("a", 2, 30, 40),
                steady("b", 1, 8, calls_per_block=1),
                steady("c", 1, 90),
            ],
            # a: 6; b: 32; c: 72.
            [steady("a", 1, 60), steady("b", 1, 320), steady("c", 1, 72, calls_per_block=1)],
        ),
        GPU,
        TPU,
    )
    assert (found.method, found.exclusions) == (ROBUST, ())
    (function,) = found.functions
    # Ratios 2, 4 and 8: the cube root of 64 is 4. Times: the cube roots of 3 * 8 * 9 = 216 and of 64 * 216.
    assert function.ratio == pytest.approx(4)
    assert function.first_ns == pytest.approx(6)
    assert function.second_ns == pytest.approx(24)
    # One resample in 27 is thrice the least ratio, one thrice the greatest: more than 2.5 %.
    assert function.low == pytest.approx(2)
    assert function.high == pytest.approx(8)
    assert function.tests == 3


def test_a_single_test_has_a_ratio_and_no_interval(make_result: Make, compared: Opened) -> None:
    (function,) = robust(compared([make_result()], [make_result()]), GPU, TPU).functions
    assert (function.ratio, function.low, function.high) == (1.0, None, None)


def test_what_is_not_timed_on_both_is_named_with_the_reason(
    make_result: Make, make_call: Make, compared: Opened
) -> None:
    failed_proof = {
        "passed": False, "reason": "no", "units": 1, "base_ns": 1, "grown_ns": 1, "ratio": 1.0, "left_ns": 1,
    }  # fmt: skip
    flaky = [make_result(test="flaky", run=1), make_result(test="flaky", run=2, outcome="crashed")]
    on_gpu = [make_result(test=test) for test in ("both", "failed", "untimed", "unproven", "flaky", "alone", "skipped")]
    on_tpu = [
        make_result(test="both"),
        make_result(test="failed", outcome="failed"),
        make_result(test="untimed", calls=[]),
        make_result(test="unproven", calls=[], sync_check=failed_proof),
        *flaky,
        make_result(test="skipped", outcome="skipped", reason="too large"),
    ]
    study = compared(on_gpu, on_tpu)
    expected = [
        "failed in some runs on torch-1.12.0-tpu on b",
        "failed on torch-1.12.0-tpu on b",
        "not recorded on torch-1.12.0-tpu on b",
        "not timed on torch-1.12.0-tpu on b",
        "not timed, since the synchronization check failed, on torch-1.12.0-tpu on b",
        "skipped on torch-1.12.0-tpu on b (too large)",
    ]
    for found in (paper_method(study, GPU, TPU), robust(study, GPU, TPU)):
        assert [function.tests for function in found.functions] == [1]
        assert found.exclusions == tuple(Excluded("torch.cat", reason, 1) for reason in expected)


def test_tests_that_only_check_values_are_not_left_out_of_times(make_result: Make, compared: Opened) -> None:
    checks = {"calls": [{"cold": None, "steady": None, "observed": None}]}
    on_gpu = [make_result(test="timed"), *(make_result(test=test, **checks) for test in ("both", "failed"))]
    on_tpu = [
        make_result(test="timed"),
        make_result(test="both", **checks),
        make_result(test="failed", outcome="failed", **checks),
    ]
    study = compared(on_gpu, on_tpu)
    for found in (paper_method(study, GPU, TPU), robust(study, GPU, TPU)):
        assert [function.tests for function in found.functions] == [1]
        assert found.exclusions == ()


def test_each_protocol_needs_its_own_samples(make_result: Make, make_call: Make, compared: Opened) -> None:
    only_cold = [make_result(calls=[make_call() | {"steady": None}])]
    study = compared(only_cold, [make_result()])
    assert len(paper_method(study, GPU, TPU).functions) == 1
    found = robust(study, GPU, TPU)
    assert found.functions == ()
    assert found.exclusions == (Excluded("torch.cat", "not timed on torch-1.12.0-gpu on a", 1),)
    # The other way round: each reason names the side that lacks the test.
    assert robust(study, TPU, GPU).exclusions == found.exclusions


def test_what_took_no_time_has_no_ratio(make_result: Make, make_call: Make, compared: Opened) -> None:
    instant = make_result(calls=[make_call(0, 0, (0, 0, 0))])
    study = compared([instant], [make_result()])
    for found in (paper_method(study, GPU, TPU), robust(study, GPU, TPU)):
        assert found.functions == ()
        assert found.exclusions == (Excluded("torch.cat", "took no time by the clock", 1),)


def test_another_synchronization_of_a_target_is_another_configuration(
    make_result: Make, make_run: Make, tmp_path: Path
) -> None:
    def timed(sync: str, call_ns: int) -> Document:
        call = {"cold": {"call_ns": call_ns, "wait_ns": 0, "counters": {}}, "steady": None}
        return make_run([make_result(calls=[call])], sync=sync)

    study = opened([timed("complete", 300), timed("as-published", 100)], tmp_path)
    complete = Configuration("torch", "2.9.0", "cpu", "box")
    as_study = Configuration("torch", "2.9.0", "cpu", "box", "as-published")
    (function,) = paper_method(study, complete, as_study).functions
    assert (function.first_ns, function.second_ns) == (300, 100)


def test_successors_have_no_latency_and_are_not_pooled(
    make_result: Make, make_call: Make, make_run: Make, tmp_path: Path
) -> None:
    def timed(side: Configuration, call_ns: int, **facts: str) -> Document:
        calls = [make_call(call_ns, 0, (call_ns,), 1)]
        result = make_result("torch.linalg.eig", calls=calls, **facts)
        return make_run([result], target=str(side.target), machine=side.machine)

    tried = [timed(side, 9_000, successor_of="torch.eig") for side in (GPU, TPU)]
    (tmp_path / "tried").mkdir()
    assert paper_method(opened(tried, tmp_path / "tried"), GPU, TPU).functions == ()
    # Other run files have the same test of the same function, not as a successor.
    study = opened([*tried, timed(GPU, 100), timed(TPU, 300)], tmp_path)
    for method in (paper_method, robust):
        (function,) = method(study, GPU, TPU).functions
        assert (function.first_ns, function.second_ns) == pytest.approx((100, 300))
