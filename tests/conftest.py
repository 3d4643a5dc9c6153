"""What all tests share: signals, threads, the order, and the table of the faults that tests injected.

Loaded under Python 3.8, too.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from typing import Any, Callable

import pytest

COLUMNS = ("injected", "lost", "doubled", "left", "folders")

_HANDLERS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


def pytest_configure(config: pytest.Config) -> None:
    """Programs that tests interrupt must not inherit ignored signals, as under nohup or in a shell's background.

    Programs that compute with OpenMP have one thread each. There are more of them at once than cores, and threads that
    wait for each other actively make the same work ten times as long. Containers have as many threads as always.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # The processes of pytest-xdist take groups of tests in the order below, not those with the most tests first.
    config.option.loadscopereorder = False
    for number, handler in _HANDLERS.items():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, by the minutes that their mark gives: ``pytest.mark.slow(minutes=5)``."""
    items.sort(key=_minutes, reverse=True)


def _minutes(item: pytest.Item) -> float:
    mark = item.get_closest_marker("slow")
    return float(mark.kwargs.get("minutes", 0)) if mark else 0


@pytest.fixture
def add_fault(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Adds what a fault did to the table at the end: ``add_fault("the disk is full", injected=1, lost=0, ...)``.

    The counts travel with the test's report, so they arrive from the processes of pytest-xdist, too.
    """

    def add(fault: str, **counts: int) -> None:
        request.node.user_properties.append(("fault", [fault, counts]))

    return add


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The table of the faults."""
    sums: dict[str, Counter[str]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                for name, value in report.user_properties:
                    if name == "fault":
                        sums.setdefault(value[0], Counter()).update(value[1])
    if not sums:
        return
    terminalreporter.section("faults injected; results lost and doubled; processes and folders left behind")
    rows = [("", *COLUMNS)]
    for fault, counts in (*sums.items(), ("all", sum(sums.values(), Counter()))):
        rows.append((fault, *(str(counts[column]) for column in COLUMNS)))
    for name, *figures in rows:
        terminalreporter.write_line(f"{name:<72}" + "".join(f"{figure:>10}" for figure in figures))
