"""Runs a manifest's tests, one at a time, each in a worker; turns every way to end into a result.

Imports no framework. A worker serves until a test does something other than pass: what follows a failure may be its
consequence, so a fresh worker takes over. Each of the ``runs`` passes begins with a fresh worker too.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Mapping, Sequence

from runners.core import environment
from runners.core.errors import BadInput, FrameworkFailed, NothingRan
from runners.core.manifest import Manifest, Test
from runners.core.process import journal, processes, scratch
from runners.core.process.attempt import attempt
from runners.core.process.contamination import Contamination
from runners.core.process.journal import Journal
from runners.core.process.progress import Progress
from runners.core.process.workers import Worker, Workers, Zygote
from runners.core.testing import resolve
from runners.core.triage import placement
from runners.core.triage.opinions import Triage

SURVEY_LIMIT_S = 600.0
STATE_LIMIT_S = 60.0

Result = Dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What one invocation is to do. Times in seconds; ``version`` None accepts any."""

    framework: str
    device: str
    version: str | None
    out: Path
    machine: str
    protocol: str = "both"
    runs: int = 3
    timeout_s: float = 900.0
    steady_budget_s: float = 0.1
    selection: tuple[str, ...] = ()
    resume: bool = False
    shuffle: int | None = None
    mutant: str | None = None
    sync: str = "complete"
    memory_bytes: int | None = None


def run(settings: Settings, manifest: Manifest, progress: Progress) -> Path:
    """Runs everything and returns the path of the run file.

    Raises the errors of runners.core.errors; whatever is raised, finished results are in the journal, and no worker
    is left behind.
    """
    processes.adopt_orphans()
    folder = scratch.Scratch()
    scratch.sweep()

    def workers_on(device: str) -> Workers:
        zygote = Zygote(settings.framework, device, manifest.functions, folder.work, settings.memory_bytes)
        return Workers(zygote)

    workers = workers_on(settings.device)
    host = workers if settings.device == "cpu" else workers_on("cpu")
    try:
        worker = workers.current()
        _check_version(settings, worker.ready["version"])
        document = _document(settings, manifest, worker.ready)
        identity = journal.identity_of(document)
        missing, successors = _survey(worker, settings, manifest)
        tests = _with_successors(manifest.tests, successors)
        book: Journal | None = None
        if settings.resume:
            book = journal.resume(settings.out, settings.framework, settings.device, identity)
            if book is None:
                complete = journal.finished(settings.out, settings.framework, settings.device, identity)
                if complete is not None:
                    progress.unchanged(complete)
                    return complete
        if book is None:
            book = journal.create(settings.out, document, identity)
        progress.start(document, book.path, len(tests), settings.runs, len(book.done))
        progress.uncurated(manifest.uncurated)
        opinions = Triage(settings.framework, workers, host, settings.timeout_s, folder.work, book.results)
        predicted = settings.device in resolve.framework(settings.framework).PREDICTED
        contamination = Contamination(settings.framework, book.results, predicted)
        _run_all(settings, tests, missing, workers, contamination, opinions, book, progress)
        path = book.finish(_now(), _device_state(workers.idle))
        progress.end(path, Counter(result["outcome"] for result in book.results))
        return path
    finally:
        workers.close()
        host.close()
        folder.remove()


def _device_state(worker: Worker | None) -> Mapping[str, Any] | None:
    """What of the device has changed, from the last worker if it is still there."""
    reply = worker.ask({"do": "state"}, STATE_LIMIT_S) if worker else None
    return reply.message["state"] if reply and reply.message else None


def _run_all(
    settings: Settings,
    tests: Sequence[Test],
    missing: Mapping[str, str],
    workers: Workers,
    contamination: Contamination,
    opinions: Triage,
    book: Journal,
    progress: Progress,
) -> None:
    warned = False
    for number in range(1, settings.runs + 1):
        for test in _ordered(tests, settings.shuffle, number):
            if (test.function, test.id, number) in book.done:
                continue
            if test.function in missing:
                result = _unavailable(test, number, missing[test.function])
            else:
                result = _run_one(settings, test, number, workers, contamination, opinions)
            book.append(result)
            progress.result(result)
            proof = result.get("proof")
            if proof and not proof["passed"] and not warned:
                warned = True
                progress.warn(_unproven(settings.sync, proof["reason"]))
        if number < settings.runs:
            workers.retire()


def _unproven(sync: str, reason: str) -> str:
    if sync == "study":
        return f"the study's synchronisation does not cover the work of this device: {reason}"
    return f"no latencies: on this device waiting could not be proved to work: {reason}"


def _with_successors(tests: Sequence[Test], successors: Mapping[str, str]) -> Sequence[Test]:
    """The tests, and those of each absent function once more with its successor."""
    again = [
        dataclasses.replace(test, function=successors[test.function], successor_of=test.function)
        for test in tests
        if test.function in successors
    ]
    return [*tests, *again]


