"""The two timing protocols. The clock is an argument.

*Cold*: the first call in a worker, until it returns and until its work is done.

*Steady*: after a warm-up, blocks of repeated calls, each followed by the wait, until the median over the blocks is
known well enough or the budget ends. The criterion is the non-parametric 95 % interval of the median (Le Boudec,
Performance Evaluation of Computer and Communication Systems, 2010, section 2.2; recommended for such stopping rules by
Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems, SC 2015).
"""

from __future__ import annotations

import gc
import math
from itertools import repeat
from typing import Any, Callable, Mapping, Sequence

Clock = Callable[[], int]

BLOCK_NS = 200_000
"""The least length of a block: thousands of times the cost of reading the clock."""

WARM_UP_SHARE = 0.02
"""The fraction of the budget that is spent before anything counts: ten blocks of the default budget, after the first
call and the observed one. docs/speed.md has times with a longer warm-up."""

FEWEST_BLOCKS = 10
"""A 95 % interval of a median needs at least six blocks."""

NARROW_ENOUGH = 0.02
"""The limit of half the interval's width over the median."""


def cold(
    clock: Clock, call: Callable[..., Any], wait: Callable[[Any], None], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, int, int]:
    """Calls once and waits. Returns the output, the nanoseconds until the call returned, and those of the wait."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        begin = clock()
        output = call(*args, **kwargs)
        returned = clock()
        wait(output)
        end = clock()
    finally:
        if collecting:
            gc.enable()
    return output, returned - begin, end - returned


def steady(
    clock: Clock,
    call: Callable[..., Any],
    wait: Callable[[Any], None],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    budget_ns: int,
    count: Callable[[], Mapping[str, int]] = dict,
) -> dict[str, Any]:
    """Calls repeatedly for about ``budget_ns`` at most; returns a ``steady`` object of the run schema.

    The raw block times are in nanoseconds for ``calls_per_block`` calls each. ``unmet`` names the criteria that were
    not met when the budget ended: ``blocks`` (fewer than FEWEST_BLOCKS), ``median_interval`` (wider than
    NARROW_ENOUGH). ``count`` returns the framework's counters as totals; their gain over the blocks is recorded.
    """

    def block(calls: int) -> int:
        begin = clock()
        for _ in repeat(None, calls):
            wait(call(*args, **kwargs))
        return clock() - begin

    collecting = gc.isenabled()
    gc.disable()
    try:
        start = clock()
        calls = 1
        warm_up_calls = 0
        while True:
            took = block(calls)
            warm_up_calls += calls
            long_enough = took >= BLOCK_NS
            if long_enough and clock() - start >= WARM_UP_SHARE * budget_ns:
                break
            if not long_enough:
                calls *= 2
        counted = count()
        blocks: list[int] = []
        while True:
            blocks.append(block(calls))
            fraction = median_interval_fraction(blocks)
            narrow = fraction is not None and fraction <= NARROW_ENOUGH
            enough = len(blocks) >= FEWEST_BLOCKS
            if (enough and narrow) or clock() - start >= budget_ns:
                break
    finally:
        if collecting:
            gc.enable()
    unmet = ([] if enough else ["blocks"]) + ([] if narrow else ["median_interval"])
    return {
        "warmup_calls": warm_up_calls,
        "calls_per_block": calls,
        "block_ns": blocks,
        "stable": not unmet,
        "unmet": unmet,
        "median_interval_fraction": fraction,
        "counters": gained(counted, count()),
    }


def gained(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """By how much counters rose, without those that did not rise."""
    risen = {name: after[name] - before.get(name, 0) for name in after}
    return {name: gain for name, gain in risen.items() if gain > 0}


def median_interval_fraction(samples: Sequence[int]) -> float | None:
    """Half the width of the 95 % interval of the median over the median; None if there is no such interval.

    The interval lies between the order statistics whose ranks are n/2 -+ 0.98 sqrt(n), the normal approximation of
    the binomial, and needs at least six samples.
    """
    count = len(samples)
    if count < 6:
        return None
    ordered = sorted(samples)
    low = max(0, math.floor((count - 1.96 * math.sqrt(count)) / 2) - 1)
    high = min(count - 1, math.ceil(1 + (count + 1.96 * math.sqrt(count)) / 2) - 1)
    median = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    if median <= 0:
        return None
    return (ordered[high] - ordered[low]) / 2 / median
