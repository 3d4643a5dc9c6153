"""64-bit types, which JAX has only while they are switched on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

import jax


@contextmanager
def x64() -> Iterator[None]:
    """Inside of it float64, int64 and complex128 stay what they are; outside JAX makes them 32 bits wide."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)
