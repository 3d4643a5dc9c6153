"""A child process whose output is wanted while it is being written."""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from portbench.util import processes

_LINES_KEPT = 200


def run_streaming(
    command: Sequence[str | Path], cwd: Path, env: Mapping[str, str], heard: Callable[[str], None]
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; ``heard`` gets each line of its output, stdout and stderr as one, as it comes.

    The last lines are in the result's stdout. An exception here (Ctrl-C) kills the command and all that it started.
    """
    kept: deque[str] = deque(maxlen=_LINES_KEPT)
    with processes.running(command, cwd, env, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            kept.append(line)
            heard(line.rstrip("\n"))
        process.wait()
    return subprocess.CompletedProcess(command, process.returncode, "".join(kept), "")
