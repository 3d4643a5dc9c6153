"""Makes manifests of a recording: one of each framework, from the files of all processes."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, Dict, Iterable, Mapping

from portbench_recorder import programs
from portbench_recorder.recording import FORMAT, PARTS

MANIFEST_VERSION = 4
_MOST_SITES = 3

Data = Dict[str, Any]


class NotRecorded(Exception):
    """A folder without a recording that can be read; the message says why."""


def write_manifests(folder: Path, program: str = "") -> list[Path]:
    """Writes ``<framework>.json`` into the folder of a recording, for each framework that was called; returns them.

    ``program`` says what was run. Raises NotRecorded where the folder has no recording, OSError where a manifest cannot
    be written.
    """
    parts = [_read(path) for path in sorted((folder / PARTS).glob("*.json"))]
    entries = [entry for part in parts for entry in part["entries"]]
    frameworks = {entry["framework"] for entry in entries}.union(*(part["programs"] for part in parts))
    if not frameworks:
        raise NotRecorded(f"{folder}: no call of a framework was recorded")
    written = []
    whole: list[Data] = []
    for framework in sorted(frameworks):
        own = [entry for entry in entries if entry["framework"] == framework]
        kept, others = programs.merged([part["programs"][framework] for part in parts if framework in part["programs"]])
        tests = [programs.test_of(program) for program in kept]
        versions = {part["frameworks"][framework] for part in parts if framework in part["frameworks"]}
        document = _manifest(framework, own, max(versions, default=""), program or _program(parts), tests)
        if others:
            document["recorded"]["other_programs"] = others
        whole += tests
        failures = [failure for part in parts for failure in part["failures"].items()]
        document["recorded"]["failures"] = [
            {"message": message, "calls": sum(n for other, n in failures if other == message)}
            for message in sorted({message for message, _ in failures})
        ]
        path = folder / f"{framework}.json"
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
        os.replace(str(temporary), str(path))
        written.append(path)
    programs.remove_unused(folder, whole)
    return written


def _read(path: Path) -> Data:
    try:
        part: Data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise NotRecorded(f"{path}: is damaged: {error}") from error
    if not isinstance(part, dict) or "format" not in part:
        raise NotRecorded(f"{path}: is damaged: it is no part of a recording")
    if part["format"] != FORMAT:
        raise NotRecorded(f"{path}: written by another version of the recorder: format {part['format']}")
    missing = sorted({"entries", "failures", "frameworks", "program", "programs"} - part.keys())
    if missing:
        raise NotRecorded(f"{path}: is damaged: it has no {missing[0]}")
    return part


def _program(parts: Iterable[Data]) -> str:
    return ", ".join(sorted({part["program"] for part in parts if part["program"]}))


def _manifest(framework: str, entries: list[Data], version: str, program: str, whole: list[Data]) -> Data:
    functions: dict[str, dict[str, Data]] = {}
    left_out: dict[str, Data] = {}
    for entry in entries:
        if entry["calls"] == 0:
            continue
        if entry["arguments"] is None:
            key = f"{entry['function']} {entry['reason']}"
            found = left_out.setdefault(
                key, {"function": entry["function"], "reason": entry["reason"], "calls": 0, "seconds": 0.0, "sites": []}
            )
        else:
            digest = hashlib.sha256(json.dumps(entry["arguments"], sort_keys=True).encode()).hexdigest()
            tests = functions.setdefault(entry["function"], {})
            found = tests.setdefault(digest, _test(entry["arguments"], digest))
        weight = found.get("weight", found)
        weight["calls"] += entry["calls"]
        weight["seconds"] = round(weight["seconds"] + entry["seconds"], 6)
        found["sites"] = list(dict.fromkeys([*found["sites"], *entry["sites"]]))[:_MOST_SITES]
    listed = [
        {"function": name, "tests": sorted(tests.values(), key=lambda test: -int(test["weight"]["calls"]))}
        for name, tests in functions.items()
    ]
    listed.sort(key=lambda function: -sum(test["weight"]["calls"] for test in function["tests"]))
    if whole:
        name = programs.FUNCTIONS[framework]
        entry = next((entry for entry in listed if entry["function"] == name), None)
        if entry is None:
            entry = {"function": name, "tests": []}
            listed.append(entry)
        entry["tests"] += whole
    return {
        "schema": "portbench/manifest",
        "schema_version": MANIFEST_VERSION,
        "name": f"recorded-{hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:12]}",
        "framework": framework,
        "written_for": version,
        "recorded": {
            "program": program[:1000],
            "calls": sum(entry["calls"] for entry in entries),
            "seconds": round(sum(entry["seconds"] for entry in entries), 6),
            "left_out": sorted(left_out.values(), key=lambda each: -int(each["calls"])),
        },
        "functions": listed,
    }


def _test(arguments: Mapping[str, Any], digest: str) -> Data:
    return {
        "id": f"{_title(arguments)}-{digest[:8]}",
        "case": arguments.get("case", "replay"),
        **{name: value for name, value in arguments.items() if name != "case"},
        "weight": {"calls": 0, "seconds": 0.0},
        "sites": [],
    }


def _title(arguments: Mapping[str, Any]) -> str:
    """The dtype and shape of the first tensor, such as ``float32.8x64``."""
    waiting = [*arguments.get("args", []), *arguments.get("kwargs", {}).values()]
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, list):
            waiting[:0] = value
        elif isinstance(value, dict):
            tensor = value.get("tensor")
            if tensor is not None:
                shape = "x".join(map(str, tensor.get("shape", []))) or "scalar"
                return re.sub("[<>]", "", f"{tensor['dtype']}.{shape}")[:48]
            waiting[:0] = list(value.values())
    return "plain"
