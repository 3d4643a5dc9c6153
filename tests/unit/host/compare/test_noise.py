"""Is a change of time more than noise? Simulated samples with known truth, and figures calculated by hand."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from portbench.analysis.configurations import Configuration
from portbench.compare.facts import Key, SideFacts, TestFacts
from portbench.compare.noise import Change, Noise, bh_adjusted, change, least_p, mann_whitney, noise_of
from portbench.compare.times import Limits, Times, times

SIDE = Configuration("torch", "2.9.0", "cpu", "box")


def side_of(tests: dict[str, list[list[float]]], sync: str = "complete") -> SideFacts:
    """A side whose tests have one timed call with steady samples, a list of ns for each run."""
    facts = {
        Key("torch.cat", "", name): TestFacts(
            verdict="passed",
            passed_runs=len(runs),
            ran_runs=len(runs),
            categories=(),
            is_wrong=False,
            placement="device",
            host_operations=(),
            skip_reason="",
            is_removed=False,
            evidence="",
            has_failed_sync_check=False,
            samples={"steady": {1: {("r" * 32, number): ns for number, ns in enumerate(runs, 1)}}},
        )
        for name, runs in tests.items()
    }
    return SideFacts(Configuration("torch", "2.9.0", "cpu", "box", sync), facts, (), frozenset())


def processes(random: np.random.Generator, slow: float, runs: int) -> list[list[float]]:
    """Eight samples of each run around 20 µs: 2 % of noise within a process, and processes that are slow by chance."""
    speeds = np.exp(random.normal(0, 0.02, runs)) * np.where(random.random(runs) < 0.5, 1, slow)
    return [(20_000 * speed * np.exp(random.normal(0, 0.02, 8))).tolist() for speed in speeds]


def pooled(random: np.random.Generator) -> list[float]:
    """The samples of three runs, half of which are slow by 15 %, as if they were independent."""
    return [ns for run in processes(random, 1.15, 3) for ns in run]


def simulated(seed: int, runs: int, slow: float, factor: float = 1.0) -> Times:
    """Fifteen tests on two sides; the first one is slower by ``factor`` on the second side."""
    random = np.random.default_rng(seed)
    before = {f"t{number:02}": processes(random, slow, runs) for number in range(15)}
    after = {name: processes(random, slow, runs) for name in before}
    after["t00"] = [[ns * factor for ns in run] for run in after["t00"]]
    return times(side_of(before), side_of(after), "steady", Limits())


@cache
def repeated(runs: int, slow: float, factor: float = 1.0) -> list[Times]:
    return [simulated(seed, runs, slow, factor) for seed in range(200)]


def false_alarms(found: Times) -> int:
    return sum(test.verdict in ("slower", "faster") for test in found.tests if test.key.test != "t00")


def is_detected(found: Times) -> bool:
    return found.tests[0].key.test == "t00" and found.tests[0].verdict == "slower"


# Processes are alike, or half of them slow by 15 %: what a memory layout does.
@pytest.mark.parametrize("slow", [1.0, 1.15])
def test_hardly_a_comparison_without_a_change_reports_one(slow: float) -> None:
    alarms = [false_alarms(found) + is_detected(found) for found in repeated(3, slow)]
    # The rate that is controlled: with nothing to find, the share of comparisons with any alarm. 5 % is promised, of
    # which 200 comparisons can show up to 17 (binomial, 99 %).
    assert sum(map(bool, alarms)) <= stats.binom.ppf(0.99, 200, 0.05)


def test_samples_alone_would_report_a_change_in_every_comparison() -> None:
    """Why runs count: the same processes, had the samples of all runs been pooled as if they were independent."""
    alarmed = 0
    for seed in range(50):
        random = np.random.default_rng(seed)
        pairs = {number: (pooled(random), pooled(random)) for number in range(15)}
        alarmed += min(bh_adjusted(list(mann_whitney(pairs).values()))) <= 0.05
    assert alarmed == 50


@pytest.mark.parametrize(("runs", "slow", "least"), [(3, 1.0, 198), (5, 1.15, 180)])
def test_a_test_that_takes_1_3_times_as_long_is_found(runs: int, slow: float, least: int) -> None:
    assert sum(map(is_detected, repeated(runs, slow, 1.3))) >= least


def test_few_false_changes_with_one_true_change() -> None:
    wrong = [false_alarms(found) / max(1, false_alarms(found) + is_detected(found)) for found in repeated(3, 1.0, 1.3)]
    assert np.mean(wrong) <= 0.05


def test_a_certain_change_below_the_minimum_effect_is_similar() -> None:
    still = {f"t{number}": [[100.0 + i for i in range(8)] for _ in range(3)] for number in range(5)}
    moved = {name: [[ns * 1.04 for ns in run] for run in runs] for name, runs in still.items()}
    found = times(side_of(still), side_of(moved), "steady", Limits())
    assert {test.verdict for test in found.tests} == {"similar"}
    assert all(test.p is not None and test.p < 0.01 for test in found.tests)
    lower = times(side_of(still), side_of(moved), "steady", Limits(effect=0.03))
    assert {test.verdict for test in lower.tests} == {"slower"}


def test_a_change_of_medians_that_samples_do_not_show_is_unclear() -> None:
    # A process that is fast or slow by turns: its median lies between the two and is a matter of a sample or two.
    before = [10.0, 20.0, 30.0, 100.0, 100.0, 300.0, 400.0, 500.0]
    after = [10.0, 20.0, 30.0, 110.0, 110.0, 300.0, 400.0, 500.0]
    (found,) = times(side_of({"a": [before] * 3}), side_of({"a": [after] * 3}), "steady", Limits()).tests
    assert found.ratio == pytest.approx(1.1)
    assert found.change is not None and found.change.p < 1e-6
    assert found.p is not None and found.p > 0.5
    assert found.verdict == "unclear"


def test_one_run_on_each_side_has_no_noise_between_runs() -> None:
    found = simulated(1, 1, 1.0, 1.5)
    assert is_detected(found)
    assert not found.has_run_variance
    assert found.tests[0].interval is None
    assert simulated(1, 2, 1.0).has_run_variance


def test_the_change_by_hand() -> None:
    # Logarithms 0, 0.1, 0.2 before (squares around their mean: 0.02) and 0.5, 0.5, 0.5 after (0): 0.02 / 4 degrees.
    before, after = [math.exp(x) for x in (0, 0.1, 0.2)], [math.exp(0.5)] * 3
    (noise,) = noise_of([(before, after)])
    assert noise is not None
    assert (noise.variance, noise.degrees) == (pytest.approx(0.005), 4)
    found = change(before, after, noise)
    assert found is not None
    # 0.4 / sqrt(0.005 * 2 / 3) = 6.93 standard errors; Student's t has p 0.00227 for that, the t of 97.5 % is 2.776.
    assert found.log_ratio == pytest.approx(0.4)
    assert found.p == pytest.approx(0.00227, abs=1e-5)
    assert found.interval() == pytest.approx((math.exp(0.4 - 2.776 * 0.057735), math.exp(0.4 + 2.776 * 0.057735)), 1e-3)


def test_a_test_never_counts_as_less_noisy_than_the_others() -> None:
    random = np.random.default_rng(3)
    noisy = [[np.exp(random.normal(0, 0.1, 3)).tolist() for _ in range(2)] for _ in range(50)]
    quiet = [[1.0, 1.0, 1.0], [1.2, 1.2, 1.2]]
    *_, found = noise_of([*noisy, quiet])
    assert found is not None
    # Of its own it has none at all; that pulls the fit for all of them down a little.
    assert math.sqrt(found.variance) > 0.05


def test_a_noisy_test_keeps_its_own_noise() -> None:
    random = np.random.default_rng(4)
    quiet = [[np.exp(random.normal(0, 0.01, 3)).tolist() for _ in range(2)] for _ in range(50)]
    *_, found = noise_of([*quiet, [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]])
    own = noise_of([[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]])[0]
    assert found is not None and own is not None
    assert math.sqrt(found.variance) > 10 * 0.01
    assert found.degrees > own.degrees


def test_if_one_side_ran_once_the_other_gives_the_noise() -> None:
    (noise,) = noise_of([([1.0], [1.0, 1.1, 0.9])])
    assert noise is not None
    assert noise.degrees == 2
    assert noise_of([([1.0], [1.0])]) == [None]


def test_a_difference_of_changes_adds_their_errors() -> None:
    found = Change(math.log(2), 0.3, 4).minus(Change(math.log(1.5), 0.4, 10))
    assert math.exp(found.log_ratio) == pytest.approx(2 / 1.5)
    assert (found.error, found.degrees) == (pytest.approx(0.5), 4)


def test_intervals_are_finite_with_few_degrees_of_freedom() -> None:
    low, high = change([1.0], [5.0], Noise(400.0, 1e-3)).interval()  # type: ignore[union-attr]
    assert 0 < low < 5 < high < math.inf


def test_mann_whitney_is_that_of_scipy_and_p_of_equal_samples_is_1() -> None:
    first, second = [1.0, 2.0, 3.0, 4.0], [2.5, 5.0, 6.0, 7.0, 8.0]
    found = mann_whitney({7: (first, second), 9: ([1.0] * 4, [1.0] * 5), 11: (second, first)})
    assert found[7] == found[11] == pytest.approx(stats.mannwhitneyu(first, second).pvalue)
    assert found[9] == 1
    assert mann_whitney({1: ([1.0, 2, 3], [4.0, 5, 6])})[1] == pytest.approx(least_p(3, 3)) == pytest.approx(0.1)


@pytest.mark.parametrize("distinct", [3, 20, 10**9], ids=["many ties", "ties", "no ties"])
def test_mann_whitney_of_many_sizes_is_that_of_scipy(distinct: int) -> None:
    random = np.random.default_rng(distinct)
    pairs = {}
    for key in range(400):
        sizes = random.integers(1, 30, 2)
        first, second = (random.integers(0, distinct, size) / 8 + 100.0 for size in sizes)
        # Some of them differ clearly, so that small p are compared, too.
        pairs[key] = ((first + key % 3 * random.random()).tolist(), second.tolist())
    found = mann_whitney(pairs)
    assert sorted(found) == list(pairs)
    for key, (first, second) in pairs.items():
        wanted = 1.0 if len({*first, *second}) == 1 else stats.mannwhitneyu(first, second).pvalue
        assert found[key] == pytest.approx(wanted, rel=1e-9), (first, second)


def test_p_is_adjusted_by_the_number_of_tests() -> None:
    # Benjamini and Hochberg by hand: 0.01 * 4 / 1, 0.02 * 4 / 2, 0.03 * 4 / 3, 0.5 * 4 / 4, each at most the next.
    assert bh_adjusted([0.5, 0.01, 0.02, 0.03]) == pytest.approx([0.5, 0.04, 0.04, 0.04])
    assert bh_adjusted([]) == []


def test_the_time_of_a_test_with_several_calls_is_their_sum() -> None:
    runs = {"a": [[100.0] * 7 + [1e6]] * 3}
    before, after = side_of(runs), side_of(runs)
    key = next(iter(before.tests))
    for side, factor in ((before, 1), (after, 3)):
        first = side.tests[key].samples["steady"][1]
        side.tests[key].samples["steady"][2] = {run: [1000.0 * factor] * 8 for run in first}  # type: ignore[index]
    (found,) = times(before, after, "steady", Limits()).tests
    assert (found.first_ns, found.second_ns) == (pytest.approx(1100), pytest.approx(3100))
    assert found.ratio == pytest.approx(3100 / 1100)


def test_times_of_another_synchronization_are_not_compared() -> None:
    runs = {"a": [[100.0] * 8] * 3}
    found = times(side_of(runs), side_of(runs, "study"), "steady", Limits())
    assert not found.tests
    assert [entry.reason for entry in found.not_compared] == ["another synchronization ends the timed regions"]
    assert (found.ratio, found.interval, found.median_ratio) == (None, None, None)
