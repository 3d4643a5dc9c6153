"""What the examples in the fake framework's docstrings take for granted, and which mutations of calls it knows."""

from __future__ import annotations

from runners.core.testing import derived_calls

MODULES = {"fake": "runners.fake.library"}
MUTATIONS = derived_calls.MUTATIONS


def prepare() -> None:
    """Needs nothing more."""
