"""Records what code calls, with the recorder of ``portbench record``: examples in docstrings, and test suites."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from runners.core.collection import forks
from runners.core.collection.examples import Documented
from runners.core.collection.literals import settled

EXAMPLES_LIMIT_S = 60.0
"""Of the processor, for one example of a docstring."""
SUITE_LIMIT_S = 4 * 3600.0
_HEARTBEAT_S = 20.0
_RECORDER = Path(__file__).resolve().parents[2] / "recorder"
_NO_TESTS = 5
"""The exit status of pytest that found none."""

if str(_RECORDER) not in sys.path:
    sys.path.append(str(_RECORDER))


class NotRecorded(Exception):
    """A suite that cannot be recorded; the message says why."""


class Recorded(NamedTuple):
    """A call that was seen: the function's public name; the entry of the source and the call's position in it; the
    digest of the entry's text; and the arguments as a manifest's test has them."""

    function: str
    entry: str
    position: int
    sha256: str
    arguments: Mapping[str, Any]


class Found(NamedTuple):
    """What examples gave: the calls, and why others gave none, in words."""

    calls: Sequence[Recorded]
    failures: Sequence[str]


def of_docstring(
    function: Documented, framework: str, module: str, seed: Callable[[], None], tick: Callable[[], None]
) -> Found:
    """Runs the examples of a function in a fork. ``seed`` sets the framework's random state before. ``tick`` is called
    before each."""

    def work(send: forks.Send) -> None:
        failures = []
        recorder = _begin(framework, module)
        seed()
        names = _namespace(framework, function.module)
        for snippet in function.snippets:
            send({"step": True})
            try:
                exec(compile(snippet, "<example>", "exec"), names)
            except BaseException as error:
                failures.append(f"{type(error).__name__}: {error}")
        recorder.stop()
        send({"entries": _entries(Path("recording")), "failures": failures})

    said: Mapping[str, Any] = {}
    for message in forks.messages(work, EXAMPLES_LIMIT_S):
        said = {**said, **message}
        tick()
    ended = said[forks.ENDED]
    calls, left_out = _calls(said.get("entries", ()), framework, lambda entry: (function.name, function.sha256))
    return Found(calls, [*filter(None, [ended]), *said.get("failures", ()), *left_out])


def _begin(framework: str, module: str) -> Any:
    """Starts the recorder in this process. What it does not know brings ``runners/<framework>/recorder.py``."""
    hooks: Any = importlib.import_module("portbench_recorder.hooks")
    own = f"runners.{framework}.recorder"
    if importlib.util.find_spec(own):
        hooks.RECORDERS[module] = own
    recorder: Any = importlib.import_module("portbench_recorder")
    recorder.start("recording", values=True)
    return recorder


def _namespace(framework: str, module: str) -> dict[str, Any]:
    """The names that examples know: those of the module that defines the function, and what the framework's own
    examples take for granted."""
    known: ModuleType | None = sys.modules.get(module)
    facts: Any = importlib.import_module(f"runners.{framework}.examples")
    names = dict(vars(known)) if known else {}
    names.update({name: importlib.import_module(path) for name, path in facts.MODULES.items()})
    facts.prepare()
    return dict(names, __name__="__main__")


def of_suite(package: str, framework: str, tick: Callable[[], None]) -> Found:
    """Runs the tests that an installed package brings, under pytest in a process of its own.

    ``package`` may be a part, such as ``optax.losses``. ``tick`` is called every few seconds. Raises NotRecorded.
    """
    for needed in (package.split(".")[0], "pytest"):
        if importlib.util.find_spec(needed) is None:
            raise NotRecorded(f"the package {needed} is not installed in this environment")
    folder = Path("suite").absolute()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "portbench_recorder.pytest_plugin"]
    command += [f"--portbench-record={folder}", "--portbench-record-values", "--continue-on-collection-errors"]
    with Path("suite.txt").open("wb") as output:
        process = subprocess.Popen(
            [*command, "--pyargs", package],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, [str(_RECORDER), os.environ.get("PYTHONPATH")])),
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        status = _waited(process, tick)
    said = Path("suite.txt").read_text("utf-8", "replace").strip().splitlines() or [""]
    if status is None:
        raise NotRecorded(f"the tests of {package} took more than {SUITE_LIMIT_S / 3600:g} hours: name a part of it")
    if status == _NO_TESTS:
        raise NotRecorded(f"the installed package {package} has no tests: pytest collected none")
    if status not in (0, 1):
        raise NotRecorded(f"pytest ended with exit status {status} for {package}: {said[-1][:300]}")
    calls, left_out = _calls(_entries(folder), framework, _place)
    if not calls:
        raise NotRecorded(f"the tests of {package} make no call of {framework} that can be repeated: {said[-1][:300]}")
    return Found(calls, left_out)


def _waited(process: subprocess.Popen[bytes], tick: Callable[[], None]) -> int | None:
    """The exit status of a process; None for one that took too long and was ended."""
    end = time.monotonic() + SUITE_LIMIT_S
    while time.monotonic() < end:
        try:
            return process.wait(_HEARTBEAT_S)
        except subprocess.TimeoutExpired:
            tick()
    process.kill()
    process.wait()
    return None


def _entries(folder: Path) -> list[dict[str, Any]]:
    """All entries of a recording, in the order in which they were seen."""
    parts = [json.loads(path.read_text("utf-8")) for path in (folder / "parts").glob("*.json")]
    # Files have random names.
    parts.sort(key=lambda part: json.dumps([(entry["function"], entry["arguments"]) for entry in part["entries"]]))
    entries = [entry for part in parts for entry in part["entries"]]
    return [dict(entry, arguments=entry["arguments"] and settled(entry["arguments"])) for entry in entries]


def _calls(
    entries: Iterable[Mapping[str, Any]], framework: str, place: Callable[[Mapping[str, Any]], tuple[str, str]]
) -> tuple[list[Recorded], list[str]]:
    """The calls of a framework, each with its place, and why others are none."""
    calls, left_out = [], []
    numbers: dict[str, Iterator[int]] = {}
    for entry in entries:
        if entry["framework"] != framework or not entry["calls"]:
            continue
        if entry["arguments"] is None:
            left_out.append(f"{entry['function']} has {entry['reason']}")
            continue
        name, sha256 = place(entry)
        position = next(numbers.setdefault(name, iter(range(10**9))))
        calls.append(Recorded(entry["function"], name, position, sha256, entry["arguments"]))
    return calls, left_out


def _place(entry: Mapping[str, Any]) -> tuple[str, str]:
    """The file of an installed package that made a call, and its digest."""
    for site in entry["sites"]:
        name = site.partition(" from ")[0].rpartition(":")[0]
        for folder in sys.path:
            # The recorder names files of installed packages without their folder.
            path = Path(folder, name)
            if path.is_file() and Path(folder) in path.parents:
                return str(path.relative_to(folder)), _digest(path)
    return "unknown", hashlib.sha256(b"").hexdigest()


_digests: dict[Path, str] = {}


def _digest(path: Path) -> str:
    if path not in _digests:
        _digests[path] = hashlib.sha256(path.read_bytes()).hexdigest()
    return _digests[path]
