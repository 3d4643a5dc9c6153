"""Begins to record a framework as soon as the program has imported it."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any, Sequence

from portbench_recorder.recording import Recording

RECORDERS = {name: f"portbench_recorder.{name}_calls" for name in ("torch", "jax", "tensorflow", "keras")}
"""By the module of a framework, the one that records it: it has ``install(recording)``."""


def install(recording: Recording) -> None:
    """Records the frameworks that are imported, and later those that will be."""
    for name in RECORDERS:
        if name in sys.modules:
            _begin(name, recording)
    sys.meta_path.insert(0, _Finder(recording))


def _begin(name: str, recording: Recording) -> None:
    try:
        importlib.import_module(RECORDERS[name]).install(recording)
    except Exception as error:
        recording.failed(error)
        sys.stderr.write(f"portbench record: {name} is not recorded: {error}\n")


class _Finder(importlib.abc.MetaPathFinder):
    """Finds a framework as Python would, and records it once its import has ended."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in RECORDERS or name in sys.modules:
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path, target)
        if found is not None and found.loader is not None:
            found.loader = _Loader(found.loader, name, self._recording)
        return found


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, name: str, recording: Recording) -> None:
        self._loader = loader
        self._name = name
        self._recording = recording

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if module.__spec__ is not None:
            # The program sees the loader that it expects.
            module.__spec__.loader = module.__loader__ = self._loader
        _begin(self._name, self._recording)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