def _ordered(tests: Sequence[Test], seed: int | None, number: int) -> Sequence[Test]:
    """The manifest's order, or with a seed another one for each run: the same for the same seed."""
    if seed is None:
        return tests
    return random.Random(f"{seed}/{number}").sample(tests, len(tests))


def _run_one(
    settings: Settings,
    test: Test,
    number: int,
    workers: Workers,
    contamination: Contamination,
    opinions: Triage,
) -> Result:
    """Hands one test to a worker and describes what came of it. Only one whose test passed or was foretold is left."""
    request = {
        "do": "test",
        "function": test.function,
        "case": test.case,
        "parameters": test.parameters,
        "protocol": settings.protocol,
        "steady_budget_s": settings.steady_budget_s,
        "mutant": settings.mutant,
        "sync": settings.sync,
    }
    key = (test.function, test.id)
    if settings.mutant is None:
        facts = contamination.attempt(key, workers, request, settings.timeout_s)
        opinions.annotate(facts, key, request, facts.pop("share"))
    else:
        facts = attempt(workers.current(), settings.framework, request, settings.timeout_s)
        del facts["share"]
        if facts["outcome"] != "passed":
            workers.retire()
    return _result(test, number, facts)


def _unavailable(test: Test, number: int, reason: str) -> Result:
    facts: dict[str, Any] = {
        "outcome": "skipped",
        "reason": reason,
        "phase": None,
        "category": "unavailable",
        "error": None,
        "exit": None,
        "placement": placement.UNKNOWN,
        "calls": [],
        "output": {"text": "", "total_bytes": 0},
        "worker": 0,
        "case_ns": 0,
    }
    return _result(test, number, facts)


def _result(test: Test, number: int, facts: Mapping[str, Any]) -> Result:
    return {
        "function": test.function,
        "test": test.id,
        "run": number,
        "case": test.case,
        "successor_of": test.successor_of,
        **facts,
    }


def _survey(worker: Worker, settings: Settings, manifest: Manifest) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Which functions this version lacks, with the reason, and the successors of those that have one.

    Raises BadInput for names that can be nothing but mistakes, NothingRan if there is no function at all to run.
    """
    names = manifest.functions
    expectations = [test.parameters["expect"] for test in manifest.tests if test.case == "call"]
    request = {
        "do": "survey",
        "functions": [*names, *itertools.chain.from_iterable(manifest.successors.values())],
        "cases": sorted({test.case for test in manifest.tests}),
        "references": sorted(
            {(key, e[key]) for e in expectations for key in ("numpy", "scipy", "property") if key in e}
        ),
    }
    reply = worker.ask(request, SURVEY_LIMIT_S)
    if reply.message is None:
        said = worker.capture.take()["text"].strip()
        raise FrameworkFailed("looking up the manifest's functions ended the worker or took too long\n" + said)
    mistakes: dict[str, str] = dict(reply.message["forbidden"])
    absent: Mapping[str, str] = reply.message["missing"]
    missing = {name: absent[name] for name in names if name in absent}
    if manifest.written_for is not None and manifest.written_for == worker.ready["version"]:
        mistakes.update(missing)
    if mistakes:
        name, reason = next(iter(mistakes.items()))
        more = f" (and {len(mistakes) - 1} more of the kind)" if len(mistakes) > 1 else ""
        place = manifest.places.get(name, "$.functions")
        raise BadInput(f"{manifest.path}: {place}: {name}: {reason}{more}", "Mend the name in the manifest.")
    successors = {
        name: next((successor for successor in manifest.successors.get(name, ()) if successor not in absent), "")
        for name in missing
    }
    successors = {name: successor for name, successor in successors.items() if successor}
    if len(missing) == len(names) and not successors:
        raise NothingRan(
            f"{manifest.path}: $.functions: {settings.framework} {worker.ready['version']} has none of its functions",
            "Give a manifest that was written for this version.",
        )
    return missing, successors


def _check_version(settings: Settings, found: str) -> None:
    if settings.version is not None and settings.version != found:
        raise FrameworkFailed(
            f"wanted {settings.framework} {settings.version}, this environment has {found}",
            "Rebuild the environment or image, or name the version that is there.",
        )


def _document(settings: Settings, manifest: Manifest, ready: Mapping[str, Any]) -> dict[str, Any]:
    """The run file's top level, but for its end and its results."""
    variables = resolve.framework(settings.framework).variables(settings.device)
    predicted = {"prediction": ready["prediction"]} if "prediction" in ready else {}
    return {
        "schema": "portbench/run",
        "schema_version": 3,
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
            "mutant": settings.mutant,
            "sync": settings.sync,
            "memory_bytes": settings.memory_bytes,
        },
        **predicted,
        "environment": dict(
            environment.collect(settings.machine, ready["device"], variables),
            device_state={"start": ready["state"], "end": None},
        ),
        "started_at": _now(),
    }


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
