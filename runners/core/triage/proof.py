"""Proves, before a worker times anything, that its clock sees the work of the device.

A kernel is timed, and one whose work is four times as much while the host does the same to start it. A wait that
returns before the work is done shows in two ways: the time does not grow with the work, or the output, read back after
the wait, takes as long to come as the work that was left.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from runners.core.adapter import Adapter
from runners.core.testing import tree
from runners.core.testing.timing import Clock

GROWTH = 4
LEAST_RATIO = 2.5
LONG_ENOUGH_NS = 1_000_000
"""A kernel that is shorter says more about its start than about its work."""

LEFT_SHARE = 0.25
"""Of the time of call and wait: reading the output back afterwards takes less. Where it does not, but is shorter than
they were, a machine busy with something else may be the reason; more work tells."""

MOST_UNITS = GROWTH**7
LONGEST_NS = 2_000_000_000
"""A kernel of this length whose ratio is still wrong will not do better with more work. On a machine that is busy with
something else, starting threads alone may take a tenth of it."""

REPETITIONS = 3


class _Measured(NamedTuple):
    took_ns: int
    left_ns: int


def prove(adapter: Adapter, device: Any, clock: Clock, wait: Callable[[Any], None]) -> dict[str, Any]:
    """The ``proof`` object of the run schema. The work grows until it is long enough to be judged."""
    units = 1
    base = _measured(adapter, device, clock, wait, units)
    while True:
        grown = _measured(adapter, device, clock, wait, GROWTH * units)
        ratio = grown.took_ns / max(base.took_ns, 1)
        is_last = units >= MOST_UNITS // GROWTH or grown.took_ns >= LONGEST_NS
        is_long = base.took_ns >= LONG_ENOUGH_NS
        is_left = grown.left_ns > max(LEFT_SHARE * grown.took_ns, LONG_ENOUGH_NS)
        reason = None
        if is_left and (grown.left_ns > grown.took_ns or is_last):
            reason = (
                f"reading the output back took {_ms(grown.left_ns)} after a call and wait of "
                f"{_ms(grown.took_ns)}: the work was not done"
            )
            break
        if is_long and ratio >= LEAST_RATIO and not is_left:
            break
        if is_last:
            reason = f"four times the work took {ratio:.2f} times as long ({_ms(base.took_ns)}, {_ms(grown.took_ns)})"
            break
        units, base = GROWTH * units, grown
    return _document(reason, units, base, grown, ratio)


def failed(reason: str) -> dict[str, Any]:
    """The ``proof`` object where there is nothing to measure."""
    nothing = _Measured(0, 0)
    return _document(reason, 1, nothing, nothing, 0.0)


def _document(reason: str | None, units: int, base: _Measured, grown: _Measured, ratio: float) -> dict[str, Any]:
    return {
        "passed": reason is None,
        "reason": reason,
        "units": units,
        "base_ns": base.took_ns,
        "grown_ns": grown.took_ns,
        "ratio": round(ratio, 3),
        "left_ns": grown.left_ns,
    }


def _measured(adapter: Adapter, device: Any, clock: Clock, wait: Callable[[Any], None], units: int) -> _Measured:
    """The shortest times of several; after one that does not count, since it may compile."""
    call = adapter.work(units, device)
    measured = [_once(adapter, clock, wait, call) for _ in range(1 + REPETITIONS)][1:]
    return _Measured(min(each.took_ns for each in measured), min(each.left_ns for each in measured))


def _once(adapter: Adapter, clock: Clock, wait: Callable[[Any], None], call: Callable[[], Any]) -> _Measured:
    begin = clock()
    output = call()
    wait(output)
    waited = clock()
    for leaf in tree.leaves(output):
        if adapter.dtype_name(leaf) is not None:
            adapter.to_numpy(leaf)
    return _Measured(waited - begin, clock() - waited)


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.3g} ms"
