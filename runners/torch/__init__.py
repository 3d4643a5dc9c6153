"""PyTorch: what is known of it before it is imported."""

from __future__ import annotations

from typing import Mapping

MODULE = "torch"
NAMESPACE = "torch"
PACKAGES = ("torch",)
DEVICES = ("cpu",)
FORKS_AFTER_IMPORT = ("cpu",)


def variables(device: str) -> Mapping[str, str]:
    """None: on the CPU PyTorch runs as the user has set it up."""
    return {}
