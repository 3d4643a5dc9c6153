"""Replaces functions of TensorFlow for a while."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Sequence

EXECUTE = ("execute", "execute_with_cancellation")
"""The functions of ``tensorflow.python.eager.execute`` through which Python runs an operation or a function."""


@contextlib.contextmanager
def replaced(holder: Any, names: Sequence[str], replace: Callable[[Any], Any]) -> Iterator[None]:
    """A context in which attributes of a module or class are what ``replace`` makes of them.

    Raises AttributeError, and replaces nothing, where one is missing.
    """
    originals = {name: getattr(holder, name) for name in names}
    for name, original in originals.items():
        setattr(holder, name, replace(original))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(holder, name, original)
