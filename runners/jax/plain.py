"""Comparing what is no array: names, shapes, containers."""

from __future__ import annotations

from typing import Any

from runners.core.trial import Trial


def check_same(trial: Trial, found: Any, expected: Any) -> None:
    """Checks that two plain values are equal, whatever their nesting. Raises AssertionError."""
    trial.check(found == expected, f"expected {expected!r}, got {found!r}")
