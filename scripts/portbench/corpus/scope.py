"""Which public functions are in scope of a test at all: those that one process can call on one device.

What is out of scope lies as data in ``scopes/<framework>.json``, with reasons. It is about names, so the same list of
functions gives the same scope without the framework.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

_OF_ERRORS = "an exception or a warning"
_ERRORS = ("Error", "Exception", "Warning")
_NO_ERRORS = ("tf.losses.", "tf.metrics.")
"""Where classes such as MeanSquaredError are no exceptions."""


@dataclass(frozen=True)
class _Group:
    reason: str
    names: Sequence[str]
    classes: Sequence[str]

    def has(self, name: str, kind: str) -> bool:
        patterns = (*self.names, *(self.classes if kind == "class" else ()))
        return any(name.startswith(f"{each}.") or fnmatch.fnmatchcase(name, each) for each in patterns)


@dataclass(frozen=True)
class Scope:
    """The scope of one framework."""

    _groups: Sequence[_Group]

    def why_out(self, name: str, kind: str) -> str | None:
        """Why a function is out of scope, None if it is in scope. ``kind`` is that of the list of functions."""
        if kind == "class" and name.endswith(_ERRORS) and not name.startswith(_NO_ERRORS):
            return _OF_ERRORS
        return next((group.reason for group in self._groups if group.has(name, kind)), None)


def scope(framework: str) -> Scope:
    """The scope of a framework; without a file only exceptions are out of it."""
    file = resources.files("portbench.corpus") / "scopes" / f"{framework}.json"
    groups: Sequence[Mapping[str, Sequence[str]]] = json.loads(file.read_text("utf-8")) if file.is_file() else []
    return Scope([_Group(str(each["reason"]), each["names"], each.get("classes", ())) for each in groups])
