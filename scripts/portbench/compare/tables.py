"""The tables of a comparison in the order in which they are shown; differences between the environments come first.

Cells hold text out of run files, which printers escape. Notes and numbers are portbench's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from portbench.compare.comparison import Comparison, DevicesComparison, PairComparison
from portbench.compare.environment import Drift
from portbench.compare.outcomes import FunctionChange, TestChange
from portbench.compare.selection import Unpaired
from portbench.compare.time_tables import cells_of, latency_tables, named, shown_interval, shown_q, times_table
from portbench.compare.times import Limits
from portbench.study.model import STATUS_TEXTS
from portbench.tables.model import Cells, Group, Table, names, numbers, texts
from portbench.util.format import significant
from portbench.util.text import pluralize

_PACKAGES = 8


@dataclass(frozen=True)
class Part:
    """A title, which has text out of run files, and the tables below it."""

    title: str
    tables: tuple[Table, ...]


def parts(comparison: Comparison, most_rows: int) -> list[Part]:
    """All parts of a comparison. A table of more than ``most_rows`` rows is cut, and its note says so."""
    found = [_pair(pair, comparison.limits) for pair in comparison.pairs]
    found += [_devices(each, comparison.limits) for each in comparison.devices]
    if comparison.unpaired:
        found.append(Part("Targets that were not compared", (_unpaired(comparison.unpaired),)))
    return [Part(part.title, tuple(_cut(table, most_rows) for table in part.tables)) for part in found]


def _pair(pair: PairComparison, limits: Limits) -> Part:
    found = pair.outcomes
    tables = [
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
        times_table((pair.steady, pair.cold), limits),
        *latency_tables(pair.steady),
        *latency_tables(pair.cold),
        *_not_compared(pair),
    ]
    return Part(f"{pair.first} ({_runs(pair.first_runs)}) → {pair.second} ({_runs(pair.second_runs)})", tuple(tables))


def _runs(count: int) -> str:
    return pluralize(count, "run")


def _drift(changes: Sequence[Drift]) -> Table:
    packages = [change for change in changes if change.kind == "package"]
    shown = [change for change in changes if change.kind != "package"] + packages[:_PACKAGES]
    note = "In addition to the target. Any of these may have caused a change." if changes else "Nothing differs."
    if packages[_PACKAGES:]:
        note += f" {pluralize(len(packages) - _PACKAGES, 'more package')} of another version: --json lists all."
    rows = [(_what(change), _values(change.first), _values(change.second)) for change in shown]
    return Table.of_rows(
        "Differences between the environments", (*names("what"), *texts("before", "after")), rows, note
    )


def _what(change: Drift) -> str:
    return (change.kind if change.kind == change.name else f"{change.kind}: {change.name}").replace("_", " ")


def _values(values: Sequence[str]) -> str | None:
    return ", ".join(values) or None


def _summary(pair: PairComparison) -> Table:
    found = pair.outcomes
    rows = [
        ("compared", found.compared, None),
        ("newly failing", len(found.new_failures), len(found.newly_failing)),
        ("newly passing", len(found.new_passes), len(found.newly_passing)),
        ("new wrong values", len(found.new_wrong), _of_functions(found.new_wrong)),
        ("passed before, not run now", len(found.not_run), _of_functions(found.not_run)),
        ("fail for another reason", len(found.categories), _of_functions(found.categories)),
        ("other placement", len(found.placements), _of_functions(found.placements)),
        ("flaky on a side", len(found.flaky), _of_functions(found.flaky)),
        ("not comparable", len(found.not_compared), len({entry.key[:2] for entry in found.not_compared})),
    ]
    note = (
        "Tests that passed in every run, or in none, on both sides. A function is newly failing if all of these passed "
        "before, newly passing if all pass now."
    )
    if min(pair.first_runs, pair.second_runs) == 1:
        note += " With one run on a side, flaky tests are not recognized: a new failure may be one."
    return Table.of_rows("What changed", (*names("what"), *numbers("tests", "functions")), rows, note)


def _of_functions(changes: Iterable[TestChange]) -> int:
    return len({change.key[:2] for change in changes})


def _functions(pair: PairComparison) -> Iterator[Table]:
    rows = [
        (named(change.function, change.successor_of), change.tests, _statuses(change))
        for change in sorted(pair.outcomes.functions, key=lambda each: (each.after == "all_pass", each.function))
    ]
    if rows:
        columns = (*names("function"), *numbers("tests"), *texts("status"))
        yield Table.of_rows("Functions whose status changed", columns, rows)


def _statuses(change: FunctionChange) -> str:
    return f"{STATUS_TEXTS[change.before]} → {STATUS_TEXTS[change.after]}"


def _changes(title: str, changes: Sequence[TestChange], evidence: str) -> Iterator[Table]:
    if changes:
        rows = [(*cells_of(each.key), f"{each.before} → {each.after}", each.evidence) for each in changes]
        yield Table.of_rows(title, (*names("function", "test"), *texts("before → after", evidence)), rows)


def _not_compared(pair: PairComparison) -> Iterator[Table]:
    every = (pair.outcomes, pair.steady, pair.cold)
    counts = [Counter(entry.reason for entry in compared.not_compared) for compared in every]
    total = sum(counts, Counter[str]())
    if total:
        reasons = sorted(total, key=lambda reason: (-total[reason], reason))
        rows: list[Cells] = [(*(found[reason] for found in counts), reason) for reason in reasons]
        columns = (*numbers("outcome", "steady state", "first call"), *texts("why"))
        yield Table.of_rows("Tests that are not comparable, by reason", columns, rows)


def _devices(found: DevicesComparison, limits: Limits) -> Part:
    what = found.difference
    rows: list[Cells] = [
        (f"only on {what.device}", len(what.failing_here_only)),
        (f"only on {what.other}", len(what.failing_there_only)),
        ("on both", len(what.failing_on_both)),
    ]
    note = "Of the tests that were compared on both. A failure on one device only is specific to that device."
    tables = [Table.of_rows("New failures", (*names("where"), *numbers("tests")), rows, note)]
    for device, keys in ((what.device, what.failing_here_only), (what.other, what.failing_there_only)):
        if keys:
            title = f"Fails now on {device} only"
            tables.append(Table.of_rows(title, names("function", "test"), map(cells_of, keys)))
    note = (
        f"Ratio of ratios: above 1 the change made it slower on {what.device} than on {what.other}. Of "
        f"{pluralize(what.timed, 'test')} with steady-state times on both: by {100 * limits.effect:g} % at least, and "
        "more than noise between runs (Benjamini and Hochberg as above)."
    )
    if what.without_noise:
        left_out = pluralize(what.without_noise, "test")
        note += f" {left_out} left out: with one run on each side the noise between runs is not known."
    rows = [
        (
            *(*cells_of(each.key), each.ratio, each.other_ratio, each.ratio_of_ratios),
            *(shown_interval(each.interval), each.q),
        )
        for each in what.latencies
    ]
    columns = (
        *names("function", "test"),
        *numbers(f"on {what.device}", f"on {what.other}", "ratio of ratios", "95 %", shown=significant),
        *numbers("q", shown=shown_q),
    )
    heading = "Times that changed on one more than on the other" + ("" if rows else ": none")
    tables.append(Table.of_rows(heading, columns, rows, note))
    title = f"{found.here[0].target} → {found.here[1].target}: {what.device} against {what.other}"
    return Part(title, tuple(tables))


def _unpaired(unpaired: Iterable[Unpaired]) -> Table:
    rows = [(str(each.side), "before" if each.is_first else "after", each.reason) for each in unpaired]
    return Table.of_rows("In one study only", (*names("target"), *texts("study", "why")), rows)


def _cut(table: Table, most: int) -> Table:
    left = len(table.flat_rows) - most
    if left <= 0:
        return table
    note = " ".join((f"And {pluralize(left, 'row')} more: --json has all.", *table.notes))
    return replace(table, groups=(Group(table.flat_rows[:most]),), notes=(note,))
