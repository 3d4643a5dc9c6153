"""The timing protocols, with a clock that only moves when a call or a wait takes its time."""

from __future__ import annotations

import itertools

import pytest

from runners.core.testing import timing

MS = 1_000_000


class Clock:
    """Nanoseconds that pass only by ``spend``."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def spend(self, ns: int) -> None:
        self.now += ns


@pytest.fixture
def clock():
    return Clock()


def test_cold_tells_the_call_from_the_wait(clock):
    def call(a, b=0):
        clock.spend(300)
        return a + b

    waited = []

    def wait(output):
        waited.append(output)
        clock.spend(5000)

    assert timing.cold(clock, call, wait, (1,), {"b": 2}) == (3, 300, 5000)
    assert waited == [3]


def test_steady_counts_the_wait_after_each_call(clock):
    calls = itertools.count()
    waits = itertools.count()

    def call():
        next(calls)
        clock.spend(10_000)

    def wait(output):
        next(waits)
        clock.spend(30_000)

    steady = timing.steady(clock, call, wait, (), {}, 200 * MS)
    made = steady["warmup_calls"] + steady["calls_per_block"] * len(steady["block_ns"])
    assert next(calls) == next(waits) == made
    assert {ns / steady["calls_per_block"] for ns in steady["block_ns"]} == {40_000}


@pytest.mark.parametrize("cost_ns", [50, 10_000, 190_000, 3 * MS])
def test_blocks_are_long_enough_for_the_clock_and_no_longer(clock, cost_ns):
    steady = timing.steady(clock, lambda: clock.spend(cost_ns), lambda output: None, (), {}, 200 * MS)
    length = steady["calls_per_block"] * cost_ns
    assert timing.BLOCK_NS <= length < max(2 * timing.BLOCK_NS, cost_ns + 1)


def test_a_constant_cost_is_stable_as_soon_as_there_are_enough_blocks(clock):
    steady = timing.steady(clock, lambda: clock.spend(100_000), lambda output: None, (), {}, 10_000 * MS)
    assert steady["stable"] is True
    assert steady["unmet"] == []
    assert len(steady["block_ns"]) == timing.FEWEST_BLOCKS
    assert steady["median_interval_fraction"] == 0


def test_the_warm_up_takes_its_share_before_anything_counts(clock):
    costs = itertools.chain([15 * MS, 30 * MS], itertools.repeat(MS))
    steady = timing.steady(clock, lambda: clock.spend(next(costs)), lambda output: None, (), {}, 2_000 * MS)
    assert set(steady["block_ns"]) == {MS}


def test_a_restless_cost_names_the_criterion_that_it_missed(clock):
    costs = itertools.cycle([1 * MS, 5 * MS])
    steady = timing.steady(clock, lambda: clock.spend(next(costs)), lambda output: None, (), {}, 500 * MS)
    assert steady["stable"] is False
    assert steady["unmet"] == ["median_interval"]
    assert steady["median_interval_fraction"] > timing.NARROW_ENOUGH


def test_a_slow_call_ends_with_its_budget_and_says_so(clock):
    steady = timing.steady(clock, lambda: clock.spend(70 * MS), lambda output: None, (), {}, 200 * MS)
    assert steady["unmet"] == ["blocks", "median_interval"]
    assert len(steady["block_ns"]) == 2
    assert steady["median_interval_fraction"] is None
    assert clock.now == 210 * MS


def test_the_interval_of_the_median():
    # Ranks for n = 100 are 40 and 61 (Le Boudec, table of the 95 % intervals of the median).
    samples = list(range(1, 101))
    assert timing.median_interval_fraction(samples) == pytest.approx((61 - 40) / 2 / 50.5)
    assert timing.median_interval_fraction(samples[:5]) is None
    assert timing.median_interval_fraction([0] * 10) is None
