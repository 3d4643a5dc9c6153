"""A framework that needs no framework: it drives the core's own tests and shows every way in which a test can end."""

from __future__ import annotations

from typing import Mapping

MODULE = "runners.fake.library"
NAMESPACE = "fake"
PACKAGES = ("runners",)
DEVICES = ("cpu",)
FORKS_AFTER_IMPORT = ("cpu",)


def variables(device: str) -> Mapping[str, str]:
    """None: nothing here reads the environment."""
    return {}
