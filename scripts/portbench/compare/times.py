"""How the times of tests changed between two sides, and which changes are more than noise.

The time of a test in a run is the sum over its timed calls of the median of their samples; on a side, the geometric
mean over the runs. A test is slower (or faster) on the second side if the change is at least the minimum effect, and
more than noise:

- Mann-Whitney's U test finds a difference between the samples of the two sides; and
- with several runs, the change exceeds the noise between runs too (``portbench.compare.noise``).

The greater of the two p values counts, since both must hold. It is adjusted for the number of tests that were compared
(Benjamini and Hochberg).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from portbench.analysis.intervals import Interval, bootstrap_ratio
from portbench.compare.facts import Key, Run, Samples, SideFacts, TestFacts
from portbench.compare.noise import Change, bh_adjusted, change, least_p, mann_whitney, mean_log, noise_of
from portbench.compare.outcomes import NAMES, NotCompared, absence


@dataclass(frozen=True)
class Limits:
    """When a change counts: ``effect`` 0.05 is 5 %; ``alpha`` is the accepted share of false changes."""

    effect: float = 0.05
    alpha: float = 0.05


@dataclass(frozen=True)
class TestLatency:
    """A test that was timed on both sides. ``ratio`` is second over first: above 1 the second is slower.

    ``change`` is None with one run on each side: the noise between runs is not known then. ``p`` and ``q`` (adjusted)
    are None with too few samples. ``verdict``: slower, faster, similar (less than the minimum effect) or unclear (noise
    may explain it).
    """

    key: Key
    first_ns: float
    second_ns: float
    ratio: float
    first_runs: int
    second_runs: int
    change: Change | None
    p: float | None
    q: float | None
    verdict: str

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the ratio, from the noise between runs."""
        return Interval(*self.change.interval()) if self.change else None


@dataclass(frozen=True)
class Times:
    """The times of one protocol. ``ratio`` is the geometric mean over ``tests``, with a bootstrap interval (tests
    resampled); ``median_ratio`` shows whether most tests moved together. None if no test was timed on both."""

    protocol: str
    tests: tuple[TestLatency, ...]
    ratio: float | None
    interval: Interval | None
    median_ratio: float | None
    not_compared: tuple[NotCompared, ...]

    @property
    def has_run_variance(self) -> bool:
        """Whether the noise between runs is known for every test."""
        return all(test.change for test in self.tests)

    def found(self, verdict: str) -> tuple[TestLatency, ...]:
        """The tests with a verdict; those that changed most come first."""
        chosen = [test for test in self.tests if test.verdict == verdict]
        return tuple(sorted(chosen, key=lambda test: (-abs(math.log(test.ratio)), test.key)))


def times(first: SideFacts, second: SideFacts, protocol: str, limits: Limits) -> Times:
    """Compares the times of one protocol, ``cold`` or ``steady``, of the tests that passed in every run on both."""
    shared: dict[Key, tuple[Samples, Samples]] = {}
    left_out = []
    for key in sorted(first.tests.keys() | second.tests.keys()):
        if _only_checks([side.tests[key] for side in (first, second) if key in side.tests]):
            continue
        reason = _not_comparable(key, first, second, protocol)
        if reason:
            left_out.append(NotCompared(key, reason))
        else:
            shared[key] = (first.tests[key].samples[protocol], second.tests[key].samples[protocol])
    tests = _latencies(shared, protocol, limits)
    ratios = [test.ratio for test in tests]
    return Times(
        protocol=protocol,
        tests=tests,
        ratio=math.exp(mean_log(ratios)) if ratios else None,
        interval=bootstrap_ratio(ratios),
        median_ratio=median(ratios) if ratios else None,
        not_compared=tuple(left_out),
    )


