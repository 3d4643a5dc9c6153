"""The differences between the environments of two sides, which may have changed the results as well."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from portbench.compare.facts import RunRow, SideFacts

KINDS = ("machine", "device", "clocks", "system", "package", "image", "variable", "runner", "manifest", "protocol")
"""The kinds of drift; those that matter most for a comparison come first."""

_Protocol = Literal["protocol", "timeout_s", "steady_budget_s", "shuffle", "memory_bytes", "sync", "cold"]
_SYSTEM = ("cpu_model", "cpu_cores", "memory_bytes", "kernel", "os", "container", "python")
_PROTOCOL: tuple[_Protocol, ...] = (
    "protocol",
    "timeout_s",
    "steady_budget_s",
    "shuffle",
    "memory_bytes",
    "sync",
    "cold",
)


@dataclass(frozen=True)
class Drift:
    """One fact that differs: its values in the run files of each side, as text; none if they do not have it."""

    kind: str
    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]


def drift(first: SideFacts, second: SideFacts) -> tuple[Drift, ...]:
    """Every fact whose set of values differs between the run files of two sides."""
    before, after = _facts(first), _facts(second)
    names = sorted(before.keys() | after.keys(), key=lambda name: (KINDS.index(name[0]), name[1]))
    found = [Drift(*name, _texts(before.get(name, ())), _texts(after.get(name, ()))) for name in names]
    changed = [*(change for change in found if change.first != change.second), *_clocks(first, second)]
    return tuple(sorted(changed, key=lambda change: KINDS.index(change.kind)))


def _facts(facts: SideFacts) -> Mapping[tuple[str, str], list[Any]]:
    """The values of each fact, by kind and name, one for each run file that has it."""
    found: dict[tuple[str, str], list[Any]] = {}
    for run in facts.run_files:
        for kind, name, value in _of_run(run):
            found.setdefault((kind, name), []).append(value)
    return found


def _of_run(run: RunRow) -> Iterator[tuple[str, str, Any]]:
    environment = run["environment"]
    yield "machine", "machine", environment["machine"]
    yield from (("device", name, value) for name, value in environment["device"].items())
    yield from (("system", name, environment[name]) for name in _SYSTEM)
    # The framework's own version is part of the target.
    packages = {name: version for name, version in environment["packages"].items() if name != run["framework"]}
    yield from (("package", name, version) for name, version in packages.items())
    # Not the id of the image: every build of the same files gives another one.
    yield from (("image", name, digest[:12]) for name, digest in environment.get("made_from", {}).items())
    yield from (("variable", name, value) for name, value in environment["variables"].items())
    yield "runner", "code", str(environment["runner_commit"] or environment["runner_sha256"])[:12]
    yield "manifest", run["manifest"], run["manifest_sha256"][:12]
    yield "manifest", "selection", sorted(run["selection"] or ())
    yield from (("protocol", name, run[name]) for name in _PROTOCOL)


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(sorted({value if isinstance(value, str) else json.dumps(value) for value in values}))


def _clocks(first: SideFacts, second: SideFacts) -> Iterator[Drift]:
    """Clock rates at the end of the runs whose ranges do not meet, and reasons for throttling that one side alone had.

    They change all the time: other values alone say nothing.
    """
    before, after = _states(first), _states(second)
    for name in sorted(before.keys() & after.keys()):
        one, other = before[name], after[name]
        if all(isinstance(value, int | float) for value in (*one, *other)):
            if max(one) < min(other) or max(other) < min(one):
                yield Drift("clocks", name, (_range(one),), (_range(other),))
        elif _texts(one) != _texts(other):
            yield Drift("clocks", name, _texts(one), _texts(other))


def _states(facts: SideFacts) -> Mapping[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for run in facts.run_files:
        state = run["environment"].get("device_state") or {}
        for name, value in (state.get("end") or state.get("start") or {}).items():
            if ("clock" in name or "throttle" in name) and value is not None:
                found.setdefault(name, []).append(value)
    return found


def _range(values: list[Any]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
