"""Makes a manifest of samples: has a process try them on the CPU, and writes what passes."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from runners.core import environment
from runners.core.collection import sources
from runners.core.enumeration.listing import write
from runners.core.enumeration.supervised import Child
from runners.core.errors import BadInput, FrameworkFailed
from runners.core.public import library as libraries
from runners.core.public.library import Library

ENTRY_LIMIT_S = 300.0
"""For all samples of one entry to be made and called in every dtype."""

MOST_SAMPLES = 1000
MANIFEST_VERSION = 5


@dataclass(frozen=True)
class Settings:
    """What one invocation is asked to do. ``version`` None accepts any version. ``samples``: at most that many of an
    entry in a dtype. ``functions`` are globs; without any, all functions."""

    framework: str
    version: str | None
    out: Path
    sources: Sequence[str]
    samples: int
    functions: Sequence[str] = ()


def write_manifest(
    settings: Settings, library: Library, variables: Mapping[str, str], stepped: Callable[[int, int], None]
) -> tuple[Path, int]:
    """Collects, and writes ``<framework>-<version>.collected.json`` into the output folder.

    Returns the path and the number of tests. ``stepped`` gets how many entries of how many are done. Raises BadInput
    for an unknown source or one that gives nothing, FrameworkFailed if the framework cannot be imported or has another
    version, StorageFailed if the file cannot be written.
    """
    for name in settings.sources:
        sources.check(name, settings.framework)
    child = Child(
        "runners.core.collection.child",
        library.module,
        variables,
        ENTRY_LIMIT_S,
        lambda message: stepped(message["done"], message["total"]) if "total" in message else None,
    )
    asked: dict[str, Any] = {"framework": settings.framework, "sources": list(settings.sources)}
    asked.update(samples=settings.samples, functions=list(settings.functions))
    with tempfile.TemporaryDirectory(prefix="portbench-collect-") as folder:
        asked["journal"] = str(Path(folder) / "journal")
        found = child.answer({"library": libraries.to_json(library), **asked})
    if "unavailable" in found:
        raise BadInput(found["unavailable"], found["remedy"])
    if settings.version is not None and found["version"] != settings.version:
        raise FrameworkFailed(f"{settings.framework} is {found['version']} here, {settings.version} is expected")
    tests = sum(len(entry["tests"]) for entry in found["functions"])
    if not tests:
        of = f" of functions {', '.join(settings.functions)}" if settings.functions else ""
        raise BadInput(
            f"no sample of {', '.join(settings.sources)}{of} passes on the CPU",
            "Give another source, or other functions.",
        )
    path = settings.out / f"{settings.framework}-{found['version']}.collected.json"
    return write(path, _text(_document(settings, found))), tests


def _document(settings: Settings, found: Mapping[str, Any]) -> dict[str, Any]:
    installed = environment.packages()
    return {
        "schema": "portbench/manifest",
        "schema_version": MANIFEST_VERSION,
        "name": f"collected-{settings.framework}-{found['version']}",
        "framework": settings.framework,
        "written_for": found["version"],
        "collected": {
            "samples": settings.samples,
            "sources": [
                {**source, "version": installed.get(source["package"], found["version"])} for source in found["sources"]
            ],
            "left_out": found["left_out"],
        },
        "functions": found["functions"],
    }


def _text(document: Mapping[str, Any]) -> str:
    """JSON with one test a line, so that two manifests can be compared line by line."""
    head = json.dumps({key: value for key, value in document.items() if key != "functions"}, indent=1)
    functions = []
    for entry in document["functions"]:
        tests = ",\n   ".join(json.dumps(test) for test in entry["tests"])
        functions.append(f'{{"function": {json.dumps(entry["function"])}, "tests": [\n   {tests}\n  ]}}')
    return head[: head.rindex("}")].rstrip() + ',\n "functions": [\n  ' + ",\n  ".join(functions) + "\n ]\n}\n"
