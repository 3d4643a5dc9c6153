"""Functions that only a few lines around them show at work: scopes, variables, tapes, graphs, sessions, handles.

Each has such lines, which get the function and one tensor, and return what it made of it. Each module of this folder
but ``lines`` has a table of them, ``LINES``, by the names of the functions.
"""

from __future__ import annotations

import importlib
from typing import Any, Mapping

from runners.tensorflow.samples import host_tensors
from runners.tensorflow.samples.drawn import Drawn
from runners.tensorflow.samples.programs.lines import Lines
from runners.tensorflow.samples.searching import OF_GRADIENTS, Form, Searched, Searches

PACKAGE = "tensorflow"
NEEDS = "any TensorFlow"
_TABLES = (
    *("accumulators", "backend", "contexts", "datasets", "files", "graphs", "handles", "images", "iterators", "lists"),
    *("metrics", "models", "operations", "pipelines", "sessions", "sparse", "tensors", "training", "variables"),
)


def prepare() -> None:
    """Imports the tables."""
    _lines()


def _lines() -> Mapping[str, Lines]:
    tables = [importlib.import_module(f"{__name__}.{name}").LINES for name in _TABLES]
    return {name: lines for table in tables for name, lines in table.items()}


def _make() -> Mapping[str, Searched]:
    found = {}
    for name, lines in sorted(_lines().items()):
        function = host_tensors.named(name)
        if function is not None:
            found[name] = Searched(function, _groups, [OF_GRADIENTS], body=lines)
    return found


def _groups() -> Any:
    return iter([iter([Form([Drawn((3, 4), 0.2, 0.9)], {})])])


_source = Searches(_make)
entries = _source.entries
samples = _source.samples
look = host_tensors.look_of
