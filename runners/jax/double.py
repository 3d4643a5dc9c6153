"""64-bit types, which JAX has only while they are enabled."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

import jax


@contextmanager
def x64() -> Iterator[None]:
    """A context in which float64, int64 and complex128 keep their width; outside, JAX reduces them to 32-bit types."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)
