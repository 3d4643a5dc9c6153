"""Failure rates: by the paper's method over functions, robust over tests; alone, and over what two sides share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded, by_reason
from portbench.analysis.intervals import wilson
from portbench.analysis.rate_model import ALL
from portbench.analysis.rates import pair_rates, rates
from portbench.published.paper import OTHERS, TOP20
from tests.unit.host.opened_study import listed, opened

Document = dict[str, Any]
Make = Callable[..., Document]
GPU, TPU = Configuration("torch", "1.12.0", "gpu", "a"), Configuration("torch", "1.12.0", "tpu", "b")
OUTCOMES = {"p": "passed", "f": "failed", "s": "skipped", "t": "timed_out"}

# Functions with the outcomes of their tests; a slash parts the runs of one test. On the gpu: add passes, cat fails in
# one of three tests, dot in one of two runs of its only test, eig in both tests, fft did not run, gone has a test that
# the tpu lacks.
ON_GPU = {"add": "p p p p", "cat": "p p f", "dot": "p/f", "eig": "f t", "fft": "s", "gone": "p"}
ON_TPU = {"add": "p p p f", "cat": "p f s", "dot": "p", "eig": "f t", "fft": "p"}
STRATA = [
    listed("torch.add", 10, 900, True),
    listed("torch.cat", 10, 80, True),
    listed("torch.dot", 5, 15, False),
    listed("torch.eig", 1, 5, False),
    listed("torch.fft", 1, 1000, False),
    listed("torch.gone", None, None, None),
]


def results(make_result: Make, functions: dict[str, str]) -> list[Document]:
    return [
        make_result(f"torch.{name}", f"t{number}", run, outcome=OUTCOMES[letter])
        for name, tests in functions.items()
        for number, runs in enumerate(tests.split())
        for run, letter in enumerate(runs.split("/"), 1)
    ]


@pytest.fixture
def study(make_result: Make, make_run: Make, tmp_path: Path) -> Any:
    documents = []
    for side, functions in ((GPU, ON_GPU), (TPU, ON_TPU)):
        document = make_run(results(make_result, functions), target=str(side.target), machine=side.machine)
        document["manifest"]["functions"] = STRATA
        documents.append(document)
    return opened(documents, tmp_path)


def test_as_published_counts_functions_by_status(study: Any) -> None:
    found = rates(study)[GPU].by_function
    assert found.method == "paper's method"
    # add and gone pass, cat and dot are partial, eig is complete; fft has no status and is no part of the percentages.
    assert found.counts == {"all_pass": 2, "some_fail": 2, "all_fail": 1, "not_testable": 1}
    assert found.percent == {"all_pass": 40.0, "some_fail": 40.0, "all_fail": 20.0}
    assert (found.rated, found.failing, found.failing_percent) == (5, 3, 60.0)
    assert found.failing_interval == wilson(3, 5)


def test_strata_are_the_manifest_s_and_functions_without_one_are_in_none(study: Any) -> None:
    found = rates(study)[GPU]
    assert found.strata_known == 5
    assert {name: stratum.counts for name, stratum in found.by_stratum.items()} == {
        ALL: {"all_pass": 2, "some_fail": 2, "all_fail": 1, "not_testable": 1},
        TOP20: {"all_pass": 1, "some_fail": 1, "all_fail": 0, "not_testable": 0},
        OTHERS: {"all_pass": 0, "some_fail": 1, "all_fail": 1, "not_testable": 1},
        "decile 1": {"all_pass": 0, "some_fail": 0, "all_fail": 1, "not_testable": 1},
        "decile 5": {"all_pass": 0, "some_fail": 1, "all_fail": 0, "not_testable": 0},
        "decile 10": {"all_pass": 1, "some_fail": 1, "all_fail": 0, "not_testable": 0},
    }


def test_robust_counts_tests_and_weighs_by_use(study: Any) -> None:
    found = rates(study)[GPU].robust
    assert found.method == "robust"
    # add 0 of 4, cat 1 of 3, dot 1 of 1 (it failed in a run), eig 2 of 2, gone 0 of 1; fft did not run.
    assert (found.failed, found.tests) == (4, 11)
    assert found.rate == pytest.approx(4 / 11)
    assert found.interval == wilson(4, 11)
    assert found.weighted
    # Uses 900, 80, 15 and 5 of add, cat, dot and eig; gone has none that are known, and fft's 1000 do not count.
    assert (found.weighted.functions, found.weighted.uses) == (4, 1000)
    assert found.weighted.rate == pytest.approx((900 * 0 + 80 / 3 + 15 + 5) / 1000)
    assert found.weighted.interval
    assert found.weighted.interval.low <= found.weighted.rate <= found.weighted.interval.high


def test_a_pair_is_compared_over_the_tests_that_both_could_have_run(study: Any) -> None:
    found = pair_rates(study, GPU, TPU)
    # Shared: 4 of add, 2 of cat (its third is skipped on the tpu), dot, 2 of eig. So cat passes on the gpu, where the
    # test that fails is not shared.
    assert found.first.by_function.counts == {"all_pass": 2, "some_fail": 1, "all_fail": 1, "not_testable": 0}
    assert found.second.by_function.counts == {"all_pass": 1, "some_fail": 2, "all_fail": 1, "not_testable": 0}
    assert (found.first.robust.failed, found.first.robust.tests) == (3, 9)
    assert (found.second.robust.failed, found.second.robust.tests) == (4, 9)
    assert found.first.by_stratum[TOP20].failing_percent == 0.0
    assert found.second.by_stratum[TOP20].failing_percent == 100.0


def test_tests_that_a_pair_does_not_share_are_excluded_with_the_reason(study: Any) -> None:
    assert pair_rates(study, GPU, TPU).exclusions == (
        Excluded("torch.cat", "skipped on torch-1.12.0-tpu on b (torch.cat is not in this version)", 1),
        Excluded("torch.fft", "skipped on torch-1.12.0-gpu on a (torch.fft is not in this version)", 1),
        Excluded("torch.gone", "not recorded on torch-1.12.0-tpu on b", 1),
    )


def test_tests_that_did_not_run_are_excluded_by_name(study: Any) -> None:
    assert rates(study)[TPU].exclusions == (Excluded("torch.cat", "skipped (torch.cat is not in this version)", 1),)


def test_a_shared_reason_to_skip_is_one_exclusion(make_result: Make, make_run: Make, tmp_path: Path) -> None:
    skipped = [make_result(test=name, outcome="skipped", reason="needs two devices") for name in ("a", "b")]
    documents = [make_run(skipped, target=str(side.target), machine=side.machine) for side in (GPU, TPU)]
    found = pair_rates(opened(documents, tmp_path), GPU, TPU)
    assert found.exclusions == (Excluded("torch.cat", f"skipped on {GPU} and on {TPU} (needs two devices)", 2),)
    assert found.first.by_function.percent is None
    assert found.first.by_function.failing_percent is None
    assert found.first.robust.rate is None
    assert found.first.robust.weighted is None


def test_successors_do_not_count(make_result: Make, make_run: Make, tmp_path: Path) -> None:
    tried = make_result("torch.linalg.eig", successor_of="torch.eig", outcome="failed")
    skipped = make_result("torch.eig", outcome="skipped")
    study = opened([make_run([tried, skipped, make_result()])], tmp_path)
    (found,) = rates(study).values()
    assert found.by_function.counts == {"all_pass": 1, "some_fail": 0, "all_fail": 0, "not_testable": 1}
    assert found.robust.tests == 1


def test_without_strata_there_are_rates_of_all_functions_only(
    make_result: Make, make_run: Make, tmp_path: Path
) -> None:
    (found,) = rates(opened([make_run([make_result()])], tmp_path)).values()
    assert list(found.by_stratum) == [ALL]
    assert found.strata_known == 0
    assert found.robust.weighted is None


def test_what_was_left_out_is_grouped_by_reason_the_most_frequent_first() -> None:
    entries = [Excluded("b", "skipped", 1), Excluded("c", "failed", 9), Excluded("a", "skipped", 2)]
    assert by_reason(entries) == {"skipped": (entries[2], entries[0]), "failed": (entries[1],)}


def test_functions_outside_of_the_papers_sample_move_no_rate_where_the_sample_ran(
    make_result: Make, make_run: Make, tmp_path: Path
) -> None:
    def run(functions: dict[str, str], manifest: str, side: Configuration) -> Document:
        document = make_run(
            results(make_result, functions), target=str(side.target), machine=side.machine, manifest=manifest
        )
        strata = STRATA if manifest == "study-torch" else [listed("torch.mine", None, None, None)]
        document["manifest"]["functions"] = strata
        return document

    mine = {"mine": "f f"}
    of_paper = run({"add": "p", "cat": "f"}, "study-torch", GPU)
    study = opened([of_paper, run(mine, "mine", GPU), run(mine, "mine", TPU)], tmp_path)
    found = rates(study)
    assert found[GPU].by_function.counts == {"all_pass": 1, "some_fail": 0, "all_fail": 1, "not_testable": 0}
    assert (found[GPU].robust.failed, found[GPU].robust.tests) == (1, 2)
    assert found[GPU].exclusions == (Excluded("torch.mine", "not in the paper's sample", 2),)
    # Where nothing of the sample ran, the user's functions are all there is.
    assert found[TPU].by_function.counts["all_fail"] == 1
    assert found[TPU].exclusions == ()
