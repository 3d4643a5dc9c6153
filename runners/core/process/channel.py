"""JSON messages, one a line, over a socket pair: how supervisor, zygote and worker communicate.

stdout and stderr belong to the framework; this channel has its own descriptor. A message must not hold NaN.
"""

from __future__ import annotations

import array
import json
import os
import socket
from typing import Sequence

from runners.core.result import Message

_CHUNK = 1 << 16
_LONGEST = 1 << 26
"""In bytes; anything longer was not written by this protocol."""


class Channel:
    """One end of a socket pair. ``receive`` blocks; ``received`` takes the messages that have arrived."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._buffer = bytearray()

    def fileno(self) -> int:
        return self.socket.fileno()

    @property
    def pending(self) -> bool:
        """Whether a whole message is in the buffer; then the socket may not become readable again."""
        while self._buffer.startswith(b"\n"):
            del self._buffer[:1]
        return b"\n" in self._buffer

    def send(self, message: Message) -> None:
        """Raises OSError when the other end is gone."""
        # A test may have written to this descriptor; the line break ends that.
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
        """The messages that one read completes; None at the end. Call it when the socket is readable."""
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
    """Passes open descriptors over a Unix socket, with one byte that carries them."""
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
