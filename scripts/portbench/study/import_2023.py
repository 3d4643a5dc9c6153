"""Imports the raw data of the paper of 2023 as run files, so that its tables can be recomputed from them.

portbench/published/raw_2023 has the data, and files.json there the function of each test file. Categories of failures
are derived from their messages, as a runner does. What the raw files do not say is null or absent: see NOT_RECORDED.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from portbench.errors import BadInput
from portbench.published import paper as published
from portbench.study.categories import Error, Rules
from portbench.study.raw_2023 import (
    DEVICES,
    REMEDY,
    RawGroup,
    RawOutcome,
    RawRun,
    RawTest,
    find_raw_files,
    group_raw_files,
    read_raw_file,
    test_id,
)
from portbench.util.files import write_text
from portbench.util.strict_json import shown

Data = dict[str, Any]

SOURCE = f"{published.source()}, raw data of the repository for-ai/portability"

NOT_RECORDED = (
    "when and on which host it ran, how call and wait share each time, the order of the tests, and of the environment "
    "all but the framework's version and the device's model"
)
_NO_OUTCOMES = f"whether a test passed, {NOT_RECORDED}"
_ONE_REPORT = f"of which run the outcomes are (they stand in every run), why a test was skipped, {NOT_RECORDED}"
_SKIPPED = "the report of the outcomes does not say why"
_EXCEPTION = re.compile(r"([A-Za-z_][\w.]*)(?:: ?|$)")
_UNKNOWN_SHA256 = "0" * 64


@dataclass(frozen=True)
class Imported:
    """Files that an import wrote. ``left_out``: test files of no function in the sample, with their number of tests;
    ``on_cpu``: how many tests were left out since they ran on the CPU; ``reported``: the names of the written files
    with outcomes."""

    files: tuple[Path, ...]
    runs: int
    left_out: Mapping[str, int]
    on_cpu: int
    reported: tuple[str, ...]


def import_raw_data(paths: Iterable[Path], out: Path, rules: Rules, framework: str | None = None) -> Imported:
    """Writes a run file for each framework and device of the raw files in ``paths`` (files, and folders of them).

    ``rules`` give the categories of failures. ``framework`` is that of all files; None: each file's folder is named
    after it. The same files in any order give the same run files. Raises BadInput for any other file, for a duplicate,
    and for outcomes without times; then it writes nothing.
    """
    found = [read_raw_file(path, framework) for path in find_raw_files(paths)]
    groups = group_raw_files(found)
    names = {key: f"study-2023-{'-'.join(key)}.json" for key in groups}
    documents = {out / names[key]: _run_file(group, rules) for key, group in groups.items()}
    for path, document in documents.items():
        write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")
    left_out: Counter[str] = Counter()
    on_cpu = 0
    for group in groups.values():
        functions = _functions(group.framework)
        left_out |= Counter(file for file, _ in group.places if file not in functions)
        on_cpu += sum(file in functions and test_id(group.framework, test) is None for file, test in group.places)
    reported = tuple(names[key] for key, group in groups.items() if group.report)
    runs = sum(isinstance(raw, RawRun) for raw in found)
    return Imported(tuple(documents), runs, dict(sorted(left_out.items())), on_cpu, reported)


def _functions(framework: str) -> dict[str, str]:
    """The function of each test file, by the name under which the framework has it."""
    importable = {row["name"]: row["importable_as"] or row["name"] for row in published.sample(framework)}
    return {file: importable[name] for file, name in published.raw_test_files(framework).items()}


def _run_file(group: RawGroup, rules: Rules) -> Data:
    raw = group.runs[0]
    device = DEVICES[raw.device, raw.model]
    results = list(_results(group, rules))
    if not results:
        raise BadInput(
            f"{shown(raw.path)}: none of its test files is of a function of the paper's {raw.framework} sample", REMEDY
        )
    version = published.versions()[raw.framework]
    tests = {(result["function"], result["test"]) for result in results}
    document: Data = {
        "schema": "portbench/run",
        "schema_version": 5,
        "run_id": "",
        "target": {"framework": raw.framework, "version": version, "device": raw.device},
        "manifest": _manifest(raw.framework, device.name, Counter(function for function, _ in tests)),
        "protocol": {
            "name": "cold",
            "runs": max(run.run for run in group.runs),
            "timeout_s": float(published.protocol()["timeout_s"]),
            "steady_budget_s": None,
            "sync": "as-published",
            "cold": "test",
        },
        "imported": {"source": SOURCE, "not_recorded": _ONE_REPORT if group.report else _NO_OUTCOMES},
        "environment": {
            "machine": published.machine(device.name),
            **dict.fromkeys(("os", "kernel", "cpu_model", "cpu_cores", "memory_bytes", "python")),
            **dict.fromkeys(("container", "image_digest", "runner_commit", "runner_sha256")),
            "packages": {raw.framework: version},
            "variables": {},
            "device": {"kind": raw.device, **device.facts},
        },
        "started_at": None,
        "ended_at": None,
        "results": results,
    }
    # The same content always has the same id.
    document["run_id"] = hashlib.sha256(json.dumps(document).encode()).hexdigest()[:32]
    return document


def _manifest(framework: str, model: str, tests: Mapping[str | None, int]) -> Data:
    # The list of functions in the data file takes the place of a manifest. Each device has its own: the raw data of
    # some have tests that those of others do not have, which are not missing there.
    content = (resources.files("portbench.published") / "study_2023.json").read_bytes()
    return {
        "name": f"study-2023-{framework}-{model}",
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


def _results(group: RawGroup, rules: Rules) -> Iterator[Data]:
    """The results of a group, run by run. The report says of no run that it is the one that was reported: its outcomes
    stand in every run.

    Where several classes of a file have a test of the same name, the times do not say of which class they are: each
    class has a result with its outcome, and if all of them passed, the bare name has one with the times.
    """
    functions = _functions(group.framework)
    reported: dict[tuple[str, str], list[RawOutcome]] = {}
    for each in group.report.outcomes if group.report else ():
        reported.setdefault((each.file, each.test), []).append(each)
    for raw in group.runs:
        for file, test in sorted(raw.tests.keys() | reported.keys()):
            name = test_id(group.framework, test)
            if file not in functions or name is None:
                continue
            entry, outcomes = raw.tests.get((file, test)), reported.get((file, test), [])
            named: list[tuple[str, RawTest | None, RawOutcome | None]]
            if len(outcomes) > 1:
                named = [(f"{one.cls}.{name}", None, one) for one in outcomes]
                if entry and entry["operations"] and all(one.outcome == "passed" for one in outcomes):
                    named.append((name, entry, None))
            else:
                named = [(name, entry, outcomes[0] if outcomes else None)]
            for test_name, times, one in named:
                result = _result(functions[file], file, raw.run, test_name, times, one)
                if result["error"]:
                    error = Error(result["error"]["type"], result["error"]["message"])
                    result["category"] = rules.category(group.framework, "failed", error)
                yield result


def _result(function: str, file: str, run: int, test: str, entry: RawTest | None, reported: RawOutcome | None) -> Data:
    seconds = entry["operations"] if entry else []
    outcome = reported.outcome if reported else None
    return {
        "function": function,
        "test": test,
        "run": run,
        "case": file,
        "outcome": outcome,
        "reason": _SKIPPED if outcome == "skipped" else None,
        **dict.fromkeys(("phase", "category", "exit")),
        "error": _error(reported.message or "") if reported and outcome == "failed" else None,
        "placement": {"verdict": "unknown", "evidence": []},
        "calls": [{"cold": _cold(each), "steady": None} for each in seconds],
        "output": {"text": "", "total_bytes": 0},
        "worker": None,
        "case_ns": _ns(entry["test_time"]) if entry else None,
    }


def _error(text: str) -> Data:
    """The exception of a report's message: ``RuntimeError: wrong shape``."""
    found = _EXCEPTION.match(text)
    kind, message = (found[1], text[found.end() :]) if found else ("AssertionError", text)
    return {"type": kind, "message": message, "traceback": "", "causes": []}


def _cold(seconds: float) -> Data:
    # The paper's clock ran until block_until_ready() or the like returned: one time for call and wait.
    return {"call_ns": _ns(seconds), "wait_ns": None, "counters": {}}


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
