"""What a process writes to stdout and stderr: read from a pipe; the beginning and the end are kept."""

from __future__ import annotations

import os

from runners.core.result import Output

LIMIT_BYTES = 65_536
"""What is kept of one test's output, so that a flood takes neither memory nor disk."""

_MARK = "\n[... {} bytes left out ...]\n"
_HALF = (LIMIT_BYTES - 64) // 2


class Capture:
    """Reads a pipe without blocking. ``take`` returns what came since the last time."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self.total_bytes = 0
        self._head = b""
        self._tail = b""

    def __del__(self) -> None:
        os.close(self._descriptor)

    def fileno(self) -> int:
        return self._descriptor

    def drain(self) -> bool:
        """Reads what is there, at most a megabyte; False at the end of the pipe."""
        for _ in range(16):
            try:
                chunk = os.read(self._descriptor, 65_536)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self._keep(chunk)
        return True

    def take(self) -> Output:
        """What came since the last time, as a result has it."""
        self.drain()
        left_out = self.total_bytes - len(self._head) - len(self._tail)
        mark = _MARK.format(left_out).encode() if left_out else b""
        text = (self._head + mark + self._tail).decode("utf-8", "replace")
        output = Output(text=text, total_bytes=self.total_bytes)
        self.total_bytes, self._head, self._tail = 0, b"", b""
        return output

    def _keep(self, chunk: bytes) -> None:
        self.total_bytes += len(chunk)
        room = _HALF - len(self._head)
        self._head += chunk[:room]
        self._tail = (self._tail + chunk[room:])[-_HALF:]
