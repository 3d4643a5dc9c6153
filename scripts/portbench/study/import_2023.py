"""Imports the raw timings of the paper of 2023 as run files, so that its tables can be recomputed from them.

portbench/published/study_2023.json lists the function of each test file. Facts that a run file must have and the raw
files lack are "unknown", null or the least that the schema allows: see NOT_RECORDED.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

from portbench.errors import BadInput
from portbench.published import paper as published
from portbench.study.raw_2023 import DEVICES, REMEDY, RawRun, RawTest, find_raw_files, read_raw_file
from portbench.util.files import write_text
from portbench.util.strict_json import shown

Data = dict[str, Any]

NOT_RECORDED = (
    "whether a test passed (timed: passed; else skipped), when it ran (2023-01-01 stands for that), how call and wait "
    "share its time, where it ran, and all of the environment but the framework's version and the device's model"
)
_UNTIMED = "the study timed nothing in it, and its raw data does not tell whether it passed"
_UNKNOWN = "unknown"
_UNKNOWN_SHA256 = "0" * 64
_YEAR = datetime.fromisoformat("2023-01-01T00:00:00Z")


@dataclass(frozen=True)
class Imported:
    """Files that an import wrote. ``left_out``: test files of no function in the sample, with their number of tests."""

    files: tuple[Path, ...]
    runs: int
    left_out: Mapping[str, int]


def import_raw_timings(paths: Iterable[Path], out: Path, framework: str | None = None) -> Imported:
    """Writes a run file for each device of the raw files in ``paths`` (files, and folders of them).

    ``framework`` is that of all files; None: each file's folder is named after it. The same files in any order give
    the same run files. Raises BadInput for any other file, and for a duplicate run; then it writes nothing.
    """
    found = [read_raw_file(path, framework) for path in find_raw_files(paths)]
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


def _functions(framework: str) -> dict[str, str]:
    """The function of each test file, by the name under which the framework has it."""
    importable = {row["name"]: row["importable_as"] or row["name"] for row in published.sample(framework)}
    return {file: importable[name] for file, name in published.raw_test_files(framework).items()}


def _tests(group: Sequence[RawRun]) -> list[tuple[str, str]]:
    return sorted({place for raw in group for place in raw.tests})


def _run_file(group: Sequence[RawRun]) -> Data:
    raw = group[0]
    device = DEVICES[raw.device, raw.model]
    functions = _functions(raw.framework)
    results = [
        _result(functions[file], test, raw.run, entry)
        for raw in group
        for (file, test), entry in raw.tests.items()
        if file in functions
    ]
    if not results:
        raise BadInput(
            f"{shown(raw.path)}: none of its test files is of a function of the paper's {raw.framework} sample", REMEDY
        )
    version = published.versions()[raw.framework]
    seconds = math.fsum(entry["test_time"] for raw in group for entry in raw.tests.values())
    document: Data = {
        "schema": "portbench/run",
        "schema_version": 4,
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
            "sync": "as-published",
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
            "device": {"kind": raw.device, **device.facts, "source": published.source(), "not_told": NOT_RECORDED},
        },
        "started_at": _instant(_YEAR),
        "ended_at": _instant(_YEAR + timedelta(seconds=seconds)),
        "results": results,
    }
    # The same content always has the same id.
    document["run_id"] = hashlib.sha256(json.dumps(document).encode()).hexdigest()[:32]
    return document


def _manifest(framework: str, tests: Mapping[str | None, int]) -> Data:
    # The list of functions in the data file takes the place of a manifest.
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


def _result(function: str, test: str, run: int, entry: RawTest) -> Data:
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
    # The paper's clock ran until block_until_ready() or the like returned: one time for call and wait.
    return {"call_ns": _ns(seconds), "wait_ns": 0, "counters": {}}


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def _instant(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")
