"""Drives the runner as its users do: as a process, through arguments, events and files. Runs under Python 3.8 too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence

from tests.paths import ROOT


class Run:
    """A finished or running runner. ``events`` are what it said on stdout."""

    def __init__(
        self, arguments: Sequence[str], limit: Callable[[], None] | None = None, module: str = "runners"
    ) -> None:
        self.out = Path(arguments[arguments.index("--out") + 1])
        # Python keeps what a limit of the size of files leaves of a module's bytecode, and nobody can import it then.
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"} if limit else None
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=limit,
        )
        self.events: list[dict[str, Any]] = []
        self.stderr = ""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The events, one by one, as they come."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))
            yield self.events[-1]

    def wait(self) -> Run:
        for _ in self:
            pass
        assert self.process.stderr is not None
        self.stderr = self.process.stderr.read()
        self.process.wait()
        return self

    @property
    def status(self) -> int:
        return self.process.returncode

    @property
    def error(self) -> dict[str, Any]:
        """The one error event; it must be the last thing said, and nothing may stand on stderr."""
        assert self.events and self.events[-1]["event"] == "error", (self.events, self.stderr)
        assert self.stderr == ""
        assert self.events[-1]["exit_status"] == self.status
        return self.events[-1]

    @property
    def journals(self) -> list[Path]:
        return sorted(self.out.glob("*.journal.jsonl"))

    @property
    def document(self) -> dict[str, Any]:
        """The one run file."""
        files = [path for path in self.out.iterdir() if path.suffix == ".json"]
        assert len(files) == 1, (files, self.events[-1:], self.stderr)
        return json.loads(files[0].read_text("utf-8"))

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """By test id; for runs of a single pass."""
        return {result["test"]: result for result in self.document["results"]}


def stored(journal: Path) -> list[dict[str, Any]]:
    """The results in a journal: those of its whole lines."""
    return [json.loads(line)["result"] for line in journal.read_bytes().split(b"\n")[1:-1]]


def write_manifest(folder: Path, functions: Sequence[Mapping[str, Any]], **top: Any) -> Path:
    path = folder / "manifest.json"
    document = {"schema": "portbench/manifest", "schema_version": 1, "name": "test", "framework": "fake"}
    path.write_text(json.dumps({**document, "functions": functions, **top}), "utf-8")
    return path


def cases(*cases: str, function: str = "fake.identity", **params: Any) -> list[dict[str, Any]]:
    """One function with a test for each case of runners/fake/cases/behaviours.py; the id is the case's name."""
    tests = [{"id": case, "case": f"fake.behaviours:{case}", "params": params} for case in cases]
    return [{"function": function, "tests": tests}]


def numbered(count: int) -> list[dict[str, Any]]:
    """One function with that many tests that pass."""
    test = {"id": "n", "case": "fake.behaviours:sees_its_number", "params": {"number": "$n"}}
    return [{"function": "fake.identity", "tests": [{**test, "grid": {"n": list(range(count))}}]}]


def alive(process: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def descendants(process: int) -> list[int]:
    """All living processes below one, by /proc."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, left = [], [process]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found
