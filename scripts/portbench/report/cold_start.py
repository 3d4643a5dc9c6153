"""The sections of a report on the parts of first calls, by the framework's own counters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from portbench.study.model import Target
from portbench.study.summary import Row
from portbench.util.format import NOTHING, in_ms, percent
from portbench.util.section import Section

_PARTS = ("trace", "lower", "compile", "to_device", "execute", "from_device")
_OVERLAP = (
    "A call is left out (overlapping) if its parts add up to more than it took, because times are nested or overlap. "
    "A part that the framework does not report is blank and is in the rest."
)


def target_breakdown(entries: Sequence[Row]) -> Iterator[Section]:
    """One row for each target: the share of each part."""
    found = [(entry, _sum([function["cold_split"] for function in entry["functions"]])) for entry in entries]
    totals = [(entry, total) for entry, total in found if total]
    known = [part for part in _PARTS if any(part in total["parts_ns"] for _, total in totals)]
    rows = []
    for entry, total in totals:
        whole = total["total_ns"]
        rows.append(
            (
                str(Target(**entry["target"])),
                entry["machine"],
                str(total["calls"]),
                in_ms(whole / total["calls"] if total["calls"] else None),
                *(percent(total["parts_ns"][part], whole) if part in total["parts_ns"] else "" for part in known),
                percent(total["rest_ns"], whole),
                str(total["overlapping_calls"]),
            )
        )
    if rows:
        yield Section(
            "First-call time breakdown, in percent",
            ("target", "machine"),
            ("calls", "mean ms", *map(_title, known), "rest", "overlapping"),
            (),
            tuple(rows),
            f"Over the timed first calls of the passing tests. {_OVERLAP}",
        )


def function_breakdown(functions: Sequence[tuple[str, Row]]) -> Iterator[Section]:
    """One row for each function of a target: mean milliseconds of the parts of a first call."""
    split = [(name, function["cold_split"]) for name, function in functions if function["cold_split"]]
    known = [part for part in _PARTS if any(part in parts["parts_ns"] for _, parts in split)]
    if known:
        yield Section(
            "First-call time breakdown, in ms",
            ("function",),
            ("calls", "mean", *map(_title, known), "rest", "overlapping"),
            (),
            tuple((name, *_means(parts, known)) for name, parts in split),
        )


def _means(split: Row, known: Sequence[str]) -> Iterator[str]:
    calls = split["calls"]
    yield str(calls)
    for ns in (split["total_ns"], *(split["parts_ns"].get(part) for part in known), split["rest_ns"]):
        yield in_ms(ns / calls) if calls and ns is not None else NOTHING
    yield str(split["overlapping_calls"])


def _sum(of_functions: Sequence[Row | None]) -> Row | None:
    splits = [split for split in of_functions if split]
    if not splits:
        return None
    total: Row = {name: sum(split[name] for split in splits) for name in splits[0] if name != "parts_ns"}
    known = {part for split in splits for part in split["parts_ns"]}
    total["parts_ns"] = {part: sum(split["parts_ns"].get(part, 0.0) for split in splits) for part in known}
    return total


def _title(part: str) -> str:
    return part.replace("_", " ")
