"""A child process never outlives its parent, however early an interrupt comes."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any

import pytest

from portbench.util import processes


def test_an_interrupt_while_the_child_starts_leaves_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    class Interrupted(subprocess.Popen[str]):
        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            super().__init__(*arguments, **keywords)
            started.append(self.pid)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        processes.run_captured(["sleep", "1000"])
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


def test_the_interrupt_handler_is_restored() -> None:
    earlier = signal.getsignal(signal.SIGINT)
    assert processes.run_captured(["true"]).returncode == 0
    assert signal.getsignal(signal.SIGINT) is earlier
