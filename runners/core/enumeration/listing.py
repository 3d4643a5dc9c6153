"""Lists a framework's public functions: starts the process that finds them, supervises it, writes the document.

A module that kills the process or does not return from its import is left out in the next try, with the reason among
the errors. Nothing that an import starts or writes stays: the process has an empty folder as home and temporary folder,
and is ended with everything it started.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import select
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Mapping

from runners.core import environment
from runners.core.errors import FrameworkFailed, StorageFailed
from runners.core.failure import clipped
from runners.core.process import processes, scratch
from runners.core.process.channel import Channel
from runners.core.public import library as libraries
from runners.core.public.library import Library

START_LIMIT_S = 600.0
"""For the process to start and to import the framework: a cold disk takes minutes."""

MODULE_LIMIT_S = 60.0
"""For any other module to be imported and listed."""

MOST_TRIES = 25
"""Each try after the first leaves out one more module that killed the process."""

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Settings:
    """What one invocation is asked to do. ``version`` None accepts any version."""

    framework: str
    device: str
    version: str | None
    out: Path
    as_study: bool = False
    methods: bool = False
    module_limit_s: float = MODULE_LIMIT_S


def write_list(settings: Settings, library: Library, variables: Mapping[str, str]) -> tuple[Path, int]:
    """Lists the functions and writes ``<framework>-<version>-<device>.functions.json`` into the output folder.

    Returns the path and the number of functions. ``variables`` are set before the framework is imported. Raises
    FrameworkFailed if the framework cannot be imported or has another version, StorageFailed if the file cannot be
    written.
    """
    found = found_by_child(settings, library, variables)
    if settings.version is not None and found["version"] != settings.version:
        raise FrameworkFailed(f"{settings.framework} is {found['version']} here, {settings.version} is expected")
    document = _document(settings, library, found)
    name = f"{settings.framework}-{found['version']}-{settings.device}.functions.json"
    return _write(settings.out / name, as_text(document)), len(document["functions"])


def found_by_child(settings: Settings, library: Library, variables: Mapping[str, str]) -> dict[str, Any]:
    """The part of the document that the process returns (see runners.core.enumeration.child). Raises
    FrameworkFailed."""
    processes.adopt_orphans()
    folder = scratch.Scratch()
    scratch.sweep()
    skip: dict[str, str] = {}
    try:
        for _ in range(MOST_TRIES):
            asked = {
                "library": libraries.to_json(library),
                "skip": skip,
                "as_study": settings.as_study,
                "methods": settings.methods,
            }
            answer, entering, ending = _try(asked, variables, folder.work, settings.module_limit_s)
            if "done" in answer:
                found: dict[str, Any] = answer["done"]
                return found
            if "broken" in answer:
                raise FrameworkFailed("{}: {type}: {message}".format(library.module, **answer["broken"]))
            if entering in ("", library.module) or entering in skip:
                raise FrameworkFailed(f"{library.module} cannot be listed: the process {ending}")
            skip[entering] = f"the process {ending.splitlines()[0]}"
        raise FrameworkFailed(f"{library.module}: more than {MOST_TRIES - 1} modules ended the process: {sorted(skip)}")
    finally:
        processes.end_children()
        folder.remove()


def _try(
    asked: Mapping[str, Any], variables: Mapping[str, str], work: Path, limit_s: float
) -> tuple[dict[str, Any], str, str]:
    """The reply or an empty one, the module that was entered last, and how the process ended."""
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "runners.core.enumeration.child", str(theirs.fileno())],
            cwd=environment.ROOT,
            env=_environment(variables, work),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        entering = ""
        try:
            channel.send(dict(asked))
            patience_s = START_LIMIT_S
            while True:
                if not channel.pending and not select.select([channel], [], [], patience_s)[0]:
                    return {}, entering, f"did not finish it within {patience_s:g} s"
                message = channel.receive()
                if message is None:
                    return {}, entering, _ending(process, said)
                if "entering" not in message:
                    return message, entering, ""
                entering = message["entering"]
                patience_s = START_LIMIT_S if entering == asked["library"]["module"] else limit_s
        except OSError:
            return {}, entering, _ending(process, said)
        finally:
            channel.close()
            _kill(process)


def _environment(variables: Mapping[str, str], work: Path) -> dict[str, str]:
    folder = str(work)
    return {
        **os.environ,
        **variables,
        # Sets of strings in defaults have the same order in each process; no .pyc files are left behind.
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
        "HOME": folder,
        "TMPDIR": folder,
        "XDG_CACHE_HOME": folder,
        "XDG_CONFIG_HOME": folder,
    }


def _ending(process: subprocess.Popen[bytes], said: IO[bytes]) -> str:
    code = process.wait()
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"
    said.seek(0)
    text = said.read().decode("utf-8", "replace").strip()
    return f"{how}\n{clipped(text, 2000)}" if text else how


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # Descendants in sessions of their own are now children of this process.
    processes.end_children()


def _document(settings: Settings, library: Library, found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema": "portbench/functions",
        "schema_version": SCHEMA_VERSION,
        "target": {"framework": settings.framework, "version": found["version"], "device": settings.device},
        "rule": {
            "name": "study" if settings.as_study else "portbench",
            "methods": library.study.methods if settings.as_study else settings.methods,
            "known": found["known"],
            "guessed": found["guessed"],
        },
        "environment": {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "packages": environment.packages(),
            "runner_sha256": environment.own_sha256(),
        },
        **{key: found[key] for key in ("public_tests", "counts", "left_out", "errors", "functions")},
    }


def as_text(document: Mapping[str, Any]) -> str:
    """JSON with one function a line, so that two lists can be compared line by line."""
    head = json.dumps(
        {key: value for key, value in document.items() if key != "functions"}, indent=1, ensure_ascii=False
    )
    lines: list[str] = [json.dumps(entry, ensure_ascii=False) for entry in document["functions"]]
    functions = "[\n  " + ",\n  ".join(lines) + "\n ]" if lines else "[]"
    return head[: head.rindex("}")].rstrip() + f',\n "functions": {functions}\n}}\n'


def _write(path: Path, text: str) -> Path:
    staged = path.with_name(path.name + ".unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staged.write_text(text, "utf-8")
        staged.replace(path)
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error}", "Give another folder with --out.") from error
    return path
