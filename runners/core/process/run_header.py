"""The top level of a run file, except its end and its results."""

from __future__ import annotations

import datetime
from typing import Any, Mapping

from runners.core import documents, environment
from runners.core.errors import FrameworkFailed
from runners.core.manifest import Manifest
from runners.core.prediction.peaks import peak_rates
from runners.core.process import journal, sandbox
from runners.core.process.settings import Settings
from runners.core.public import names

SCHEMA_VERSION = 7


def header(settings: Settings, manifest: Manifest, ready: Mapping[str, Any]) -> dict[str, Any]:
    """The header, from what was asked for and a worker's first message. Raises FrameworkFailed if the framework has
    another version than the one asked for."""
    if settings.version is not None and settings.version != ready["version"]:
        raise FrameworkFailed(
            f"wanted {settings.framework} {settings.version}, this environment has {ready['version']}",
            f"Give {settings.framework}-{settings.device} to run the version that is there, or update the environment.",
        )
    device = {**peak_rates(ready["device"].get("model")), **ready["device"]}
    variables = names.framework(settings.framework).variables(settings.device)
    predicted = {"prediction": ready["prediction"]} if "prediction" in ready else {}
    document: dict[str, Any] = {
        "schema": "portbench/run",
        "schema_version": SCHEMA_VERSION,
        "run_id": journal.new_run_id(),
        "target": {"framework": settings.framework, "version": ready["version"], "device": settings.device},
        "manifest": {
            "name": manifest.name,
            "sha256": manifest.sha256,
            "selection": list(settings.selection),
            "functions": list(manifest.listed),
        },
        "protocol": {
            "name": settings.protocol,
            "runs": settings.runs,
            "timeout_s": settings.timeout_s,
            "steady_budget_s": settings.steady_budget_s,
            "shuffle": settings.shuffle,
            "mutant": None,
            "sync": settings.sync,
            "cold": settings.cold,
            "memory_bytes": settings.memory_bytes,
        },
        **predicted,
        "environment": dict(
            environment.collect(settings.machine, device, variables),
            device_state={"start": ready["state"], "end": None},
            sandbox=ready.get("sandbox", sandbox.NONE),
        ),
        "started_at": now(),
    }
    # Variables, names and the selection come from the system, where a text need not be UTF-8.
    return dict(documents.escaped(document))


def now() -> str:
    """The present time in UTC, as run files have it."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
