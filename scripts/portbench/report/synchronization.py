"""The tables of a report on synchronization: failed checks, and what the paper's synchronization leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median

from portbench.study.document import SyncChecks, TargetEntry
from portbench.study.model import Target
from portbench.study.summary import Row
from portbench.tables.model import Cell, Table, fixed, names, numbers, texts
from portbench.util.format import in_ms, in_us, significant

_RATIO = (
    "Ratio: the time with the paper's points of synchronization over the time with the complete wait, over tests that "
    "passed with both. These are different runs: near 1 the waits differ little in these tests. Without a ratio, runs "
    "with one of the two are missing (portbench run --sync). kernel seen: how much of a long kernel, up to its values "
    "on the host, the clock saw with the paper's points; complete: with the complete wait."
)


def failed_checks(entries: Sequence[TargetEntry]) -> Iterator[Table]:
    """The targets whose synchronization check failed: their clock may not see the device's work."""
    rows = [
        (
            str(Target(**entry["target"])),
            entry["machine"],
            entry["sync_checks"]["failed"],
            entry["sync_checks"]["passed"] + entry["sync_checks"]["failed"],
            entry["sync_checks"]["reason"] or None,
        )
        for entry in entries
        if entry["sync_checks"]["failed"]
    ]
    if rows:
        yield Table.of_rows(
            "Synchronization check failed: no latencies",
            (*names("target", "machine"), *numbers("workers", "of"), *texts("reason")),
            rows,
            "Before a worker times anything, four times the work must take at least 2.5 times as long by its clock. "
            "The tests of these workers have outcomes and no latencies.",
        )


def comparison(
    complete: Sequence[TargetEntry], as_published: Sequence[TargetEntry], times: Sequence[Row]
) -> Iterator[Table]:
    """Both synchronizations: one table of all targets, then one of each target's functions.

    ``complete`` and ``as_published``: the summary's targets with the one and the other; ``times``: the rows of
    sql/synchronization.sql.
    """
    seen = {_key(entry): entry["sync_checks"]["seen_fraction"] for entry in complete}
    of_target: dict[tuple[Target, str], list[Row]] = {}
    for row in times:
        target = Target(row["framework"], row["version"], row["device"])
        of_target.setdefault((target, row["machine"]), []).append(row)
    # Without a run with the complete wait and without a check there is nothing to compare.
    compared = {
        _key(entry): entry["sync_checks"]
        for entry in as_published
        if _key(entry) in seen or entry["sync_checks"]["passed"] + entry["sync_checks"]["failed"]
    }
    if compared:
        rows = [
            (
                *(str(key[0]), key[1], *_overall(of_target.get(key, []))),
                *(_percent(checks["seen_fraction"]), _percent(seen.get(key)), _check(checks)),
            )
            for key, checks in compared.items()
        ]
        columns = (
            *names("target", "machine"),
            *numbers("functions"),
            *numbers("first call", "steady state", shown=significant),
            *numbers("kernel seen %", "complete %", shown=fixed(1)),
            *texts("do the paper's points wait?"),
        )
        yield Table.of_rows("Synchronization as published: median ratio over functions", columns, rows, _RATIO)
    columns = (
        *names("function"),
        *numbers("first call ms", "paper's", shown=in_ms),
        *numbers("ratio", shown=significant),
        *numbers("steady state µs", "paper's", shown=in_us),
        *numbers("ratio", shown=significant),
    )
    for key in compared:
        if key in of_target:
            title = f"Synchronization of {key[0]} on {key[1]}"
            yield Table.of_rows(title, columns, [(_named(row), *_figures(row)) for row in of_target[key]])


def _key(entry: TargetEntry) -> tuple[Target, str]:
    return Target(**entry["target"]), entry["machine"]


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction


def _overall(rows: Sequence[Row]) -> tuple[Cell, ...]:
    return len(rows), _median(map(_cold_ratio, rows)), _median(map(_steady_ratio, rows))


def _check(checks: SyncChecks) -> str | None:
    """The result of the check that the complete wait must pass too."""
    if checks["failed"]:
        return f"no: {checks['reason']}" if checks["reason"] else "no"
    return "yes" if checks["passed"] else None


def _figures(row: Row) -> Iterator[float | None]:
    yield from (row["cold_ns"], row["study_cold_ns"], _cold_ratio(row))
    yield from (row["steady_ns"], row["study_steady_ns"], _steady_ratio(row))


def _ratio(complete: str, study: str) -> Callable[[Row], float | None]:
    return lambda row: row[study] / row[complete] if row[complete] and row[study] is not None else None


_cold_ratio = _ratio("cold_ns", "study_cold_ns")
_steady_ratio = _ratio("steady_ns", "study_steady_ns")


def _median(ratios: Iterable[float | None]) -> float | None:
    known = [ratio for ratio in ratios if ratio is not None]
    return median(known) if known else None


def _named(row: Row) -> str:
    return f"{row['function']} (successor of {row['successor_of']})" if row["successor_of"] else str(row["function"])
