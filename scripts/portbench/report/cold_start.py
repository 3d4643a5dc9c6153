"""The tables of a report on the parts of first calls, by the framework's own counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from portbench.report.functions import MOST_LISTED
from portbench.study.document import ColdSplit, FunctionEntry, TargetEntry
from portbench.study.model import Target
from portbench.tables.model import Cell, Cells, Table, fixed, names, numbers
from portbench.util.format import in_ms, percent_of

_PARTS = ("trace", "lower", "compile", "to_device", "execute", "from_device")
_OVERLAP = (
    "A call is left out (overlapping) if its parts add up to more than it took, because times are nested or overlap. "
    "A part that the framework does not report is blank and is in the rest."
)


def target_split(entry: TargetEntry) -> ColdSplit | None:
    """The parts of all first calls of a target; null where none has parts."""
    return _sum([function["cold_split"] for function in entry["functions"]])


def target_breakdown(found: Iterable[tuple[TargetEntry, ColdSplit | None]]) -> Iterator[Table]:
    """One row for each target: the share of each part. ``found``: targets with their ``target_split``."""
    totals = [(entry, total) for entry, total in found if total]
    known = [part for part in _PARTS if any(part in total["parts_ns"] for _, total in totals)]
    rows: list[Cells] = []
    for entry, total in totals:
        whole, parts = total["total_ns"], total["parts_ns"]
        rows.append(
            (
                *(str(Target(**entry["target"])), entry["machine"]),
                *(total["calls"], whole / total["calls"] if total["calls"] else None),
                *(percent_of(parts[part], whole) if part in parts else "" for part in known),
                *(percent_of(total["rest_ns"], whole), total["overlapping_calls"]),
            )
        )
    if rows:
        columns = (
            *names("target", "machine"),
            *numbers("calls"),
            *numbers("mean ms", shown=in_ms),
            *numbers(*map(_title, known), "rest", shown=fixed(1)),
            *numbers("overlapping"),
        )
        note = f"Over the timed first calls of the passing tests. {_OVERLAP}"
        yield Table.of_rows("First-call time breakdown, in percent", columns, rows, note)


def function_breakdown(functions: Sequence[tuple[str, FunctionEntry]]) -> Iterator[Table]:
    """One row for each function of a target: mean milliseconds of the parts of a first call. Where there are more than
    MOST_LISTED functions, only those with the longest first calls."""
    split = [(name, function["cold_split"]) for name, function in functions if function["cold_split"]]
    known = [part for part in _PARTS if any(part in parts["parts_ns"] for _, parts in split)]
    if known:
        columns = (
            *names("function"),
            *numbers("calls"),
            *numbers("mean", *map(_title, known), "rest", shown=in_ms),
            *numbers("overlapping"),
        )
        notes = []
        if len(split) > MOST_LISTED:
            notes = [f"The {MOST_LISTED} of {len(split):,} functions with the longest first calls."]
            split = sorted(split, key=lambda found: -_mean_ns(found[1]))[:MOST_LISTED]
        rows = [(name, *_means(parts, known)) for name, parts in split]
        yield Table.of_rows("First-call time breakdown, in ms", columns, rows, *notes)


def _mean_ns(split: ColdSplit) -> float:
    return split["total_ns"] / max(1, split["calls"])


def _means(split: ColdSplit, known: Sequence[str]) -> Iterator[Cell]:
    calls = split["calls"]
    yield calls
    for ns in (split["total_ns"], *(split["parts_ns"].get(part) for part in known), split["rest_ns"]):
        yield ns / calls if calls and ns is not None else None
    yield split["overlapping_calls"]


def _sum(of_functions: Sequence[ColdSplit | None]) -> ColdSplit | None:
    splits = [split for split in of_functions if split]
    if not splits:
        return None
    known = {part for split in splits for part in split["parts_ns"]}
    return {
        "calls": sum(split["calls"] for split in splits),
        "overlapping_calls": sum(split["overlapping_calls"] for split in splits),
        "total_ns": sum(split["total_ns"] for split in splits),
        "rest_ns": sum(split["rest_ns"] for split in splits),
        "parts_ns": {part: sum(split["parts_ns"].get(part, 0.0) for split in splits) for part in known},
    }


def _title(part: str) -> str:
    return part.replace("_", " ")
