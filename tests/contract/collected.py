"""What the tests of collected manifests do: they collect tests of a few functions, and run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.paths import ROOT


def try_portbench(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs portbench, whether or not it succeeds."""
    return subprocess.run([sys.executable, "-m", "portbench", *words], cwd=ROOT, capture_output=True, text=True)


def portbench(*words: str) -> str:
    """What portbench prints; it must succeed."""
    done = try_portbench(*words)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def collect(target: str, sources: str, path: Path, *functions: str, backend: str = "venv") -> None:
    """Writes the manifest of tests of functions from sources; without functions of all."""
    portbench(*collecting(target, sources, path, *functions, backend=backend))


def collecting(target: str, sources: str, path: Path, *functions: str, backend: str = "venv") -> list[str]:
    """The words of the command that collects."""
    only = [word for name in functions for word in ("--function", name)]
    return ["collect", target, "--from", sources, "--backend", backend, "-o", str(path), *only]


def parameters_of(manifest: Path) -> dict[str, dict[str, Any]]:
    """The parameters of each test by its function and its id."""
    entries = json.loads(manifest.read_text("utf-8"))["functions"]
    return {entry["function"]: {test["id"]: test["params"] for test in entry["tests"]} for entry in entries}


def results_of(target: str, manifest: Path, out: Path, *more: str) -> dict[str, Any]:
    """The results of a manifest on a target by FUNCTION::TEST. The run file is in the new folder ``out``."""
    options = ("--runs", "1", "--protocol", "cold", "--backend", "venv", "--out", str(out), *more)
    portbench("run", target, "--manifest", str(manifest), *options)
    document = json.loads(next(out.glob("*.json")).read_text("utf-8"))
    return {f"{each['function']}::{each['test']}": each for each in document["results"]}
