"""Where a test really ran, judged by where the outputs of its timed calls lie."""

from __future__ import annotations

from typing import Any

from runners.core.adapter import Adapter


def judged(locations: list[str], adapter: Adapter, device: Any) -> dict[str, Any]:
    """The ``placement`` object of a result: verdict and evidence. Without any tensor in the outputs: unknown."""
    if not locations:
        return {"verdict": "unknown", "evidence": []}
    there = [adapter.on_device(location, device) for location in locations]
    verdict = "device" if all(there) else "mixed" if any(there) else "host"
    return {"verdict": verdict, "evidence": [f"output on {location}" for location in locations]}
