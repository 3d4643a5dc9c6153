"""JAX: what is known of it before it is imported."""

from __future__ import annotations

from typing import Mapping

MODULE = "jax"
NAMESPACE = "jax"
PACKAGES = ("jax", "jaxlib")
DEVICES = ("cpu",)
FORKS_AFTER_IMPORT = ("cpu",)


def variables(device: str) -> Mapping[str, str]:
    """The platform is pinned: left to itself JAX falls back to the CPU where a device is absent, without a word."""
    return {"JAX_PLATFORMS": device}
