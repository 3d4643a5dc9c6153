"""Records the functions of the fake framework, as the recorder's modules do for real ones.

A program of a test makes it known before it imports the library:

    hooks.RECORDERS["runners.fake.library"] = "tests.unit.runner.fake_calls"
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from runners.fake import library

FUNCTIONS = ("identity", "scale", "scale_without_kernel", "scale_wrongly", "refuse_on_device", "noise", "refuse")


def install(recording: Any) -> None:
    """Wraps the functions of the library."""
    recording.add_framework("fake", library.__version__)
    for name in FUNCTIONS:
        setattr(library, name, _recorded(recording, name, getattr(library, name)))


def _recorded(recording: Any, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        key = tuple((len(each.values), each.dtype) if isinstance(each, library.Tensor) else each for each in args)
        entry = recording.entry("fake", f"fake.{name}", key, lambda: {"args": [_described(each) for each in args]})
        begin = time.perf_counter()
        try:
            return function(*args)
        finally:
            recording.add(entry, time.perf_counter() - begin, lambda: ((name,), lambda: f"program.py:{name}"))

    return call


def _described(value: Any) -> Any:
    from portbench_recorder.recording import Unnameable

    if isinstance(value, library.Tensor):
        return {"tensor": {"dtype": value.dtype, "shape": [len(value.values)]}}
    if not isinstance(value, (int, float)):
        raise Unnameable(f"an argument is a {type(value).__name__}")
    return value
