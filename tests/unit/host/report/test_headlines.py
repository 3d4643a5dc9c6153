"""The headline sentences: method, figure, count, and the published figure where the paper has one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from portbench.report.headlines import FAILURES, NEWER_HARDWARE, UNVERIFIED, build_headlines, ranked
from tests.unit.host.sample_results import GPU, TPU, results

T4, V3 = "torch-1.12.0-gpu on t4-box (Tesla T4)", "torch-1.12.0-tpu on tpu-box (TPU v3-8)"
A100 = "torch-1.12.0-gpu on a100-box (NVIDIA A100-SXM4-40GB)"


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    """All of ``sample_results``."""
    return [headline.sentence for headline in build_headlines(results())]


def test_how_much_fails(sentences: list[str]) -> None:
    # 2 + 3 of 63; one more is not testable. The paper has no failure rate of torch on gpu in its text, but of tpu.
    assert (
        f"Paper's method: 7.9 % of functions (5 of 63; 1 more not testable) fail, partially or completely, on {T4}."
        in (sentences)
    )
    assert (
        f"Paper's method: 44.4 % of functions (28 of 63) fail, partially or completely, on {V3} "
        "(paper: 44.44 %; its method on this data: 44.4 %)." in sentences
    )
    assert (
        f"Robust: 25.0 % of tests (100 of 400; 95 % interval 21.0 to 29.5 %) fail on {V3}; "
        "weighted by use in the corpus, 25.0 % (63 functions; 95 % interval 12.5 to 50.0 %)." in sentences
    )


def test_the_top_20_against_the_others(sentences: list[str]) -> None:
    assert (
        f"Paper's method: of the top 20, 23.1 % of functions (3 of 13) fail on {V3} "
        "(paper: 46 %; its method on this data: 23.1 %); "
        "of the others, 50.0 % of functions (25 of 50) (paper: 44 %; its method on this data: 50.0 %)." in sentences
    )


def test_what_fails_of_that_which_ran_on_both(sentences: list[str]) -> None:
    assert (
        "Robust, over the tests that ran on both: 5.0 % of tests (20 of 400; 95 % interval 3.3 to 7.6 %) fail on "
        f"{T4}, 25.0 % of tests (100 of 400; 95 % interval 21.0 to 29.5 %) on {V3}; 3 tests left out." in sentences
    )


def test_slower_faster_and_intolerable_as_published(sentences: list[str]) -> None:
    # Ratios of 6039.55, 643.91 and 0.5.
    assert (
        f"Paper's method, at the sizes of the tests: 66.7 % of functions (2 of 3) are slower on {V3} than on {T4} "
        "(paper: 100 %; its method on this data: 66.7 %); "
        "33.3 % of functions (1 of 3) are faster." in sentences
    )
    assert (
        f"Paper's method: 66.7 % of functions (2 of 3) are more than 10 times slower on {V3} than on {T4}, "
        "an intolerable latency (paper: 81.4 %; its method on this data: 66.7 %)." in sentences
    )


def test_slower_faster_and_intolerable_in_the_robust_way(sentences: list[str]) -> None:
    # Ratios of 50, whose interval is 40 to 60, and of 1.5, whose interval is 0.9 to 2. Wilson, 95 %: 2 of 2 is 34.2 to
    # 100 %, 1 of 2 is 9.5 to 90.5 %, 0 of 2 is 0 to 65.8 %.
    assert (
        "Robust, at the sizes of the tests: 100.0 % of functions (2 of 2, 1 of them by the whole interval of the "
        f"ratio; 95 % interval 34.2 to 100.0 %) are slower on {V3} than on {T4}; 0.0 % of functions (0 of 2; 95 % "
        "interval 0.0 to 65.8 %) are faster."
    ) in sentences
    assert (
        "Robust: 50.0 % of functions (1 of 2, 1 of them by the whole interval of the ratio; 95 % interval 9.5 to "
        f"90.5 %) are more than 10 times slower on {V3} than on {T4}, an intolerable latency." in sentences
    )


def test_newer_hardware(sentences: list[str]) -> None:
    # One function, 2 ms on the older and 1 ms on the newer.
    assert (
        f"Paper's method: 100.0 % of functions (1 of 1) are more than 1.5 times faster on {A100} than on the older "
        f"{T4} "
        "(paper: 28.07 %; its method on this data: 100.0 %)." in sentences
    )


def test_the_published_share_is_shown_only_for_the_published_threshold() -> None:
    said = (headline.sentence for headline in build_headlines(results(), intolerable=1000))
    found = [sentence for sentence in said if "intolerable" in sentence]
    assert found[0] == (
        f"Paper's method: 33.3 % of functions (1 of 3) are more than 1000 times slower on {V3} than on {T4}, "
        "an intolerable latency."
    )


def test_a_published_figure_that_is_probably_a_fraction_carries_a_note() -> None:
    measured = results()
    sides = {side: replace(side, framework="jax", version="0.4.8") for side in measured.sides}
    (pair,) = measured.by_model
    latencies = tuple(replace(one, first=sides[one.first], second=sides[one.second]) for one in pair.latencies)
    renamed = replace(pair, first=sides[pair.first], second=sides[pair.second], latencies=latencies)
    models = {sides[side]: model for side, model in measured.models.items()}
    said = list(build_headlines(replace(measured, sides=(), models=models, by_device=(), by_model=(renamed,))))
    assert said[0].sentence.endswith(
        "(paper: 0.05 %; its method on this data: 100.0 %; the paper's is probably a fraction, not a percentage)."
    )


def test_a_side_of_unverified_timing_is_named_and_in_no_other_headline_of_times() -> None:
    found = build_headlines(replace(results(), unverified={TPU: "its times are too small"}))
    said = [headline.sentence for headline in found]
    assert said[-1] == f"Timing unverified, and in no headline on times: {V3}; its times are too small."
    assert not any("slower" in sentence and V3 in sentence for sentence in said)
    assert any("1.5 times faster" in sentence for sentence in said)


def test_other_hardware_has_no_published_figures() -> None:
    elsewhere = replace(results(), models={GPU: "NVIDIA L4", TPU: None})
    found = [headline.sentence for headline in build_headlines(elsewhere)]
    assert not any("(paper:" in sentence for sentence in found)
    assert any("on torch-1.12.0-gpu on t4-box (NVIDIA L4)." in sentence for sentence in found)
    assert any("on torch-1.12.0-tpu on tpu-box." in sentence for sentence in found)


def test_another_synchronization_is_named() -> None:
    study = results()
    as_study = replace(GPU, sync="as-published")
    alone = replace(
        study,
        sides=(as_study,),
        models={as_study: "Tesla T4"},
        rates={as_study: study.rates[GPU]},
        by_device=(),
        by_model=(),
    )
    assert (
        "on torch-1.12.0-gpu on t4-box (Tesla T4, synchronization as published)"
        in next(build_headlines(alone)).sentence
    )


def test_without_results_there_is_no_sentence() -> None:
    assert list(build_headlines(results(empty=True))) == []


def test_headlines_with_a_published_figure_come_first_and_then_those_on_failures() -> None:
    study = replace(results(), unverified={TPU: "its times are too small"})
    found = ranked(build_headlines(study))
    published = [headline.has_published for headline in found]
    assert published == sorted(published, reverse=True)
    assert (found[0].kind, found[0].has_published) == (FAILURES, True)
    assert found[0].target == V3
    newer = next(headline for headline in found if headline.kind == NEWER_HARDWARE)
    assert (newer.method, newer.has_published) == ("paper's method", True)
    assert (found[-1].kind, found[-1].method) == (UNVERIFIED, "")
