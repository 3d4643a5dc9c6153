"""What the page opens on: sentences, and links to the other files of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from markupsafe import Markup

from portbench.analysis.causes import Cause
from portbench.analysis.configurations import Configuration
from portbench.analysis.rate_model import Rates
from portbench.tables.model import Table

MOST_SENTENCES = 8
"""How many sentences the page opens on at most."""


@dataclass(frozen=True)
class Overview:
    """``sentences``: findings and headlines, the most important first. ``files``: paths beside the page, of which
    those of one name in several formats get one entry. ``counts``: how many functions of a target have each status, as
    in the report. ``rates`` and ``causes``: those of each target. ``changes``: what changed since a date or version.
    ``charts``: what passes over time, with titles. ``remarks``: what a reader must know of all figures."""

    sentences: tuple[str, ...] = ()
    files: Sequence[PurePath] = ()
    counts: Mapping[Configuration, Mapping[str, int]] = field(default_factory=dict)
    rates: Mapping[Configuration, Rates] = field(default_factory=dict)
    causes: Mapping[Configuration, Sequence[Cause]] = field(default_factory=dict)
    changes: tuple[Table, ...] = ()
    charts: Sequence[tuple[str, Markup]] = ()
    remarks: Sequence[str] = ()

    @property
    def links(self) -> dict[str, dict[str, dict[str, str]]]:
        """The address of each file by folder, name and format."""
        found: dict[str, dict[str, dict[str, str]]] = {}
        for path in self.files:
            formats = found.setdefault(path.parent.name, {}).setdefault(path.stem, {})
            formats[path.suffix.removeprefix(".")] = path.as_posix()
        return found
