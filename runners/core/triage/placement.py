"""Where a test really ran, judged by where its timed calls computed and where their outputs lie."""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable, Iterable, Sequence

from runners.core.adapter import HOST, Adapter, Operation

NAMES_LISTED = 50
UNKNOWN = {"verdict": "unknown", "evidence": [], "host_operations": []}


def on_target(adapter: Adapter, device: Any, device_name: str) -> Callable[[str], bool]:
    """Whether a location is the target's. On the target cpu the host is the device."""
    return lambda location: (
        (location == HOST and device_name == "cpu") or (location != HOST and adapter.on_device(location, device))
    )


def judged(outputs: Iterable[str], operations: Sequence[Operation], there: Callable[[str], bool]) -> dict[str, Any]:
    """The ``placement`` object of a result, from the locations of the outputs and the operations that were watched.

    device: all of it on the target's device; host: none of it; mixed: some; unknown: nothing was seen. Where
    operations were seen on the host and none on the device, an output that lies on the device was only moved there.
    """
    outputs = sorted(set(outputs))
    elsewhere = [operation for operation in operations if not there(operation.location)]
    computed_there = len(elsewhere) < len(operations)
    computed_elsewhere = bool(elsewhere)
    if not operations:
        computed_there = any(map(there, outputs))
        computed_elsewhere = not all(map(there, outputs))
    if not operations and not outputs:
        verdict = "unknown"
    elif computed_there and computed_elsewhere:
        verdict = "mixed"
    else:
        verdict = "host" if computed_elsewhere else "device"
    counted = Counter(f"{operation.name} on {operation.location}" for operation in operations)
    evidence = [f"{what} ({times} times)" if times > 1 else what for what, times in sorted(counted.items())]
    if len(evidence) > NAMES_LISTED:
        evidence = [*evidence[:NAMES_LISTED], f"and {len(evidence) - NAMES_LISTED} other operations"]
    return {
        "verdict": verdict,
        "evidence": [f"output on {location}" for location in outputs] + evidence,
        "host_operations": sorted({operation.name for operation in elsewhere}),
    }
