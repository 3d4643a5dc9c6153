"""The synchronization check: before a run times anything, a worker checks that its clock sees the work of the device.

A kernel is timed, and one with four times the work that takes the host the same effort to start. If a wait returns
before the work is done, either the time does not grow with the work, or reading the output back after the wait takes as
long as the work that was left.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from runners.core.adapter import Adapter
from runners.core.result import SyncCheck
from runners.core.testing import tree
from runners.core.testing.timing import Clock

GROWTH = 4
LEAST_RATIO = 2.5
LONG_ENOUGH_NS = 1_000_000
"""The time of a shorter kernel is mostly that of its start."""

LEFT_FRACTION = 0.25
"""Reading the output back takes less than this fraction of call and wait. If it takes longer than that but less than
call and wait, a busy machine may be the reason, and more work decides."""

MOST_UNITS = GROWTH**7
LONGEST_NS = 2_000_000_000
"""If a kernel of this length has the wrong ratio, more work does not help. On a busy machine, starting threads alone
may take a tenth of it."""

REPETITIONS = 3


class _Measured(NamedTuple):
    took_ns: int
    left_ns: int


def check_sync(adapter: Adapter, device: Any, clock: Clock, wait: Callable[[Any], None]) -> SyncCheck:
    """Runs the check, with more and more work until the result is clear. Raises what the framework raises."""
    units = 1
    base = _measured(adapter, device, clock, wait, units)
    while True:
        grown = _measured(adapter, device, clock, wait, GROWTH * units)
        ratio = grown.took_ns / max(base.took_ns, 1)
        is_last = units >= MOST_UNITS // GROWTH or grown.took_ns >= LONGEST_NS
        is_long = base.took_ns >= LONG_ENOUGH_NS
        is_left = grown.left_ns > max(LEFT_FRACTION * grown.took_ns, LONG_ENOUGH_NS)
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
    return _check(reason, units, base, grown, ratio)


def failed(reason: str) -> SyncCheck:
    """A failed check in which nothing could be measured."""
    nothing = _Measured(0, 0)
    return _check(reason, 1, nothing, nothing, 0.0)


def _check(reason: str | None, units: int, base: _Measured, grown: _Measured, ratio: float) -> SyncCheck:
    return SyncCheck(
        passed=reason is None,
        reason=reason,
        units=units,
        base_ns=base.took_ns,
        grown_ns=grown.took_ns,
        ratio=round(ratio, 3),
        left_ns=grown.left_ns,
    )


def _measured(adapter: Adapter, device: Any, clock: Clock, wait: Callable[[Any], None], units: int) -> _Measured:
    """The shortest times of several repetitions, after one that does not count because it may compile."""
    call = adapter.calibration_kernel(units, device)
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
