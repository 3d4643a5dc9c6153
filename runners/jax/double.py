"""64-bit types, which JAX has only while they are enabled."""

from __future__ import annotations

from typing import ContextManager

from runners.jax.settings import setting


def x64() -> ContextManager[None]:
    """A context in which float64, int64 and complex128 keep their width; outside, JAX reduces them to 32-bit types."""
    return setting("jax_enable_x64", True)
