"""JSON messages, one a line, over a socket pair: the only thing that supervisor, zygote and worker share.

stdout and stderr belong to the framework; this channel is a descriptor of its own. NaN is refused on the way out.
"""

from __future__ import annotations

import array
import json
import os
import socket
from typing import Any, Dict, Sequence

Message = Dict[str, Any]
_CHUNK = 1 << 16
_LONGEST = 1 << 26
"""Of a message, in bytes: what is longer was written into the channel by something else."""


class Channel:
    """One end of a socket pair. ``receive`` blocks; ``received`` takes what has arrived without blocking."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._buffer = bytearray()

    def fileno(self) -> int:
        return self.socket.fileno()

    @property
    def pending(self) -> bool:
        """Whether a whole message has been read already; the socket then need not become readable again."""
        while self._buffer.startswith(b"\n"):
            del self._buffer[:1]
        return b"\n" in self._buffer

    def send(self, message: Message) -> None:
        """Raises OSError when the other end is gone."""
        # The line break before it ends what a test may have written to this descriptor.
        self.socket.sendall(b"\n" + json.dumps(message, allow_nan=False).encode() + b"\n")

    def receive(self) -> Message | None:
        """The next message, or None at the end of the channel."""
        while not self.pending:
            chunk = self._read()
            if not chunk:
                return None
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        return _parsed(bytes(line))

    def received(self) -> list[Message] | None:
        """The messages completed by one read, to be called when the socket is readable; None at the end."""
        chunk = self._read()
        if not chunk:
            return None
        self._buffer += chunk
        if b"\n" not in chunk:
            if len(self._buffer) > _LONGEST:
                self._buffer.clear()
            return []
        *lines, self._buffer = self._buffer.split(b"\n")
        return [_parsed(bytes(line)) for line in lines if line]

    def close(self) -> None:
        self.socket.close()

    def _read(self) -> bytes:
        try:
            return self.socket.recv(_CHUNK)
        except ConnectionResetError:
            return b""


def _parsed(line: bytes) -> Message:
    try:
        message = json.loads(line)
    except ValueError:
        return {"unreadable": line[:200].decode("utf-8", "replace")}
    return message if isinstance(message, dict) else {"unreadable": line[:200].decode("utf-8", "replace")}


def send_descriptors(end: socket.socket, descriptors: Sequence[int]) -> None:
    """Passes open descriptors over a Unix socket, with one byte to carry them."""
    payload = array.array("i", descriptors)
    end.sendmsg([b"f"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, payload)])


def receive_descriptors(end: socket.socket, count: int) -> list[int] | None:
    """The counterpart of send_descriptors; None at the end of the socket."""
    descriptors = array.array("i")
    data, ancillary, _, _ = end.recvmsg(1, socket.CMSG_SPACE(count * descriptors.itemsize))
    if not data:
        return None
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return list(descriptors)
