"""Where a test ran: derived from where its timed calls computed and where their outputs are."""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable, Iterable, Sequence

from runners.core.adapter import HOST, Adapter, Operation
from runners.core.result import Placement

NAMES_LISTED = 50


def unknown() -> Placement:
    """The placement of a test of which nothing is known."""
    return Placement(verdict="unknown", evidence=[], host_operations=[])


def on_target(adapter: Adapter, device: Any, device_name: str) -> Callable[[str], bool]:
    """A function that says whether a location is on the target. For the target cpu, the host is the device."""
    return lambda location: (
        (location == HOST and device_name == "cpu") or (location != HOST and adapter.on_device(location, device))
    )


def classify(outputs: Iterable[str], operations: Sequence[Operation], is_on_target: Callable[[str], bool]) -> Placement:
    """Derives the placement from the locations of the outputs and the operations that were traced.

    device: everything on the target's device; host: nothing on it; mixed: some; unknown: no operation and no output. If
    operations ran on the host and none on the device, an output on the device was only moved there.
    """
    outputs = sorted(set(outputs))
    elsewhere = [operation for operation in operations if not is_on_target(operation.location)]
    on_device = len(elsewhere) < len(operations)
    off_device = bool(elsewhere)
    if not operations:
        on_device = any(map(is_on_target, outputs))
        off_device = not all(map(is_on_target, outputs))
    if not operations and not outputs:
        verdict = "unknown"
    elif on_device and off_device:
        verdict = "mixed"
    else:
        verdict = "host" if off_device else "device"
    counted = Counter(f"{operation.name} on {operation.location}" for operation in operations)
    evidence = [f"{what} ({times} times)" if times > 1 else what for what, times in sorted(counted.items())]
    if len(evidence) > NAMES_LISTED:
        evidence = [*evidence[:NAMES_LISTED], f"and {len(evidence) - NAMES_LISTED} other operations"]
    return Placement(
        verdict=verdict,
        evidence=[f"output on {location}" for location in outputs] + evidence,
        host_operations=sorted({operation.name for operation in elsewhere}),
    )


def with_evidence(placement: Placement, *evidence: str) -> Placement:
    """The same placement with more lines of evidence."""
    return Placement(
        verdict=placement["verdict"],
        evidence=[*placement["evidence"], *evidence],
        host_operations=placement["host_operations"],
    )
