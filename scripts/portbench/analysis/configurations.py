"""The configurations of a study: each target on each machine with each synchronization, and which two are compared.

A configuration is called a side where it is compared. Results of two are never pooled. Needs the views of
``portbench.study.summary.analyse``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import total_ordering
from itertools import permutations
from typing import Any

import duckdb

from portbench.devices import BASELINE_ORDER, PREDICTED_DEVICES, PREDICTED_MARK
from portbench.study.model import Target
from portbench.study.parquet import literal

SYNCHRONIZATION = {"complete": "complete", "as-published": "as published"}
"""How the values of ``sync`` are shown to people."""


@total_ordering
@dataclass(frozen=True)
class Configuration:
    """A target on one machine with one synchronization.

    ``sync`` is "complete", or "as-published": timed regions end where the paper's do. Sorts by synchronization
    ("complete" first), framework, version (oldest first), device and machine.
    """

    framework: str
    version: str
    device: str
    machine: str
    sync: str = "complete"

    def __str__(self) -> str:
        mark = PREDICTED_MARK if self.is_predicted else ""
        return f"{self.target}{mark} on {self.machine}" + (f" ({self.synchronization})" if self.synchronization else "")

    def __lt__(self, other: Configuration) -> bool:
        return self._order < other._order

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Configuration:
        """The configuration of a row that has its key as columns."""
        return cls(*(row[field.name] for field in fields(cls)))

    @property
    def target(self) -> Target:
        """What was run: framework, version and device."""
        return Target(self.framework, self.version, self.device)

    @property
    def is_predicted(self) -> bool:
        """Whether its device was not there, and all of its results are predicted."""
        return self.device in PREDICTED_DEVICES

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """The key of its rows in every table and view: framework, version, device, machine, sync."""
        return self.framework, self.version, self.device, self.machine, self.sync

    @property
    def synchronization(self) -> str:
        """How timed regions end, for people; empty for the complete wait."""
        return "" if self.sync == "complete" else f"synchronization {SYNCHRONIZATION.get(self.sync, self.sync)}"

    def as_dict(self) -> dict[str, str]:
        """The key by the names of its columns."""
        return asdict(self)

    @property
    def literal(self) -> str:
        """The key as a struct of SQL: a parameter would make DuckDB import pandas if it is installed."""
        return f"{{{', '.join(f'{name}: {literal(value)}' for name, value in asdict(self).items())}}}"

    @property
    def _order(self) -> tuple[Any, ...]:
        return self.sync != "complete", self.target.order, self.machine, self.sync


def sides(connection: duckdb.DuckDBPyConnection) -> list[Configuration]:
    """The configurations of a study that have a result, sorted: those with the complete wait first."""
    rows = connection.sql("SELECT DISTINCT framework, version, device, machine, sync FROM verdicts").fetchall()
    return sorted(Configuration(*row) for row in rows)


def measured_sides(connection: duckdb.DuckDBPyConnection) -> list[Configuration]:
    """The configurations that were measured, sorted: predicted ones are never counted together with them."""
    return [side for side in sides(connection) if not side.is_predicted]


def predicted_sides(connection: duckdb.DuckDBPyConnection) -> list[Configuration]:
    """The configurations that were predicted, sorted."""
    return [side for side in sides(connection) if side.is_predicted]


def device_model(connection: duckdb.DuckDBPyConnection) -> dict[Configuration, str | None]:
    """What each configuration's device is, from its environment: "Tesla T4", "TPU v3-8", for cpu and xla the processor.

    None where it is unknown, or where the run files of a configuration differ in it.
    """
    found: dict[Configuration, set[str | None]] = {}
    for side, environment in _environments(connection):
        found.setdefault(side, set()).add(_model(side.device, environment))
    return {side: models.pop() if len(models) == 1 else None for side, models in found.items()}


def pairs_of_devices(sides: Iterable[Configuration]) -> list[tuple[Configuration, Configuration]]:
    """Two devices of the same framework, version and synchronization, the baseline first: gpu before tpu, xla and cpu.

    Predicted devices are in no pair. Pairs cross machines only where one of the two has no partner of the other's
    device on its own machine.
    """
    every = sorted(side for side in sides if not side.is_predicted)
    known = set(every)

    def has_partner(side: Configuration, device: str) -> bool:
        return Configuration(side.framework, side.version, device, side.machine, side.sync) in known

    return [
        (first, second)
        for first, second in permutations(every, 2)
        if (first.framework, first.version, first.sync) == (second.framework, second.version, second.sync)
        and _place(first) < _place(second)
        and (
            first.machine == second.machine
            or not (has_partner(first, second.device) and has_partner(second, first.device))
        )
    ]


def pairs_of_models(connection: duckdb.DuckDBPyConnection) -> list[tuple[Configuration, Configuration]]:
    """Two models of one device, of the same framework, version and synchronization: the older first, the newer second.

    Only where the environments say which is newer: GPUs by CUDA's compute capability, TPUs by their generation.
    """
    generations: dict[Configuration, set[tuple[int, ...] | None]] = {}
    for side, environment in _environments(connection):
        generations.setdefault(side, set()).add(_generation(side.device, environment))
    known = {side: found.pop() for side, found in generations.items() if len(found) == 1}
    return [
        (first, second)
        for first, second in permutations(sorted(known), 2)
        if (first.framework, first.version, first.device, first.sync)
        == (second.framework, second.version, second.device, second.sync)
        and (older := known[first])
        and (newer := known[second])
        and older < newer
    ]


def _place(side: Configuration) -> int:
    return BASELINE_ORDER.index(side.device)


def _environments(connection: duckdb.DuckDBPyConnection) -> list[tuple[Configuration, dict[str, Any]]]:
    query = "SELECT framework, version, device, machine, sync, environment FROM runs"
    return [(Configuration(*key), json.loads(environment)) for *key, environment in connection.sql(query).fetchall()]


def _model(device: str, environment: dict[str, Any]) -> str | None:
    if device in ("cpu", "xla"):
        return str(environment["cpu_model"]) or None
    facts = environment["device"]
    if device == "tpu":
        # The accelerator's type also says how many cores there are; a model is "TPU v3" for all of them.
        named = (facts.get("accelerator_type"), facts.get("model"), facts.get("generation"))
        name = next((str(name) for name in named if name), None)
        return name and (name if name.startswith("TPU") else f"TPU {name}")
    return str(facts["model"]) if facts.get("model") else None


def _generation(device: str, environment: dict[str, Any]) -> tuple[int, ...] | None:
    if device == "gpu":
        found = re.fullmatch(r"(\d+)\.(\d+)", str(environment["device"].get("compute_capability")))
        return (int(found[1]), int(found[2])) if found else None
    if device == "tpu":
        numbers = set(re.findall(r"\bv(\d+)", _model(device, environment) or ""))
        return (int(numbers.pop()),) if len(numbers) == 1 else None
    return None
