"""The process that goes through the entries of sources, and keeps as tests what the host's CPU computes.

Recorded sources come first, since they need forks of a process that has computed nothing. Started by
``runners.core.collection.collecting`` (see runners.core.enumeration.supervised). A sample stays if the call passes on
the CPU as a test does. The reference is the source's own where the CPU agrees with it, else the host. What an entry or
a recorded source gave is written to a journal: the process that follows a killed one goes on behind it.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import sys
import warnings
from pathlib import Path
from typing import Any, Dict, Mapping, Sequence

from runners.core import failure
from runners.core.adapter import Adapter
from runners.core.collection import recorded, sources
from runners.core.collection.recording import NotRecorded
from runners.core.collection.tried_samples import TriedSamples, kinds_of
from runners.core.process import processes
from runners.core.process.channel import Channel
from runners.core.public import library as libraries
from runners.core.public import permitted
from runners.core.public.functions import Function, public_functions, ranked
from runners.core.public.modules import public_modules
from runners.core.result import Message
from runners.core.selection import Selection
from runners.core.testing import samples
from runners.core.testing.samples import Entry

_KEPT = 20
"""After so many entries the programs are forgotten that were compiled for them: thousands fill the memory."""

_OWN_ENVIRONMENT = (
    "Name a package with tests that is installed beside the framework and pytest: environments of targets have none. "
    "Take your own: portbench collect ... --backend current, with PORTBENCH_PYTHON."
)
_LONGEST_REASON = 300
_LONGEST_ID = 60

Data = Dict[str, Any]


def main(arguments: Sequence[str]) -> None:
    """Collects what the first message asks for, and sends it."""
    # What a fork leaves behind is ended with it.
    processes.adopt_orphans()
    channel = Channel(socket.socket(fileno=int(arguments[0])))
    asked = channel.receive() or {}
    sys.argv = ["portbench"]
    os.chdir(os.environ["HOME"])
    warnings.simplefilter("ignore")
    # What is called may print, and a pipe that nobody reads would fill.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        answer: Message = {"done": _Collection(asked, channel).collected()}
    except _Unavailable as error:
        answer = {"done": {"unavailable": str(error), "remedy": error.remedy}}
    except BaseException as error:
        answer = {"broken": failure.facts_of(error)}
    channel.send(answer)
    # At an orderly exit, threads and handlers of the framework would run.
    os._exit(0)


class _Unavailable(Exception):
    """A source cannot be imported or recorded; the message says why."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class _Collection:
    """Collects from the sources of one framework. ``asked`` is the task: library, framework, sources, samples,
    functions (globs), journal (a path), skip."""

    def __init__(self, asked: Mapping[str, Any], channel: Channel) -> None:
        self._library = libraries.from_json(asked["library"])
        self._framework: str = asked["framework"]
        self._sources: Sequence[str] = asked["sources"]
        self._most: int = asked["samples"]
        self._skip: Mapping[str, str] = asked["skip"]
        self._selection = Selection(functions=asked["functions"])
        self._channel = channel
        self._journal = Path(asked["journal"])
        self._tests: dict[str, list[Data]] = {}
        self._left_out: list[Data] = []
        self._listed: list[Data] = []
        self._given: Data = {}

    def collected(self) -> Data:
        """Functions with their tests, what was left out and why, and how many entries each source has."""
        self._channel.send({"entering": self._library.module})
        self._adapter: Adapter = importlib.import_module(f"runners.{self._framework}.adapter")
        self._adapter.prepare("cpu")
        functions = public_functions(self._library, public_modules(self._library, {}, lambda name: None).modules).found
        known = self._from_journal()
        for name in list(filter(sources.is_recorded, self._sources))[known:]:
            self._begin()
            self._record(name, functions)
            self._end()
        others = self._sampled(functions, max(0, known - len(self._listed)))
        return {
            "version": self._adapter.version(),
            "sources": [*self._listed, *others],
            "functions": [{"function": name, "tests": self._tests[name]} for name in sorted(self._tests)],
            "left_out": self._left_out,
        }

    def _from_journal(self) -> int:
        """Takes what earlier processes have collected. Returns how many sources and entries that are."""
        lines = self._journal.read_text("utf-8").splitlines() if self._journal.exists() else []
        for line in map(json.loads, lines):
            for function, test in line["tests"]:
                self._tests.setdefault(function, []).append(test)
            self._left_out += line["left_out"]
            self._listed += line["listed"]
        return len(lines)

    def _begin(self) -> None:
        self._given = {"tests": [], "left_out": [], "listed": []}

    def _end(self) -> None:
        with self._journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self._given) + "\n")

    def _record(self, source: str, functions: Sequence[Function]) -> None:
        """Adds the tests of a recorded source, and what a manifest says of it."""

        def step(name: str, done: int, total: int) -> None:
            self._channel.send({"entering": name, "done": done, "total": total})

        collector = recorded.Collector(self._library, self._framework, self._adapter, self._most, self._selection, step)
        try:
            found = collector.collected(source, functions)
        except NotRecorded as error:
            raise _Unavailable(f"the source {source} cannot be recorded: {error}", _OWN_ENVIRONMENT) from error
        self._left_out += found.left_out
        self._given["left_out"] += found.left_out
        name = sources.label(source)
        for function, made in found.tests.items():
            tests = self._tests.setdefault(function, [])
            for test in made:
                self._add(function, {"id": _id([name], tests), **test})
        package = self._library.top if source == sources.DOCS else sources.distribution(source)
        self._listed.append({"name": name, "package": package, "entries": found.entries})
        self._given["listed"].append(self._listed[-1])

    def _add(self, function: str, test: Data) -> None:
        self._tests.setdefault(function, []).append(test)
        self._given["tests"].append((function, test))

    def _sampled(self, functions: Sequence[Function], known: int) -> list[Data]:
        """Adds the tests of all other sources, but for those of the first ``known`` entries. Returns what a manifest
        says of these sources."""
        of_samples = [name for name in self._sources if not sources.is_recorded(name)]
        if not of_samples:
            return []
        self._tried = TriedSamples(self._framework, self._adapter, self._most)
        names = _names(functions, self._framework)
        entries = [(name, entry) for name in of_samples for entry in self._entries(name)]
        for number, (source, entry) in enumerate(entries[known:], known):
            self._begin()
            self._enter(source, entry, {"done": number, "total": len(entries)}, names)
            self._end()
            if number % _KEPT == 0:
                self._forget()
        return [
            {
                "name": name,
                "package": samples.source(self._framework, name).PACKAGE,
                "entries": sum(source == name for source, _ in entries),
            }
            for name in of_samples
        ]

    def _enter(self, source: str, entry: Entry, progress: Data, names: Mapping[int, str]) -> None:
        """Collects one entry, unless it killed an earlier process."""
        step = f"{source} {entry.name}"
        if step in self._skip:
            self._leave_out(source, entry.name, entry.dtypes, self._skip[step])
            return
        self._channel.send({"entering": step, **progress})
        named = {each if isinstance(each, str) else names.get(id(each)) for each in entry.functions}
        tested = sorted(filter(None, named))
        if not tested:
            self._leave_out(source, entry.name, entry.dtypes, "it is for no public function, or for a changed one")
        for function in filter(self._selection.has_function, tested):
            self._collect(source, entry, function)

    def _forget(self) -> None:
        """Frees what the framework keeps of the calls so far, which no later entry repeats."""
        forget = getattr(self._adapter, "forget_programs", None)
        if forget is not None:
            forget()

    def _entries(self, name: str) -> Sequence[Entry]:
        source = samples.source(self._framework, name)
        try:
            source.prepare()
        except ImportError as error:
            version = self._adapter.version()
            needs = f"it needs {source.NEEDS}, and {self._framework} is {version} here"
            raise _Unavailable(
                f"the source {name} cannot be imported: {error}; {needs}",
                "Collect from another source, or from a newer target.",
            ) from error
        return source.entries()

    def _collect(self, source: str, entry: Entry, function: str) -> None:
        """Adds the tests of a function with the samples of an entry."""
        reasons: dict[str, list[str]] = {}
        for dtype, gradient in kinds_of(entry):
            parameters: Data = {"source": source, "entry": entry.name, "dtype": dtype}
            if gradient:
                parameters["gradient"] = True
            kind = f"{dtype} with gradients" if gradient else dtype
            try:
                test = self._tried.test(function, parameters)
            except Exception as error:
                said = str(error).strip().splitlines() or [""]
                reasons.setdefault(f"{type(error).__name__}: {said[0]}"[:_LONGEST_REASON], []).append(kind)
                continue
            tests = self._tests.setdefault(function, [])
            words = [source, entry.variant.replace("_", "-"), dtype, "gradient" if gradient else ""]
            case = f"{self._framework}.sampled:sample"
            self._add(function, {"id": _id(words, tests), "case": case, "params": test})
        for reason, kinds in reasons.items():
            self._leave_out(source, entry.name, kinds, reason)

    def _leave_out(self, source: str, entry: str, dtypes: Sequence[str], reason: str) -> None:
        left_out = {"source": source, "entry": entry, "dtypes": list(dtypes), "reason": reason}
        self._left_out.append(left_out)
        self._given["left_out"].append(left_out)


def _names(functions: Sequence[Function], framework: str) -> Mapping[int, str]:
    """The canonical name of each public function that a manifest may use, by its identity."""
    found = {}
    for function in functions:
        name = ranked(function.names, function.qualname)[0]
        try:
            permitted.function(name, framework)
        except Exception:
            continue
        found[id(function.value)] = name
    return found


def _id(words: Sequence[str], tests: Sequence[Data]) -> str:
    """An id of these words that no other test of the function has."""
    wanted = "-".join(filter(None, words))[:_LONGEST_ID]
    used = {test["id"] for test in tests}
    return next(id for id in (wanted, *(f"{wanted}-{n}" for n in range(2, len(used) + 3))) if id not in used)


if __name__ == "__main__":
    main(sys.argv[1:])
