"""Gives one file to the programs that read it, in this very process, and says what is wrong with how they took it.

A file may be accepted or refused; a refusal names the file, the place in it and what was expected. Anything else is a
finding: an exception, an exit status that is not the documentation's, a character that could steer a terminal, a file
written elsewhere than in the output folder, more memory or time than is granted.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from portbench.cli import main as portbench
from runners.core.cli import main as runner
from runners.core.process import processes
from tests.fuzz.stored import runner_words, whole_journal, whole_study, write_manifest

LIMIT_BYTES = 512 * 1024 * 1024
LIMIT_S = 10
"""Of CPU time of this process. What only waits may take longer: other programs run, too."""
_WAIT_S = 300
_LONGEST = 1200
_PLACE = re.compile(r"\$(?=[.\[:])|line \d+|byte \d+|nested too deeply|the file is empty")
_EXPECTATION = re.compile(
    r"expect|but no|JSON|must|stands|known|missing|needs?|is not|is too|does not|unexpected|required|should|allowed"
    r"|deep|begin|leads|neither|defines|there (is|are)|among|twice|only|empty|UTF-8|too|half|beside|no such|used"
    r"|the target is|up to|maximum|minimum"
)


class Hung(BaseException):
    """The time that an input is granted is over."""


@dataclass(frozen=True)
class Accepted:
    """How a program took a file. ``findings`` are empty where it did so in order."""

    accepted: bool
    findings: tuple[str, ...]


class Programs:
    """``validate``, the runner on the fake framework, ``merge`` and ``report``, in a folder of their own."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._out = home / "out"
        self._written: list[str] = []
        self._watching = False
        sys.addaudithook(self._audit)
        # What tests and programs leave behind by relative names, or in the user's home, is found here.
        for name in ("cwd", "tmp", "user"):
            (home / name).mkdir()
        os.environ.update(HOME=str(home / "user"), TMPDIR=str(home / "tmp"))
        tempfile.tempdir = None
        # Matplotlib finds the machine's fonts once, for all that run it: that is nobody's doing.
        os.environ["MPLCONFIGDIR"] = str(home / "fonts")
        importlib.import_module("matplotlib.font_manager")
        os.chdir(home / "cwd")
        for number in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(number, _hang)
        self._manifest = home / "manifest.json"
        write_manifest(self._manifest)
        self.journal_name, self.journal = whole_journal(self._manifest, home / "journal")
        self.study = whole_study(home / "study")

    def take(self, kind: str, content: bytes) -> dict[str, Accepted]:
        """What each program that reads such a file made of it, by the program's name."""
        file = self._home / "input.json"
        file.write_bytes(content)
        taken = {"validate": self._run(file, (0, 2), portbench, "portbench", "validate", str(file))}
        if kind == "manifest":
            arguments = ["--framework", "fake", "--device", "cpu", "--manifest", str(file), "--out", str(self._out)]
            arguments += ["--runs", "1", "--protocol", "cold", "--timeout", "1"]
            taken["run"] = self._run(file, (0, 2, 4), runner, "runners", *arguments)
        else:
            study = str(self._out)
            taken["merge"] = self._run(file, (0, 2), portbench, "portbench", "merge", str(file), "-o", study)
            if taken["merge"].accepted:
                report = ("report", study, "-o", study + "/report")
                taken["report"] = self._run(file, (0, 2, 4), portbench, "portbench", *report, keep=True)
        # A runner starts with a mistake in one test, whose outcome is then error. validate and the host refuse it.
        if "merge" in taken and taken["merge"].accepted and not taken["validate"].accepted:
            finding = "merge accepts what validate refuses"
            taken["merge"] = Accepted(True, (*taken["merge"].findings, finding))
        return taken

    def take_journal(self, content: bytes) -> dict[str, Accepted]:
        """What ``--resume`` made of a journal."""
        shutil.rmtree(self._out, ignore_errors=True)
        self._out.mkdir()
        (self._out / self.journal_name).write_bytes(content)
        words = runner_words(self._manifest, self._out, "--resume")
        return {"resume": self._run(None, (0, 2), runner, "runners", *words, keep=True)}

    def take_study(self, name: str, content: bytes) -> dict[str, Accepted]:
        """What ``report`` made of a study with another content of one file."""
        shutil.rmtree(self._out, ignore_errors=True)
        for each, whole in {**self.study, name: content}.items():
            (self._out / each).parent.mkdir(parents=True, exist_ok=True)
            (self._out / each).write_bytes(whole)
        words = ("report", str(self._out))
        return {"study": self._run(None, (0, 2, 4, 5), portbench, "portbench", *words, keep=True)}

    def _run(
        self, file: Path | None, usual: tuple[int, ...], program: Callable[[], Any], *words: str, keep: bool = False
    ) -> Accepted:
        if not keep:
            shutil.rmtree(self._out, ignore_errors=True)
        self._written.clear()
        earlier, sys.argv = sys.argv, list(words)
        said = io.StringIO()
        findings: list[str] = []
        status = -1
        signal.alarm(_WAIT_S)
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
        try:
            # A thread of its own for each of thousands of runs would be too many.
            unread = mock.patch.object(processes, "signal_when_unread")
            with unread, self._watched(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                program()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Hung:
            findings.append(f"no end after {LIMIT_S} s of CPU time, or {_WAIT_S} s")
        except BaseException:
            findings.append(traceback.format_exc())
        finally:
            signal.alarm(0)
            signal.setitimer(signal.ITIMER_PROF, 0)
            sys.argv = earlier
        if not findings and status not in usual:
            findings.append(f"exit status {status}: {said.getvalue()}")
        findings += _in_text(said.getvalue(), file.name if file and status == 2 else "")
        findings += self._elsewhere()
        peak = peak_bytes()
        if peak > LIMIT_BYTES:
            findings.append(f"{peak} bytes of memory")
        return Accepted(status == 0, tuple(findings))

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        self._watching = True
        try:
            yield
        finally:
            self._watching = False

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._watching:
            return
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            mode, flags = arguments[1], arguments[2]
            if (isinstance(mode, str) and set(mode) & set("wax+")) or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self._written.append(os.fsdecode(arguments[0]))
        elif event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate"):
            places = arguments[:2] if event in ("os.rename", "os.link", "os.symlink") else arguments[:1]
            self._written += [os.fsdecode(place) for place in places if isinstance(place, (str, bytes, os.PathLike))]

    def _elsewhere(self) -> Iterator[str]:
        """What was written, or is left, elsewhere than in the output folder and the folder for temporary files."""
        allowed = (self._out, self._home / "tmp", self._home / "input.json", Path(os.devnull), Path("/proc/self"))
        for name in self._written:
            path = Path(os.path.normpath(Path.cwd() / name)) if name else self._out
            # A name without a folder may be relative to a descriptor; what it leaves in the working folder is below.
            known = any(path == place or place in path.parents for place in allowed) or "/" not in name
            if not known and "__pycache__" not in path.parts:
                yield f"writes {path}"
        for folder in ("cwd", "tmp", "user"):
            for left in (self._home / folder).iterdir():
                yield f"leaves {left}"
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def peak_bytes() -> int:
    """The most memory that this process or one that it started has held so far.

    Not getrusage's of this process: that begins with what the process had that started it.
    """
    (own_kib,) = re.findall(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return max(int(own_kib), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * 1024


def _in_text(text: str, refused: str) -> Iterator[str]:
    if "Traceback (most recent call last)" in text:
        yield f"a traceback: {text}"
    unsafe = [line for line in text.split("\n") if not line.isprintable()]
    if unsafe:
        yield f"not printable: {unsafe[0]!r}"
    if refused and (refused not in text or not _PLACE.search(text) or not _EXPECTATION.search(text)):
        yield f"does not name file, place and expectation: {text}"
    longest = max(text.split("\n"), key=len)
    if refused and len(longest) > _LONGEST:
        yield f"a message of {len(longest)} characters: {longest[:_LONGEST]}"


def _hang(number: int, frame: object) -> None:
    raise Hung
