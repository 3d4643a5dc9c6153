"""What a report says of where tests ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from portbench.study.summary import Row
from portbench.util.format import NOTHING, counted
from portbench.util.section import Section

_PLACES = {"device": "device", "host": "host", "mixed": "mixed", "unknown": "unknown"}


def ran_on(function: Row) -> str:
    """Where the passing tests of a function ran: ``device``, or ``device 2, host 1``."""
    return counted(function["tests_by_placement"], _PLACES)


def fallbacks(functions: Sequence[tuple[str, Row]], strict: bool) -> Iterator[Section]:
    """What passed, but did not run wholly on the device, and what of it was computed on the host."""
    rows = []
    for name, function in functions:
        elsewhere = {place: function["tests_by_placement"].get(place, 0) for place in ("host", "mixed")}
        if any(elsewhere.values()):
            places = counted({place: tests for place, tests in elsewhere.items() if tests}, _PLACES)
            operations = ", ".join(operation["name"] for operation in function["host_operations"])
            rows.append((name, str(sum(elsewhere.values())), places, operations or NOTHING))
    if rows:
        yield Section(
            "Passed, but not on the device" + (" (counted as failed)" if strict else ""),
            ("function",),
            ("tests",),
            ("ran on", "on the host"),
            tuple(rows),
            "host: nothing was computed on the device; mixed: some of it.",
        )
