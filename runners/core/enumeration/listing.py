"""Lists a framework's public functions: has a process find them, and writes the document.

A module that kills the process or does not return from its import is left out in the next try, with the reason among
the errors.
"""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

from runners.core import environment
from runners.core.enumeration.supervised import Child
from runners.core.errors import FrameworkFailed, StorageFailed
from runners.core.public import library as libraries
from runners.core.public.library import Library

MODULE_LIMIT_S = 60.0
"""For any other module to be imported and listed."""

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Settings:
    """What one invocation is asked to do. ``version`` None accepts any version."""

    framework: str
    device: str
    version: str | None
    out: Path
    as_study: bool = False
    methods: bool = False
    module_limit_s: float = MODULE_LIMIT_S


def write_list(settings: Settings, library: Library, variables: Mapping[str, str]) -> tuple[Path, int]:
    """Lists the functions and writes ``<framework>-<version>-<device>.functions.json`` into the output folder.

    Returns the path and the number of functions. ``variables`` are set before the framework is imported. Raises
    FrameworkFailed if the framework cannot be imported or has another version, StorageFailed if the file cannot be
    written.
    """
    found = found_by_child(settings, library, variables)
    if settings.version is not None and found["version"] != settings.version:
        raise FrameworkFailed(f"{settings.framework} is {found['version']} here, {settings.version} is expected")
    document = _document(settings, library, found)
    name = f"{settings.framework}-{found['version']}-{settings.device}.functions.json"
    return write(settings.out / name, as_text(document)), len(document["functions"])


def found_by_child(settings: Settings, library: Library, variables: Mapping[str, str]) -> dict[str, Any]:
    """The part of the document that the process returns (see runners.core.enumeration.child). Raises
    FrameworkFailed."""
    asked = {"library": libraries.to_json(library), "as_study": settings.as_study, "methods": settings.methods}
    child = Child("runners.core.enumeration.child", library.module, variables, settings.module_limit_s)
    return child.answer(asked)


def _document(settings: Settings, library: Library, found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema": "portbench/functions",
        "schema_version": SCHEMA_VERSION,
        "target": {"framework": settings.framework, "version": found["version"], "device": settings.device},
        "rule": {
            "name": "study" if settings.as_study else "portbench",
            "methods": library.study.methods if settings.as_study else settings.methods,
            "known": found["known"],
            "guessed": found["guessed"],
        },
        "environment": {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "packages": environment.packages(),
            "runner_sha256": environment.own_sha256(),
        },
        **{key: found[key] for key in ("public_tests", "counts", "left_out", "errors", "functions")},
    }


def as_text(document: Mapping[str, Any]) -> str:
    """JSON with one function a line, so that two lists can be compared line by line."""
    head = json.dumps(
        {key: value for key, value in document.items() if key != "functions"}, indent=1, ensure_ascii=False
    )
    lines: list[str] = [json.dumps(entry, ensure_ascii=False) for entry in document["functions"]]
    functions = "[\n  " + ",\n  ".join(lines) + "\n ]" if lines else "[]"
    return head[: head.rindex("}")].rstrip() + f',\n "functions": {functions}\n}}\n'


def write(path: Path, text: str) -> Path:
    """Writes a file as a whole or not at all. Raises StorageFailed."""
    staged = path.with_name(path.name + ".unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staged.write_text(text, "utf-8")
        staged.replace(path)
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error}", "Give another folder with --out.") from error
    return path
