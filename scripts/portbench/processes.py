"""Child processes that never outlive their caller: each leads a group of its own, which is killed as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_to_end(
    command: Sequence[str | Path],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    told: str | None = None,
    limit_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command, its output captured; ``told`` is what it reads from stdin.

    An exception here (Ctrl-C, or subprocess.TimeoutExpired after ``limit_s``) kills it and all that it started.
    """
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL if told is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(told, limit_s)
    except BaseException:
        kill_group(process)
        raise
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kills what is left of the group that ``process`` leads, and waits for its leader."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def tail(text: str, lines: int = 12) -> str:
    """The last lines of a process's output, indented, to stand under a message."""
    kept = text.strip().splitlines()[-lines:]
    return "\n".join(f"  {line.rstrip()}" for line in kept)
