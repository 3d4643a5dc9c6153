"""What a report says of synchronisation: whether waiting was proven, and what the study's points of it leave out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median

from portbench.study.model import Target
from portbench.study.summary import Row
from portbench.util.format import NOTHING, in_ms, in_us, significant
from portbench.util.section import Section

_RATIO = (
    "Ratio: the time with the study's points of synchronisation over the time with the complete wait, over tests that "
    "passed with both. These are runs apart: near 1 the ratio says that the waits differ little in these tests. "
    "Without a ratio, runs with one of the two are missing (portbench run --sync). kernel seen: how much of a long "
    "kernel, up to its values on the host, the clock saw with the study's points; complete: with the complete wait."
)


def not_proven(entries: Sequence[Row]) -> Iterator[Section]:
    """The targets of which it was not proven that their clock sees the work of the device."""
    rows = [
        (
            str(Target(**entry["target"])),
            entry["machine"],
            str(entry["proofs"]["failed"]),
            str(entry["proofs"]["passed"] + entry["proofs"]["failed"]),
            entry["proofs"]["reason"] or NOTHING,
        )
        for entry in entries
        if entry["proofs"]["failed"]
    ]
    if rows:
        yield Section(
            "No latencies: waiting was not proven",
            ("target", "machine"),
            ("workers", "of"),
            ("reason",),
            tuple(rows),
            "Before a worker times anything, four times the work must take the clock at least 2.5 times as long. What "
            "ran in these workers has outcomes and no latencies.",
        )


def side_by_side(complete: Sequence[Row], as_study: Sequence[Row], times: Sequence[Row]) -> Iterator[Section]:
    """Both synchronisations: one table of all targets, then one of each target's functions.

    ``complete`` and ``as_study``: the summary's targets with the one and the other; ``times``: the rows of
    sql/synchronisation.sql.
    """
    seen = {_key(entry): entry["proofs"]["seen_fraction"] for entry in complete}
    of_target: dict[tuple[Target, str], list[Row]] = {}
    for row in times:
        target = Target(row["framework"], row["version"], row["device"])
        of_target.setdefault((target, row["machine"]), []).append(row)
    # Where nobody else ran, and nothing was proved, there is nothing to put side by side.
    as_study = [
        entry for entry in as_study if _key(entry) in seen or entry["proofs"]["passed"] + entry["proofs"]["failed"]
    ]
    keys = [_key(entry) for entry in as_study]
    if keys:
        rows = tuple(
            (
                str(key[0]),
                key[1],
                *_overall(of_target.get(key, [])),
                _percent(entry["proofs"]["seen_fraction"]),
                _percent(seen.get(key)),
                _proof(entry["proofs"]),
            )
            for key, entry in zip(keys, as_study, strict=True)
        )
        numbers = ("functions", "cold", "steady", "kernel seen %", "complete %")
        title = "Synchronisation: median ratio over functions"
        yield Section(title, ("target", "machine"), numbers, ("do the study's points wait?",), rows, _RATIO)
    for key in keys:
        if key in of_target:
            yield Section(
                f"Synchronisation of {key[0]} on {key[1]}",
                ("function",),
                ("cold ms", "study's", "ratio", "steady µs", "study's", "ratio"),
                (),
                tuple((_named(row), *_figures(row)) for row in of_target[key]),
            )


def _key(entry: Row) -> tuple[Target, str]:
    return Target(**entry["target"]), entry["machine"]


def _percent(fraction: float | None) -> str:
    return NOTHING if fraction is None else f"{100 * fraction:.1f}"


def _overall(rows: Sequence[Row]) -> tuple[str, ...]:
    return str(len(rows)), _median(map(_cold_ratio, rows)), _median(map(_steady_ratio, rows))


def _proof(proofs: Row) -> str:
    """By the same proof that the complete wait must pass."""
    if proofs["failed"]:
        return f"no: {proofs['reason']}" if proofs["reason"] else "no"
    return "yes" if proofs["passed"] else NOTHING


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
