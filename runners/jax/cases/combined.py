"""Calls with combinations of options."""

from __future__ import annotations

from typing import Any

from runners.core.testing import combinations as core
from runners.core.testing.trial import Trial

_MOST_OF_ALL = 9
"""JAX compiles a program for each combination."""


def combinations(trial: Trial, **parameters: Any) -> None:
    """See runners.core.testing.combinations.combinations."""
    core.combinations(trial, **{"most": _MOST_OF_ALL, **parameters})
