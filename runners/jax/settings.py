"""JAX's configuration, set for a while."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

import jax


@contextmanager
def setting(name: str, value: Any) -> Iterator[None]:
    """A context in which an option such as ``jax_enable_x64`` has a value, in this and all other threads."""
    before = getattr(jax.config, name)
    jax.config.update(name, value)
    try:
        yield
    finally:
        jax.config.update(name, before)
