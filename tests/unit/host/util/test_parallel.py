"""Calls in other processes."""

from __future__ import annotations

import os
import select
from pathlib import Path

from portbench.util.parallel import processes


def _wait(gate: str, is_opening: bool) -> int:
    """Waits until another call, whose ``is_opening`` is true, opens the gate. Returns this process."""
    if is_opening:
        Path(gate).write_bytes(b"open")
    else:
        descriptor = os.open(gate, os.O_RDONLY | os.O_NONBLOCK)
        # The limit only ends a test that fails.
        assert select.select([descriptor], [], [], 60)[0], "nobody opened the gate"
        os.close(descriptor)
    return os.getpid()


def test_shared_work_that_no_other_process_has_begun_is_done_by_the_caller(tmp_path: Path) -> None:
    gate = str(tmp_path / "gate")
    os.mkfifo(gate)
    # The other process is busy with the first call, and has fetched the second, until somebody does the last one.
    calls = [(gate, False), (os.devnull, True), (os.devnull, True), (gate, True)]
    with processes(_wait, calls, most=1, is_shared=True) as results:
        first, second, third, last = results()
    assert last == os.getpid()
    assert first != last
    assert {second, third} <= {first, last}
