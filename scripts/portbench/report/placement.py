"""The part of a report on where tests ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from portbench.study.document import FunctionEntry
from portbench.tables.model import Table, names, numbers, texts
from portbench.util.format import counted

_PLACES = {"device": "device", "host": "host", "mixed": "mixed", "unknown": "unknown"}


def ran_on(function: FunctionEntry) -> str:
    """Where the passing tests of a function ran: ``device``, or ``device 2, host 1``."""
    return counted(function["tests_by_placement"], _PLACES)


def fallbacks(functions: Sequence[tuple[str, FunctionEntry]], strict: bool) -> Iterator[Table]:
    """The functions with tests that passed, but not wholly on the device, and the operations that the host computed."""
    rows = []
    for name, function in functions:
        elsewhere = {place: function["tests_by_placement"].get(place, 0) for place in ("host", "mixed")}
        if any(elsewhere.values()):
            places = counted({place: tests for place, tests in elsewhere.items() if tests}, _PLACES)
            operations = ", ".join(operation["name"] for operation in function["host_operations"])
            rows.append((name, sum(elsewhere.values()), places, operations or None))
    if rows:
        title = "Passed, but not on the device" + (" (counted as failed)" if strict else "")
        columns = (*names("function"), *numbers("tests"), *texts("ran on", "on the host"))
        yield Table.of_rows(title, columns, rows, "host: nothing was computed on the device; mixed: some of it.")
