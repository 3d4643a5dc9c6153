"""What the examples in JAX's docstrings take for granted, and which mutations of calls JAX knows."""

from __future__ import annotations

from runners.core.testing import derived_calls

MODULES = {"jax": "jax", "jnp": "jax.numpy", "lax": "jax.lax", "np": "numpy", "numpy": "numpy", "math": "math"}
"""The modules that examples name without an import."""

MUTATIONS = tuple(each for each in derived_calls.MUTATIONS if each not in derived_calls.LAYOUTS)
"""Arrays have no strides."""


def prepare() -> None:
    """Needs nothing more."""
