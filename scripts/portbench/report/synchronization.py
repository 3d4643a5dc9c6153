"""The sections of a report on synchronization: failed checks, and what the paper's synchronization leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median

from portbench.study.model import Target
from portbench.study.summary import Row
from portbench.util.format import NOTHING, in_ms, in_us, significant
from portbench.util.section import Section

_RATIO = (
    "Ratio: the time with the paper's points of synchronization over the time with the complete wait, over tests that "
    "passed with both. These are different runs: near 1 the waits differ little in these tests. Without a ratio, runs "
    "with one of the two are missing (portbench run --sync). kernel seen: how much of a long kernel, up to its values "
    "on the host, the clock saw with the paper's points; complete: with the complete wait."
)


def failed_checks(entries: Sequence[Row]) -> Iterator[Section]:
    """The targets whose synchronization check failed: their clock may not see the device's work."""
    rows = [
        (
            str(Target(**entry["target"])),
            entry["machine"],
            str(entry["sync_checks"]["failed"]),
            str(entry["sync_checks"]["passed"] + entry["sync_checks"]["failed"]),
            entry["sync_checks"]["reason"] or NOTHING,
        )
        for entry in entries
        if entry["sync_checks"]["failed"]
    ]
    if rows:
        yield Section(
            "Synchronization check failed: no latencies",
            ("target", "machine"),
            ("workers", "of"),
            ("reason",),
            tuple(rows),
            "Before a worker times anything, four times the work must take at least 2.5 times as long by its clock. "
            "The tests of these workers have outcomes and no latencies.",
        )


def comparison(complete: Sequence[Row], as_published: Sequence[Row], times: Sequence[Row]) -> Iterator[Section]:
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
    as_published = [
        entry
        for entry in as_published
        if _key(entry) in seen or entry["sync_checks"]["passed"] + entry["sync_checks"]["failed"]
    ]
    keys = [_key(entry) for entry in as_published]
    if keys:
        rows = tuple(
            (
                str(key[0]),
                key[1],
                *_overall(of_target.get(key, [])),
                _percent(entry["sync_checks"]["seen_fraction"]),
                _percent(seen.get(key)),
                _check(entry["sync_checks"]),
            )
            for key, entry in zip(keys, as_published, strict=True)
        )
        numbers = ("functions", "first call", "steady state", "kernel seen %", "complete %")
        title = "Synchronization as published: median ratio over functions"
        yield Section(title, ("target", "machine"), numbers, ("do the paper's points wait?",), rows, _RATIO)
    for key in keys:
        if key in of_target:
            yield Section(
                f"Synchronization of {key[0]} on {key[1]}",
                ("function",),
                ("first call ms", "paper's", "ratio", "steady state µs", "paper's", "ratio"),
                (),
                tuple((_named(row), *_figures(row)) for row in of_target[key]),
            )


def _key(entry: Row) -> tuple[Target, str]:
    return Target(**entry["target"]), entry["machine"]


def _percent(fraction: float | None) -> str:
    return NOTHING if fraction is None else f"{100 * fraction:.1f}"


def _overall(rows: Sequence[Row]) -> tuple[str, ...]:
    return str(len(rows)), _median(map(_cold_ratio, rows)), _median(map(_steady_ratio, rows))


def _check(checks: Row) -> str:
    """The result of the check that the complete wait must pass too."""
    if checks["failed"]:
        return f"no: {checks['reason']}" if checks["reason"] else "no"
    return "yes" if checks["passed"] else NOTHING


def _figures(row: Row) -> Iterator[str]:
    yield from (in_ms(row["cold_ns"]), in_ms(row["study_cold_ns"]), _shown(_cold_ratio(row)))
    yield from (in_us(row["steady_ns"]), in_us(row["study_steady_ns"]), _shown(_steady_ratio(row)))


def _ratio(complete: str, study: str) -> Callable[[Row], float | None]:
    return lambda row: row[study] / row[complete] if row[complete] and row[study] is not None else None


_cold_ratio = _ratio("cold_ns", "study_cold_ns")
_steady_ratio = _ratio("steady_ns", "study_steady_ns")


def _median(ratios: Iterable[float | None]) -> str:
    known = [ratio for ratio in ratios if ratio is not None]
    return _shown(median(known) if known else None)


def _shown(ratio: float | None) -> str:
    return NOTHING if ratio is None else significant(ratio)


def _named(row: Row) -> str:
    return f"{row['function']} (successor of {row['successor_of']})" if row["successor_of"] else str(row["function"])
