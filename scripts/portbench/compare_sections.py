"""What is shown of a comparison, and in which order, as tables of text: what differs between the environments first.

Cells hold text out of run files; whoever prints them escapes it. Notes and numbers are ours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from portbench.compare import Comparison, DevicesComparison, PairComparison
from portbench.compare_drift import Drift
from portbench.compare_facts import Key
from portbench.compare_noise import least_p
from portbench.compare_outcomes import TestChange
from portbench.compare_sides import Unpaired
from portbench.compare_times import Limits, TestLatency, Times
from portbench.intervals import Interval
from portbench.printable import number
from portbench.report_figures import NOTHING, in_us, significant
from portbench.report_section import Section

_PACKAGES = 8


@dataclass(frozen=True)
class Part:
    """A part of what is shown: a title, made of text out of run files, and the tables below it."""

    title: str
    sections: tuple[Section, ...]


def parts(comparison: Comparison, most_rows: int) -> list[Part]:
    """All that is shown; a table of more than ``most_rows`` is cut, and says so."""
    found = [_pair(pair, comparison.limits) for pair in comparison.pairs]
    found += [_devices(each, comparison.limits) for each in comparison.devices]
    if comparison.unpaired:
        found.append(Part("Targets that were not compared", (_unpaired(comparison.unpaired),)))
    return [Part(part.title, tuple(_cut(section, most_rows) for section in part.sections)) for part in found]


def _pair(pair: PairComparison, limits: Limits) -> Part:
    found = pair.outcomes
    sections = [
        _drift(pair.drift),
        _summary(pair),
        *_functions(pair),
        *_changes("New failures", found.new_failures, "why"),
        *_changes("New wrong values", found.new_wrong, "why"),
        *_changes("Passed before, not run now", found.not_run, "why"),
        *_changes("New passes", found.new_passes, "failed with"),
        *_changes("Fail for another reason", found.categories, "why"),
        *_changes("Other placement", found.placements, "on the host"),
        *_changes("Flaky: neither new failures nor new passes", found.flaky, "fails with"),
        _times((pair.steady, pair.cold), limits),
        *_latencies(pair.steady),
        *_latencies(pair.cold),
        *_not_compared(pair),
    ]
    return Part(f"{pair.first} ({_runs(pair.first_runs)}) → {pair.second} ({_runs(pair.second_runs)})", tuple(sections))


def _runs(count: int) -> str:
    return number(count, "run")


def _drift(changes: Sequence[Drift]) -> Section:
    packages = [change for change in changes if change.kind == "package"]
    shown = [change for change in changes if change.kind != "package"] + packages[:_PACKAGES]
    note = "Beside the target. What changed may be the doing of any of these." if changes else "Nothing differs."
    if packages[_PACKAGES:]:
        note += f" {number(len(packages) - _PACKAGES, 'more package')} of another version: --json lists all."
    return Section(
        "What else differs between the two",
        ("what",),
        (),
        ("before", "after"),
        tuple((_what(change), _values(change.first), _values(change.second)) for change in shown),
        note,
    )


def _what(change: Drift) -> str:
    return (change.kind if change.kind == change.name else f"{change.kind}: {change.name}").replace("_", " ")


def _values(values: Sequence[str]) -> str:
    return ", ".join(values) or NOTHING


def _summary(pair: PairComparison) -> Section:
    found = pair.outcomes
    rows = [
        ("were compared", found.compared, None),
        ("newly failing", len(found.new_failures), len(found.newly_failing)),
        ("newly passing", len(found.new_passes), len(found.newly_passing)),
        ("new wrong values", len(found.new_wrong), _of_functions(found.new_wrong)),
        ("passed before, not run now", len(found.not_run), _of_functions(found.not_run)),
        ("fail for another reason", len(found.categories), _of_functions(found.categories)),
        ("other placement", len(found.placements), _of_functions(found.placements)),
        ("flaky on a side", len(found.flaky), _of_functions(found.flaky)),
        ("not comparable", len(found.not_compared), len({entry.key[:2] for entry in found.not_compared})),
    ]
    cells = tuple(
        (what, f"{tests:,}", NOTHING if functions is None else f"{functions:,}") for what, tests, functions in rows
    )
    note = (
        "Tests that passed in every run, or in none, on both sides. A function is newly failing if all of these passed "
        "before, newly passing if all pass now."
    )
    if min(pair.first_runs, pair.second_runs) == 1:
        note += " With one run of a side, a flaky test looks like any other: a new failure may be one."
    return Section("What changed", ("what",), ("tests", "functions"), (), cells, note)


def _of_functions(changes: Iterable[TestChange]) -> int:
    return len({change.key[:2] for change in changes})


def _functions(pair: PairComparison) -> Iterator[Section]:
    rows = tuple(
        (_named(change.function, change.successor_of), str(change.tests), f"{change.before} → {change.after}")
        for change in sorted(pair.outcomes.functions, key=lambda each: (each.after == "pass", each.function))
    )
    if rows:
        yield Section("Functions of another status", ("function",), ("tests",), ("status",), rows)


def _changes(title: str, changes: Sequence[TestChange], evidence: str) -> Iterator[Section]:
    if changes:
        rows = tuple((*_names(change.key), f"{change.before} → {change.after}", change.evidence) for change in changes)
        yield Section(title, ("function", "test"), (), ("before → after", evidence), rows)


def _times(both: Sequence[Times], limits: Limits) -> Section:
    rows = tuple(
        (
            times.protocol,
            f"{len(times.tests):,}",
            NOTHING if times.ratio is None else significant(times.ratio),
            _interval(times.interval),
            NOTHING if times.median_ratio is None else significant(times.median_ratio),
            *_counts(times),
        )
        for times in both
    )
    return Section(
        "Times: after over before",
        ("protocol",),
        ("tests", "geometric mean", "95 %", "median", "slower", "faster", "unclear"),
        (),
        rows,
        " ".join(_notes(both, limits)),
    )


def _counts(times: Times) -> Iterator[str]:
    """How many tests are slower, faster, unclear; dashes where nothing could be said of any."""
    for verdict in ("slower", "faster", "unclear"):
        yield f"{len(times.found(verdict)):,}" if any(test.q is not None for test in times.tests) else NOTHING


def _notes(both: Sequence[Times], limits: Limits) -> Iterator[str]:
    yield (
        "Of the tests that passed in every run and were timed on both sides. Slower, faster: by "
        f"{100 * limits.effect:g} % at least and more than noise, by Mann-Whitney's test of the samples and by how "
        f"much runs of one side differ; at most {100 * limits.alpha:g} % of them are expected to be false (Benjamini "
        "and Hochberg, over the tests of a protocol). Unclear: as great a change, which noise may explain. "
        "The interval of the geometric mean is over tests: what moves all of them alike is not in it."
    )
    steady = both[0].tests
    if steady and not both[0].covers_runs:
        yield (
            "With one run on each side, noise between runs is NOT covered: processes differ, and 'slower' may say no "
            "more than that these two did. Run each side three times or more."
        )
    for times in both:
        few = [test for test in times.tests if test.p is None]
        if few:
            least = min(least_p(test.first_runs, test.second_runs) for test in few)
            yield (
                f"{times.protocol}: {number(len(few), 'test')} with too few samples for any verdict "
                f"(p could be {least:.2g} at best)."
            )
    if steady and _moved_together(steady, limits):
        yield (
            "Most steady times moved together: a busy or slower machine would do that too. Repeat both sides in turn "
            "before a function is blamed."
        )


def _moved_together(tests: Sequence[TestLatency], limits: Limits) -> bool:
    ratios = [math.log(test.ratio) for test in tests]
    least = math.log1p(limits.effect)
    return len(ratios) >= 4 and max(sum(r >= least for r in ratios), sum(r <= -least for r in ratios)) > len(ratios) / 2


def _latencies(times: Times) -> Iterator[Section]:
    for verdict in ("slower", "faster"):
        rows = tuple(
            (
                *_names(test.key),
                in_us(test.first_ns),
                in_us(test.second_ns),
                significant(test.ratio),
                _interval(test.interval),
                NOTHING if test.q is None else f"{test.q:.2g}",
                f"{test.first_runs}+{test.second_runs}",
            )
            for test in times.found(verdict)
        )
        if rows:
            numbers = ("before µs", "after µs", "ratio", "95 %", "q", "runs")
            yield Section(f"{verdict.capitalize()} ({times.protocol})", ("function", "test"), numbers, (), rows)


def _not_compared(pair: PairComparison) -> Iterator[Section]:
    every = (pair.outcomes, pair.steady, pair.cold)
    counts = [Counter(entry.reason for entry in compared.not_compared) for compared in every]
    total = sum(counts, Counter[str]())
    if total:
        reasons = sorted(total, key=lambda reason: (-total[reason], reason))
        rows = tuple((*(f"{found[reason]:,}" for found in counts), reason) for reason in reasons)
        numbers = ("outcome", "steady time", "cold time")
        yield Section("Not comparable: tests, and why", (), numbers, ("why",), rows)


def _devices(found: DevicesComparison, limits: Limits) -> Part:
    what = found.difference
    sections = [
        Section(
            "New failures",
            ("where",),
            ("tests",),
            (),
            (
                (f"only on {what.device}", f"{len(what.failing_here_only):,}"),
                (f"only on {what.other}", f"{len(what.failing_there_only):,}"),
                ("on both", f"{len(what.failing_on_both):,}"),
            ),
            "Of the tests that were compared on both. What fails on one only is that device's.",
        )
    ]
    for device, keys in ((what.device, what.failing_here_only), (what.other, what.failing_there_only)):
        if keys:
            rows = tuple(map(_names, keys))
            sections.append(Section(f"Fails now on {device} only", ("function", "test"), (), (), rows))
    note = (
        f"Ratio of ratios: above 1 the change made it slower on {what.device} than on {what.other}. Of "
        f"{number(what.timed, 'test')} with steady times on both: by {100 * limits.effect:g} % at least, and more than "
        "noise between runs (Benjamini and Hochberg as above)."
    )
    if what.without_noise:
        left_out = number(what.without_noise, "test")
        note += f" {left_out} left out: with one run a side the noise between runs is not known."
    latencies = tuple(
        (
            *_names(each.key),
            significant(each.ratio),
            significant(each.other_ratio),
            significant(each.ratio_of_ratios),
            _interval(each.interval),
            f"{each.q:.2g}",
        )
        for each in what.latencies
    )
    numbers = (f"on {what.device}", f"on {what.other}", "ratio of ratios", "95 %", "q")
    heading = "Times that changed on one more than on the other" + ("" if latencies else ": none")
    sections.append(Section(heading, ("function", "test"), numbers, (), latencies, note))
    title = f"{found.here[0].target} → {found.here[1].target}: {what.device} against {what.other}"
    return Part(title, tuple(sections))


def _unpaired(unpaired: Iterable[Unpaired]) -> Section:
    rows = tuple((str(each.side), "before" if each.is_first else "after", each.reason) for each in unpaired)
    return Section("In one study only", ("target",), (), ("study", "why"), rows)


def _names(key: Key) -> tuple[str, str]:
    return _named(key.function, key.successor_of), key.test


def _named(function: str, successor_of: str) -> str:
    return f"{function} (successor of {successor_of})" if successor_of else function


def _interval(interval: Interval | None) -> str:
    return f"{significant(interval.low)} to {significant(interval.high)}" if interval else NOTHING


def _cut(section: Section, most: int) -> Section:
    left = len(section.rows) - most
    if left <= 0:
        return section
    note = " ".join(filter(None, (f"And {number(left, 'row')} more: --json has all.", section.note)))
    return Section(section.title, section.names, section.numbers, section.texts, section.rows[:most], note)
