"""The raw timings that the study of 2023 left, as run files, so that its tables can be recomputed from them.

A raw file is of one device and run, which its name tells (``gpu_t4_run1.json``), and holds for each test the seconds of
each timed operation:

    {"add_test.py:testOp0": {"operations": [0.1765], "test_time": 0.183}, ...}

Which test file is of which function is listed in data/study_2023.json. What a run file must say and the raw ones do not
is "unknown", null or the least that its schema allows: NOT_TOLD says what.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

from portbench.errors import BadInput
from portbench.published import paper as published
from portbench.util.files import write_text
from portbench.util.strict_json import json_path, read_json, shown
from portbench.util.text import escape_control

Data = dict[str, Any]

NOT_TOLD = (
    "whether a test passed (timed: passed; else skipped), when it ran (2023-01-01 stands for that), how call and wait "
    "share its time, where it ran, and all of the environment but the framework's version and the device's model"
)
_UNTIMED = "the study timed nothing in it, and its raw data does not tell whether it passed"
_NAME = re.compile(r"(gpu|tpu)_([a-z0-9]+)_run([1-9][0-9]?)\.json")
_REMEDY = "Give the study's files, named by device and run such as gpu_t4_run1.json, or their folder."
_UNKNOWN = "unknown"
_UNKNOWN_SHA256 = "0" * 64
_YEAR = datetime.fromisoformat("2023-01-01T00:00:00Z")


@dataclass(frozen=True)
class _Device:
    """A device of the study: the name by which published figures go, and what an environment says of such a one."""

    name: str
    facts: Mapping[str, str]


_DEVICES = {
    ("gpu", "t4"): _Device("t4", {"model": "Tesla T4", "compute_capability": "7.5"}),
    ("gpu", "a100"): _Device("a100", {"model": "NVIDIA A100", "compute_capability": "8.0"}),
    ("tpu", "v2"): _Device("v2-8", {"model": "TPU v2", "accelerator_type": "v2-8"}),
    ("tpu", "v3"): _Device("v3-8", {"model": "TPU v3", "accelerator_type": "v3-8"}),
}


@dataclass(frozen=True)
class RawRun:
    """A raw file: one pass over the tests on one device. ``tests`` has seconds, by test file and test."""

    path: Path
    framework: str
    device: str
    model: str
    run: int
    tests: Mapping[tuple[str, str], Data]


@dataclass(frozen=True)
class Imported:
    """What an import wrote. ``left_out``: test files of no function of the study, with their number of tests."""

    files: tuple[Path, ...]
    runs: int
    left_out: Mapping[str, int]


def import_raw_timings(paths: Iterable[Path], out: Path, framework: str | None = None) -> Imported:
    """Writes a run file for each device of the raw files that ``paths`` (files, and folders of them) hold.

    ``framework`` is that of all; None: each file's folder is named after it. The same files give the same run files, in
    any order. Raises BadInput for what is no such file, and for one run given twice; then nothing is written.
    """
    found = [_read(path, framework) for path in _files(paths)]
    groups: dict[tuple[str, str, str], list[RawRun]] = {}
    for raw in sorted(found, key=lambda raw: (raw.framework, raw.device, raw.model, raw.run)):
        group = groups.setdefault((raw.framework, raw.device, raw.model), [])
        if group and group[-1].run == raw.run:
            raise BadInput(
                f"{shown(group[-1].path)} and {shown(raw.path)} are both run {raw.run} of {raw.framework} on the "
                f"{raw.device} {raw.model}",
                "Give each run once.",
            )
        group.append(raw)
    documents = {out / f"study-2023-{'-'.join(key)}.json": _run_file(group) for key, group in groups.items()}
    for path, document in documents.items():
        write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")
    left_out: Counter[str] = Counter()
    for group in groups.values():
        left_out |= Counter(file for file, _ in _tests(group) if file not in _functions(group[0].framework))
    return Imported(tuple(documents), len(found), dict(sorted(left_out.items())))


def _files(paths: Iterable[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise BadInput(f"{shown(path)}: no .json file there", _REMEDY)
        files += inside
    return list({file.resolve(): file for file in files}.values())


def _read(path: Path, framework: str | None) -> RawRun:
    name = _NAME.fullmatch(path.name)
    if name is None or (name[1], name[2]) not in _DEVICES:
        known = ", ".join(f"{device}_{model}" for device, model in _DEVICES)
        raise BadInput(
            f"{shown(path)}: found the name {escape_control(path.name)}, expected a device of the study ({known}) "
            "and a run",
            _REMEDY,
        )
    framework = framework or path.resolve().parent.name
    if not published.raw_test_files(framework):
        raise BadInput(
            f"{shown(path)}: which test file is of which function is not known of framework "
            f"{escape_control(framework)}, only of jax",
            "Name the framework with --framework, or the folder after it.",
        )
    data = read_json(path).data
    if not isinstance(data, dict) or not data:
        raise BadInput(f"{shown(path)}: $: expected an object with an entry for each test", _REMEDY)
    for test, entry in data.items():
        _check(path, test, entry)
    tests = {_place(path, test): entry for test, entry in data.items()}
    return RawRun(path, framework, name[1], name[2], int(name[3]), tests)


def _place(path: Path, test: str) -> tuple[str, str]:
    file, separator, name = test.partition(":")
    if not (file and separator and name):
        raise BadInput(
            f"{shown(path)}: {json_path([test])}: expected a key such as add_test.py:testOp0, a test file and a test",
            _REMEDY,
        )
    return file, name


def _check(path: Path, test: str, entry: Any) -> None:
    def wrong(where: Sequence[str | int], expected: str) -> BadInput:
        return BadInput(f"{shown(path)}: {json_path([test, *where])}: expected {expected}", _REMEDY)

    if not isinstance(entry, dict) or set(entry) != {"operations", "test_time"}:
        raise wrong([], "an object with operations and test_time")
    if not isinstance(entry["operations"], list):
        raise wrong(["operations"], "a list of seconds")
    if not _is_seconds(entry["test_time"]):
        raise wrong(["test_time"], "seconds, a number that is not negative")
    for position, value in enumerate(entry["operations"]):
        if not _is_seconds(value):
            raise wrong(["operations", position], "seconds, a number that is not negative")


def _is_seconds(value: Any) -> bool:
    # A year is more than any test took, and far less than what 64 bits of nanoseconds hold.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 365 * 86_400


def _functions(framework: str) -> dict[str, str]:
    """The function of each test file, by the name under which the framework has it."""
    importable = {row["name"]: row["importable_as"] or row["name"] for row in published.sample(framework)}
    return {file: importable[name] for file, name in published.raw_test_files(framework).items()}


def _tests(group: Sequence[RawRun]) -> list[tuple[str, str]]:
    return sorted({place for raw in group for place in raw.tests})


def _run_file(group: Sequence[RawRun]) -> Data:
    raw = group[0]
    device = _DEVICES[raw.device, raw.model]
    functions = _functions(raw.framework)
    results = [
        _result(functions[file], test, raw.run, entry)
        for raw in group
        for (file, test), entry in raw.tests.items()
        if file in functions
    ]
    if not results:
        raise BadInput(
            f"{shown(raw.path)}: none of its test files is of a function of the study's {raw.framework} sample", _REMEDY
        )
    version = published.versions()[raw.framework]
    seconds = math.fsum(entry["test_time"] for raw in group for entry in raw.tests.values())
    document: Data = {
        "schema": "portbench/run",
        "schema_version": 3,
        "run_id": "",
        "target": {"framework": raw.framework, "version": version, "device": raw.device},
        "manifest": _manifest(raw.framework, Counter(functions.get(file) for file, _ in _tests(group))),
        "protocol": {
            "name": "cold",
            "runs": max(raw.run for raw in group),
            "timeout_s": float(published.protocol()["timeout_s"]),
            "steady_budget_s": 0.1,
            "shuffle": None,
            "mutant": None,
            "sync": "study",
            "memory_bytes": None,
        },
        "environment": {
            "machine": f"study-2023-{device.name}",
            **dict.fromkeys(("os", "kernel", "cpu_model", "python"), _UNKNOWN),
            "cpu_cores": 1,
            "memory_bytes": 0,
            **dict.fromkeys(("container", "image_digest", "runner_commit")),
            "packages": {raw.framework: version},
            "runner_sha256": _UNKNOWN_SHA256,
            "variables": {},
            "device": {"kind": raw.device, **device.facts, "source": published.source(), "not_told": NOT_TOLD},
        },
        "started_at": _instant(_YEAR),
        "ended_at": _instant(_YEAR + timedelta(seconds=seconds)),
        "results": results,
    }
    # What is the same has the same id, and what is not has another.
    document["run_id"] = hashlib.sha256(json.dumps(document).encode()).hexdigest()[:32]
    return document


def _manifest(framework: str, tests: Mapping[str | None, int]) -> Data:
    # The list of functions in our data file is all that there is of a manifest.
    content = (resources.files("portbench.published") / "study_2023.json").read_bytes()
    return {
        "name": f"study-2023-{framework}",
        "sha256": hashlib.sha256(content).hexdigest(),
        "selection": [],
        "functions": [
            {
                "name": (name := row["importable_as"] or row["name"]),
                "tests": tests.get(name, 0),
                **{key: row[key] for key in ("decile", "uses", "top20")},
                "listed_as": row["name"] if row["importable_as"] else None,
            }
            for row in published.sample(framework)
        ],
    }


def _result(function: str, test: str, run: int, entry: Data) -> Data:
    timed = [{"cold": _cold(seconds), "steady": None} for seconds in entry["operations"]]
    return {
        "function": function,
        "test": test,
        "run": run,
        "case": "study-2023",
        "outcome": "passed" if timed else "skipped",
        "reason": None if timed else _UNTIMED,
        **dict.fromkeys(("phase", "category", "error", "exit")),
        "placement": {"verdict": "unknown", "evidence": []},
        "calls": timed,
        "output": {"text": "", "total_bytes": 0},
        "worker": run,
        "case_ns": _ns(entry["test_time"]),
    }


def _cold(seconds: float) -> Data:
    # The study's clock went on until block_until_ready() or its like had returned: one figure for call and wait.
    return {"call_ns": _ns(seconds), "wait_ns": 0, "counters": {}}


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def _instant(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")
