"""Recordings and their run files, as the recorder and the runner write them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.unit.host.conftest import Document, result_document, run_document

MARKER = {"schema": "portbench/folder", "kind": "recording", "written": ["parts", "torch.json", "jax.json"]}


def recorded_test(id: str, calls: int = 1, seconds: float = 0.1, site: str = "train.py:1") -> Document:
    """A test of a recorded manifest."""
    weight = {"calls": calls, "seconds": seconds}
    return {"id": id, "case": "replay", "args": [1.0], "weight": weight, "sites": [site]}


def recorded_manifest(
    functions: Mapping[str, list[Document]], left_out: list[Document] | None = None, framework: str = "torch"
) -> Document:
    """A manifest as the recorder makes it."""
    weights = [test["weight"] for tests in functions.values() for test in tests] + (left_out or [])
    listed = [{"function": name, "tests": tests} for name, tests in functions.items()]
    return {
        "schema": "portbench/manifest",
        "schema_version": 4,
        "name": f"recorded-{hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:12]}",
        "framework": framework,
        "written_for": "2.9.0",
        "recorded": {
            "program": "python train.py",
            "calls": sum(each["calls"] for each in weights),
            "seconds": sum(each["seconds"] for each in weights),
            "left_out": left_out or [],
            "failures": [],
        },
        "functions": listed,
    }


def write_recording(folder: Path, manifest: Document) -> Path:
    """Writes the folder of a recording."""
    (folder / "parts").mkdir(parents=True)
    (folder / ".portbench.json").write_text(json.dumps(MARKER))
    (folder / f"{manifest['framework']}.json").write_text(json.dumps(manifest))
    return folder


def run_of(folder: Path, results: list[Document], target: str = "torch-2.9.0-xla", **changes: Any) -> Document:
    """A run file of the manifest in the folder of a recording; the results are those of its tests."""
    path = folder / f"{target.partition('-')[0]}.json"
    run = run_document(results, target=target, **changes)
    name = json.loads(path.read_text())["name"]
    run["manifest"] = {"name": name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "selection": []}
    run["protocol"] |= {"runs": 1, "name": "cold"}
    return run


def write_run(folder: Path, run: Document, name: str = "run.json") -> Path:
    """Writes a run file into the results of a recording."""
    path = folder / "results" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(run))
    return path


def replayed(function: str, test: str, outcome: str = "passed", **facts: Any) -> Document:
    """The result of a recorded test; ``placement`` is its verdict."""
    if "placement" in facts:
        evidence = {"evidence": [], "host_operations": facts.pop("host_operations", [])}
        facts["placement"] = {"verdict": facts["placement"], **evidence}
    return result_document(function, test, outcome=outcome, case="replay", **facts)


def failed(function: str, test: str, message: str, category: str = "other", **facts: Any) -> Document:
    """The result of a recorded test that failed."""
    error = {"type": "RuntimeError", "message": message, "traceback": "", "causes": []}
    return replayed(function, test, "failed", error=error, category=category, **{"phase": "call", **facts})
