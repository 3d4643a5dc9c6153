"""Targets, run files, and the key that keeps results apart: the values that the modules of a study pass on.

This module imports only the types of the summary.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from portbench.study.document import RunFileEntry, TargetName

COMPLETE = "complete"
"""The usual synchronization, and that of the first versions of the format."""


STATUS_TEXTS = {
    "all_pass": "all tests pass",
    "some_fail": "some fail",
    "all_fail": "all tests fail",
    "not_testable": "not testable",
}
"""How the status of a function is shown to people."""

COLLECTED = "collected-"
"""How the names of manifests with collected tests begin, and of no others (see portbench.formats)."""

REMOVED = "removed"
"""The category of a function that the version does not have: not testable, and counted apart."""


def status_text(status: str, categories: Collection[str]) -> str:
    """The status of a function as it is shown. ``categories``: those of its tests."""
    return REMOVED if status == "not_testable" and REMOVED in categories else STATUS_TEXTS[status]


class TargetKey(NamedTuple):
    """A target on one machine with one synchronization. Results of two keys are never pooled.

    The fields are the first columns of every table and view.
    """

    framework: str
    version: str
    device: str
    machine: str
    sync: str

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> TargetKey:
        """The key of a row of a table or view, which has its fields as columns."""
        return cls(*(row[name] for name in cls._fields))

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any]) -> TargetKey:
        """The key of a target's entry in the summary of a study."""
        return cls(**entry["target"], machine=entry["machine"], sync=entry["sync"])


FUNCTION_KEY = (*TargetKey._fields, "function", "successor_of")
"""The columns that identify a function on a target."""


@dataclass(frozen=True)
class Target:
    """A framework in one version on one device."""

    framework: str
    version: str
    device: str

    def __str__(self) -> str:
        return f"{self.framework}-{self.version}-{self.device}"

    @property
    def order(self) -> tuple[Any, ...]:
        """Sorts targets by framework, from the oldest version to the newest, and by device."""
        numbers = [(int(part), "") if part.isdecimal() else (-1, part) for part in self.version.split(".")]
        return self.framework, numbers, self.version, self.device


@dataclass(frozen=True)
class RunFile:
    """A run file of a study. ``sha256`` is that of the file's bytes, ``manifest_sha256`` that of the manifest's."""

    run_id: str
    sha256: str
    target: Target
    machine: str
    sync: str
    manifest: str
    manifest_sha256: str
    started_at: str | None

    @property
    def is_collected(self) -> bool:
        """Whether its tests were collected from packages: their references are often weaker than those of others."""
        return self.manifest.startswith(COLLECTED)

    @property
    def key(self) -> TargetKey:
        """The key of all its results."""
        return TargetKey(**asdict(self.target), machine=self.machine, sync=self.sync)

    @property
    def order(self) -> tuple[Any, ...]:
        """Sorts the run files of a study by target, machine and start."""
        return self.target.order, self.machine, self.started_at or "", self.run_id

    @classmethod
    def from_document(cls, data: Mapping[str, Any], sha256: str) -> RunFile:
        """Reads a run file's document, which fits schema/run.schema.json."""
        return cls(
            run_id=data["run_id"],
            sha256=sha256,
            target=Target(**data["target"]),
            machine=data["environment"]["machine"],
            sync=data["protocol"]["sync"],
            manifest=data["manifest"]["name"],
            manifest_sha256=data["manifest"]["sha256"],
            started_at=data["started_at"],
        )

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> RunFile:
        """Reads an entry of ``run_files`` in the summary of a study of any version."""
        return cls(
            run_id=entry["run_id"],
            sha256=entry["sha256"],
            target=Target(**entry["target"]),
            machine=entry["machine"],
            sync=entry["sync"],
            manifest=entry["manifest"]["name"],
            manifest_sha256=entry["manifest"]["sha256"],
            started_at=entry["started_at"],
        )

    def as_entry(self) -> RunFileEntry:
        """The entry of ``run_files`` in the summary of a study."""
        return {
            "run_id": self.run_id,
            "sha256": self.sha256,
            "target": TargetName(
                framework=self.target.framework, version=self.target.version, device=self.target.device
            ),
            "machine": self.machine,
            "sync": self.sync,
            "manifest": {"name": self.manifest, "sha256": self.manifest_sha256},
            "started_at": self.started_at,
        }
