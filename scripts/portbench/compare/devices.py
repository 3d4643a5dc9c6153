"""The difference of differences: what a change of version did on one device and not on another.

A slower machine, a new Python or a busy day changes both devices; a regression on only one of them is caused by the
framework there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from portbench.analysis.intervals import Interval
from portbench.compare.facts import Key
from portbench.compare.noise import bh_adjusted
from portbench.compare.outcomes import Outcomes
from portbench.compare.times import Limits, Times


@dataclass(frozen=True)
class LatencyDifference:
    """A test whose time changed by different factors on two devices. ``ratio_of_ratios`` is ``ratio`` over
    ``other_ratio``; above 1 the change made it slower on the first device. ``interval`` is its 95 % interval, ``q`` the
    p value adjusted for the number of tests."""

    key: Key
    ratio: float
    other_ratio: float
    ratio_of_ratios: float
    interval: Interval
    q: float


@dataclass(frozen=True)
class DeviceDifference:
    """What happened on only one of two devices, over the tests that were compared on both.

    A test that fails on the other device as well, before and after, is in none of the lists. ``latencies`` are the
    differences beyond noise and of at least the minimum effect, the greatest first; ``timed`` tests were compared.
    ``without_noise``: tests that are not compared, since each side ran once and the noise between runs is unknown.
    """

    device: str
    other: str
    failing_here_only: tuple[Key, ...]
    failing_there_only: tuple[Key, ...]
    failing_on_both: tuple[Key, ...]
    timed: int
    without_noise: int
    latencies: tuple[LatencyDifference, ...]


def difference(
    here: tuple[str, Outcomes, Times], there: tuple[str, Outcomes, Times], limits: Limits
) -> DeviceDifference:
    """Compares what the same change did on two devices. Each is a device with its outcomes and steady times."""
    uncertain = _uncertain(here[1]) | _uncertain(there[1])
    failing = [{change.key for change in outcomes.new_failures} - uncertain for _, outcomes, _ in (here, there)]
    other = {test.key: test for test in there[2].tests}
    shared = [(test, other[test.key]) for test in here[2].tests if test.key in other]
    known = [
        (one.key, one.ratio, two.ratio, one.change.minus(two.change))
        for one, two in shared
        if one.change and two.change
    ]
    qs = bh_adjusted([change.p for *_, change in known])
    found = [
        LatencyDifference(key, ratio, other_ratio, math.exp(change.log_ratio), Interval(*change.interval()), q)
        for (key, ratio, other_ratio, change), q in zip(known, qs, strict=True)
        if q <= limits.alpha and abs(change.log_ratio) >= math.log1p(limits.effect)
    ]
    return DeviceDifference(
        device=here[0],
        other=there[0],
        failing_here_only=_sorted(failing[0] - there[1].failing),
        failing_there_only=_sorted(failing[1] - here[1].failing),
        failing_on_both=_sorted(failing[0] & failing[1]),
        timed=len(known),
        without_noise=len(shared) - len(known),
        latencies=tuple(sorted(found, key=lambda each: (-abs(math.log(each.ratio_of_ratios)), each.key))),
    )


def _uncertain(outcomes: Outcomes) -> set[Key]:
    """Tests that may or may not have regressed on that device."""
    return {entry.key for entry in outcomes.not_compared}


def _sorted(keys: Iterable[Key]) -> tuple[Key, ...]:
    return tuple(sorted(keys))
