"""Drift: facts of one target or one machine that are not the same in all run files of a study.

- Of a target on any machine: what its environment was made from. That is Python, the version of each package except
  installers, and the digests of the lock, of the Dockerfile and of the runner's source. What a run file does not
  record is not compared: a virtual environment has no Dockerfile. The id of an image is not compared either: every
  build of the same files gives another one.
- Of a machine: its kernel and its CPU.
- Of a target on a machine: the device's model and driver, as the framework reports them.

Machines may differ from each other in all other facts, and so may targets. Changes on the host alone are no drift.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import orjson

Environment = dict[str, Any]

_INSTALLERS = frozenset({"pip", "uv", "wheel"})
_OF_MACHINE = ("kernel", "cpu_model")
_OF_DEVICE = ("model", "driver")
_ABSENT = "not installed"


@dataclass(frozen=True)
class Drift:
    """One fact with several values. ``target`` (torch-2.9.0-gpu) is '' for a fact of a machine, ``machine`` is '' for a
    fact of a target. ``values`` has the digests (SHA-256) of the run files with each value."""

    target: str
    machine: str
    fact: str
    values: dict[str, tuple[str, ...]]

    def __str__(self) -> str:
        """``torch-2.9.0-gpu on box: device.driver``, without the part that is empty."""
        return f"{' on '.join(filter(None, (self.target, self.machine)))}: {self.fact}"


def drifts(connection: duckdb.DuckDBPyConnection) -> list[Drift]:
    """All drift among the run files in the view ``runs``, in a fixed order."""
    query = (
        "SELECT framework || '-' || version || '-' || device, machine, environment::VARCHAR, list(sha256) "
        "FROM runs GROUP BY ALL"
    )
    runs = [
        (target, machine, orjson.loads(environment), digests)
        for target, machine, environment, digests in connection.sql(query).fetchall()
    ]
    packages: dict[str, set[str]] = {}
    for target, _, environment, _ in runs:
        packages.setdefault(target, set()).update(environment["packages"])
    facts: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for target, machine, environment, digests in runs:
        for key, value in _facts(target, machine, environment, packages[target] - _INSTALLERS):
            facts.setdefault(key, {}).setdefault(value, []).extend(digests)
    return [
        Drift(*key, {value: tuple(sorted(digests)) for value, digests in sorted(values.items())})
        for key, values in sorted(facts.items())
        if len(values) > 1
    ]


def _facts(
    target: str, machine: str, environment: Environment, packages: Iterable[str]
) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yields each fact that must be the same, as (target, machine, fact), with its value."""
    for group, name in (("pins", "lock_sha256"), ("made_from", "dockerfile_sha256")):
        if name in environment.get(group, {}):
            yield (target, "", f"{group}.{name}"), environment[group][name]
    if environment["runner_sha256"] is not None:
        yield (target, "", "runner_sha256"), environment["runner_sha256"]
    yield (target, "", "python"), environment["python"]
    for name in packages:
        yield (target, "", f"packages.{name}"), environment["packages"].get(name, _ABSENT)
    for name in _OF_MACHINE:
        yield ("", machine, name), environment[name]
    for name in _OF_DEVICE:
        if environment["device"].get(name) is not None:
            yield (target, machine, f"device.{name}"), str(environment["device"][name])
