"""Paths that no file system takes, and files that have no end, are one message of every command that is given one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[[str, Any], Path]
Make = Callable[..., dict[str, Any]]

ODD = ("x" * 256, "/".join(["y" * 9] * 500), os.fsdecode(b"a\xffb"))


def portbench(*words: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "portbench", *words], cwd=folder, capture_output=True, check=False)


@pytest.mark.parametrize("path", ODD, ids=["256 characters", "a path of 5,000", "not UTF-8"])
@pytest.mark.parametrize("words", [["merge", "run.json", "-o"], ["report"], ["validate"]], ids=["-o", "study", "file"])
def test_a_path_that_does_not_work_is_one_message(
    words: list[str], path: str, write: Write, make_run: Make, tmp_path: Path
) -> None:
    write("run.json", make_run())
    done = portbench(*words, path, folder=tmp_path)
    assert done.returncode in (2, 5)
    assert b"Traceback" not in done.stdout + done.stderr
    assert len(done.stdout + done.stderr) < 6000


@pytest.mark.parametrize("command", ["validate", "report"])
@pytest.mark.parametrize("kind", ["fifo", "/proc/kmsg", "/dev/zero"])
def test_a_file_without_an_end_is_refused(command: str, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    os.mkfifo(file) if kind == "fifo" else file.symlink_to(kind)
    done = portbench(command, str(file), folder=tmp_path)
    assert done.returncode == 2
    assert b"is not a regular file" in done.stdout + done.stderr
