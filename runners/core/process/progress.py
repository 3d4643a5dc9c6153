"""Reports progress on stdout: text for a person at a terminal or in ``docker compose run``, JSON lines for the host, or
nothing."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Sequence

from runners.core.errors import RunnerError
from runners.core.manifest import Manifest
from runners.core.result import shown_outcome


class _Function(NamedTuple):
    """A function whose tests run, and how many ended in which way so far."""

    name: str
    outcomes: Counter[str]


class Progress:
    """``style`` is text, json or none. ``journal`` is the path of the open journal."""

    def __init__(self, style: str) -> None:
        self._style = style
        self._total = 0
        self._done = 0
        self._functions: dict[int, _Function] = {}
        self.journal: Path | None = None

    def start(self, document: Mapping[str, Any], journal: Path, tests: int, runs: int, results: int, done: int) -> None:
        """The run begins. It makes so many ``results``, of which ``done`` are in the journal already."""
        self._total, self._done, self.journal = results, done, journal
        target = "{framework}-{version}-{device}".format(**document["target"])
        name = document["manifest"]["name"]
        self._event("start", target=target, manifest=name, tests=tests, runs=runs, total=self._total, done=done)
        before = f", {done} of them done before" if done else ""
        self._say(f"{target}: {tests} tests of {name}, {runs} runs: {self._total} results{before}")

    def result(self, result: Mapping[str, Any], lane: int = 1) -> None:
        """One line of text for each function that is finished, and for each test that did not pass. ``lane``: which of
        several that run tests at the same time."""
        self._done += 1
        keys = ("function", "test", "run", "outcome", "category", "case_ns")
        self._event("result", **{key: result[key] for key in keys})
        if lane in self._functions and result["function"] != self._functions[lane].name:
            self._flush(lane)
        function = self._functions.setdefault(lane, _Function(result["function"], Counter()))
        function.outcomes[shown_outcome(result)] += 1
        if result["outcome"] != "passed":
            error = result["error"] or {}
            reason = result["reason"] or "{}: {}".format(error.get("type"), error.get("message", ""))
            line = reason.splitlines()[0] if reason else ""
            self._say(f"  {shown_outcome(result)}: {result['function']} {result['test']}: {line[:150]}")

    def uncurated(self, functions: Sequence[str]) -> None:
        """Functions of the manifest that have no test yet."""
        if functions:
            self._event("uncurated", functions=list(functions))
            self._say(f"not yet curated, no tests: {', '.join(functions)}")

    def listed(self, manifest: Manifest) -> None:
        """The selected tests of a manifest, which are not run."""
        tests: dict[str, list[str]] = {}
        for test in manifest.tests:
            tests.setdefault(test.function, []).append(test.id)
            self._say(test.full_id)
        untimed = [test.full_id for test in manifest.tests if not test.timed]
        self._event("list", manifest=manifest.name, tests=tests, untimed=untimed, uncurated=list(manifest.uncurated))

    def stepped(self, done: int, total: int) -> None:
        """So much of something else than a run is done. Says nothing to a person."""
        self._event("step", done=done, total=total)

    def warn(self, message: str) -> None:
        """Reports a reason why the results are less useful than they seem."""
        self._event("warning", message=message)
        self._say(f"warning: {message}")

    def end(self, run_file: Path, outcomes: Mapping[str, int], disturbed: int = 0) -> None:
        """The run file is written. ``disturbed`` counts the results that were disturbed from outside."""
        for lane in sorted(self._functions):
            self._flush(lane)
        self._event("end", run_file=str(run_file), outcomes=dict(outcomes), disturbed=disturbed)
        self._say("{}: {}".format(run_file, ", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items()))))
        if disturbed:
            self._say(f"{disturbed} disturbed from outside, then run again: the second try counts")
        self.journal = None

    def unchanged(self, run_file: Path) -> None:
        """There is nothing to run."""
        self._event("end", run_file=str(run_file), outcomes={}, unchanged=True)
        self._say(f"{run_file}: is complete already, nothing to do")

    def error(self, error: RunnerError) -> None:
        """Reports an error and where finished results are."""
        self._event("error", message=str(error), remedy=error.remedy, exit_status=error.exit_status)
        if self._style != "json":
            lines = [f"error: {error}", error.remedy]
            if self.journal is not None:
                lines.append(f"Finished results are kept in {self.journal}.")
            for line in "\n".join(filter(None, lines)).splitlines():
                print(_printable(line), file=sys.stderr)

    def interrupted(self) -> None:
        """Reports an interrupt and how to continue."""
        journal = str(self.journal) if self.journal else None
        self._event("interrupted", journal=journal, done=self._done, total=self._total)
        if self._style == "text":
            kept = f", {self._done} of {self._total} results are kept in {journal}. "
            said = f"interrupted{kept}The same command with --resume goes on from there." if journal else "interrupted"
            print(_printable(said), file=sys.stderr)

    def _flush(self, lane: int) -> None:
        name, outcomes = self._functions.pop(lane)
        counts = ", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items()))
        self._say(f"[{self._done}/{self._total}] {name}: {counts}")

    def _event(self, event: str, **values: Any) -> None:
        if self._style == "json":
            document: dict[str, Any] = {"event": event}
            document.update(values)
            _write(json.dumps(document, allow_nan=False))

    def _say(self, line: str) -> None:
        if self._style == "text":
            _write(_printable(line))


def _write(line: str) -> None:
    """Text and end of the line in one call: ``print`` makes two, and an interrupt between them joins two lines."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _printable(text: str) -> str:
    """Messages come from frameworks and manifests: control characters in them must not reach a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)