def _not_comparable(key: Key, first: SideFacts, second: SideFacts, protocol: str) -> str:
    """Why the times of a test cannot be compared, or ''."""
    reason = absence(key, first, second)
    if reason:
        return reason
    tests = (first.tests[key], second.tests[key])
    if first.side.sync != second.side.sync:
        return "another synchronization ends the timed regions"
    if protocol == "cold" and first.first_calls != second.first_calls:
        return "each test has a process of its own on one side only (--cold)"
    for name, test in zip(NAMES, tests, strict=True):
        if test.verdict not in ("passed", "unknown"):
            return f"{test.verdict} on {name}"
    for name, test in zip(NAMES, tests, strict=True):
        if protocol not in test.samples:
            return _not_timed(name, test, protocol)
    calls = [test.samples[protocol] for test in tests]
    if calls[0].keys() != calls[1].keys():
        return f"other calls are timed: {len(calls[0])} on {NAMES[0]}, {len(calls[1])} on {NAMES[1]}"
    for name, samples in zip(NAMES, calls, strict=True):
        if not _whole_runs(samples):
            return f"no run timed all of its calls on {name}"
        if not all(median(ns) > 0 for by_run in samples.values() for ns in by_run.values()):
            return f"a median of 0 ns on {name}"
    return ""


def _only_checks(tests: Sequence[TestFacts]) -> bool:
    """Whether a test passed and has no times wherever it was recorded: it only checks values."""
    return all(test.verdict == "passed" and not test.samples and not test.has_failed_sync_check for test in tests)


def _not_timed(name: str, test: TestFacts, protocol: str) -> str:
    if test.has_failed_sync_check:
        return f"the synchronization check failed on {name}"
    others = " and ".join(sorted(test.samples))
    return f"other protocol: {others}, not {protocol} on {name}" if others else f"not timed on {name}"


def _latencies(shared: Mapping[Key, tuple[Samples, Samples]], protocol: str, limits: Limits) -> tuple[TestLatency, ...]:
    by_runs = [(_times_of_runs(first), _times_of_runs(second)) for first, second in shared.values()]
    noises = noise_of(by_runs)
    changes = [change(first, second, noise) for (first, second), noise in zip(by_runs, noises, strict=True)]
    # A first call happens once a run: of the cold times each run is one sample, however many calls it timed.
    samples = by_runs if protocol == "cold" else [_pooled(*sides) for sides in shared.values()]
    ps = _ps(samples, changes, limits)
    qs = dict(zip(ps, bh_adjusted(list(ps.values())), strict=True))
    found = []
    for place, (key, (first, second)) in enumerate(zip(shared, by_runs, strict=True)):
        before, after = mean_log(first), mean_log(second)
        found.append(
            TestLatency(
                key=key,
                first_ns=math.exp(before),
                second_ns=math.exp(after),
                ratio=math.exp(after - before),
                first_runs=len(first),
                second_runs=len(second),
                change=changes[place],
                p=ps.get(place),
                q=qs.get(place),
                verdict=_verdict(after - before, qs.get(place), limits),
            )
        )
    return tuple(found)


def _verdict(log_ratio: float, q: float | None, limits: Limits) -> str:
    if abs(log_ratio) < math.log1p(limits.effect):
        return "similar"
    if q is None or q > limits.alpha:
        return "unclear"
    return "slower" if log_ratio > 0 else "faster"


def _ps(
    samples: Sequence[tuple[Sequence[float], Sequence[float]]], changes: Sequence[Change | None], limits: Limits
) -> dict[int, float]:
    """p by the position of the test; none if Mann-Whitney's test cannot reach alpha with so few samples."""
    enough = {
        place: sides for place, sides in enumerate(samples) if least_p(*(len(side) for side in sides)) <= limits.alpha
    }
    by_runs = {place: found.p for place, found in enumerate(changes) if found}
    return {place: max(p, by_runs.get(place, 0)) for place, p in sorted(mann_whitney(enough).items())}


def _times_of_runs(samples: Samples) -> list[float]:
    """Nanoseconds of each run in which all calls were timed: the sum over the calls of the median of their samples."""
    return [sum(median(by_run[run]) for by_run in samples.values()) for run in _whole_runs(samples)]


def _whole_runs(samples: Samples) -> list[Run]:
    return sorted(set.intersection(*(set(by_run) for by_run in samples.values())))


def _pooled(first: Samples, second: Samples) -> tuple[list[float], list[float]]:
    """The samples of all calls and runs, each divided by its call's median on the first side."""
    scales = {call: median([ns for found in by_run.values() for ns in found]) for call, by_run in first.items()}
    return _scaled(first, scales), _scaled(second, scales)


def _scaled(samples: Samples, scales: Mapping[int, float]) -> list[float]:
    return [ns / scales[call] for call, by_run in samples.items() for found in by_run.values() for ns in found]
