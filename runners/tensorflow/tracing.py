"""Counts how often, and for how long, TensorFlow traces Python functions into graphs (``tf.function``)."""

from __future__ import annotations

import importlib
from typing import Any, Mapping


class _Counter:
    """Replaces TensorFlow's own counter of microseconds and feeds it; its one cell is itself."""

    def __init__(self, original: Any) -> None:
        self._original = original
        self.traces = 0
        self.microseconds = 0

    def get_cell(self, *labels: str) -> _Counter:
        return self

    def increase_by(self, microseconds: int) -> None:
        self.traces += 1
        self.microseconds += microseconds
        self._original.get_cell().increase_by(microseconds)

    def value(self) -> int:
        return int(self._original.get_cell().value())


def _installed() -> _Counter | None:
    for name in ("tracing_compilation", "tracing_compiler"):
        try:
            module = importlib.import_module(f"tensorflow.python.eager.polymorphic_function.{name}")
            counter = _Counter(module._graph_building_time_counter)
        except (ImportError, AttributeError):
            continue
        module._graph_building_time_counter = counter  # type: ignore[attr-defined]
        return counter
    return None


_counter = _installed()


def counters() -> Mapping[str, int]:
    """``traces`` and ``trace_ns`` so far; empty in a version that does not count."""
    if _counter is None:
        return {}
    return {"traces": _counter.traces, "trace_ns": 1000 * _counter.microseconds}
