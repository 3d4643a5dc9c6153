"""The tables of the times of a comparison. Cells hold text out of run files, which printers escape."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from portbench.analysis.intervals import Interval
from portbench.compare.facts import Key
from portbench.compare.noise import least_p
from portbench.compare.times import Limits, TestLatency, Times
from portbench.tables.model import Cell, Table, names, numbers
from portbench.util.format import in_us, significant
from portbench.util.text import pluralize

PROTOCOL_TEXTS = {"steady": "steady state", "cold": "first call"}

MOVED_TOGETHER = (
    "Most steady-state times moved together, as on a busy or slower machine. Repeat both sides in turn before you "
    "blame a function."
)


def times_table(both: Sequence[Times], limits: Limits) -> Table:
    """How the times of each protocol changed, over all tests. ``both``: steady, then cold."""
    rows = [
        (
            *(PROTOCOL_TEXTS[times.protocol], len(times.tests)),
            *(times.ratio, shown_interval(times.interval), times.median_ratio, *_counts(times)),
        )
        for times in both
    ]
    columns = (
        *names("time"),
        *numbers("tests"),
        *numbers("geometric mean", "95 %", "median", shown=significant),
        *numbers("slower", "faster", "unclear"),
    )
    return Table.of_rows("Times: after over before", columns, rows, " ".join(_notes(both, limits)))


def _counts(times: Times) -> Iterator[int | None]:
    """The numbers of tests that are slower, faster and unclear; None if no test has a verdict."""
    for verdict in ("slower", "faster", "unclear"):
        yield len(times.found(verdict)) if any(test.q is not None for test in times.tests) else None


def _notes(both: Sequence[Times], limits: Limits) -> Iterator[str]:
    yield (
        "Of the tests that passed in every run and were timed on both sides. Slower, faster: by "
        f"{100 * limits.effect:g} % at least and more than noise, by Mann-Whitney's test of the samples and by how "
        f"much runs of one side differ; at most {100 * limits.alpha:g} % of them are expected to be false (Benjamini "
        "and Hochberg, over the tests of a row). Unclear: as great a change, which noise may explain. "
        "The interval of the geometric mean is over tests: it does not cover what changes all of them alike."
    )
    steady = both[0].tests
    if steady and not both[0].has_run_variance:
        yield (
            "With one run on each side, noise between runs is NOT covered: 'slower' may mean only that these two "
            "processes differ. Run each side three times or more."
        )
    for times in both:
        few = [test for test in times.tests if test.p is None]
        if few:
            least = min(least_p(test.first_runs, test.second_runs) for test in few)
            yield (
                f"{PROTOCOL_TEXTS[times.protocol]}: {pluralize(len(few), 'test')} with too few samples for any verdict "
                f"(p could be {least:.2g} at best)."
            )
    if steady and moved_together(steady, limits):
        yield MOVED_TOGETHER


def moved_together(tests: Sequence[TestLatency], limits: Limits) -> bool:
    """Whether most times changed in one direction, which is the machine more often than the functions."""
    ratios = [math.log(test.ratio) for test in tests]
    least = math.log1p(limits.effect)
    return len(ratios) >= 4 and max(sum(r >= least for r in ratios), sum(r <= -least for r in ratios)) > len(ratios) / 2


def latency_tables(times: Times) -> Iterator[Table]:
    """A table of the tests that are slower and one of those that are faster, unless empty."""
    columns = (
        *names("function", "test"),
        *numbers("before µs", "after µs", shown=in_us),
        *numbers("ratio", "95 %", shown=significant),
        *numbers("q", shown=shown_q),
        *numbers("runs"),
    )
    for verdict in ("slower", "faster"):
        rows = [
            (
                *(*cells_of(test.key), test.first_ns, test.second_ns, test.ratio, shown_interval(test.interval)),
                *(test.q, f"{test.first_runs}+{test.second_runs}"),
            )
            for test in times.found(verdict)
        ]
        if rows:
            yield Table.of_rows(f"{verdict.capitalize()} ({PROTOCOL_TEXTS[times.protocol]})", columns, rows)


def cells_of(key: Key) -> tuple[Cell, Cell]:
    """The cells that name a test: its function and its id."""
    return named(key.function, key.successor_of), key.test


def named(function: str, successor_of: str) -> str:
    """The name of a function. ``successor_of``: the function that it replaces, or ''."""
    return f"{function} (successor of {successor_of})" if successor_of else function


def shown_interval(interval: Interval | None) -> str | None:
    """Low to high end of an interval."""
    return f"{significant(interval.low)} to {significant(interval.high)}" if interval else None


def shown_q(q: float) -> str:
    """The expected share of false changes among those that are at least as clear."""
    return f"{q:.2g}"
