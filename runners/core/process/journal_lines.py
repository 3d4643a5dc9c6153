"""The lines of a journal: JSON objects with a checksum each, so that a damaged line is never read as a result.

    {"header":{...},"sha256":"0123456789abcdef"}
    {"result":{...},"sha256":"0123456789abcdef"}

The checksum is over the bytes of the value and, for a result, over the identity of its run. So a line of another run
is no line of this one, and the results of a journal whose header is damaged can still be recognized.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any, Iterator, Mapping, NamedTuple

from runners.core import documents

HEADER, RESULT = "header", "result"

_DIGITS = 16
_CHUNK_BYTES = 1 << 20
_LINE = {
    kind: re.compile(rb'\{"%s":(\{[^\n]*?\}),"sha256":"([0-9a-f]{%d})"\}' % (kind.encode(), _DIGITS))
    for kind in (HEADER, RESULT)
}


class Damaged(NamedTuple):
    """A line that cannot be used. ``number`` counts from 1, the header."""

    number: int
    reason: str
    text: bytes


def line(kind: str, value: Mapping[str, Any], seal: bytes = b"") -> bytes:
    """A line with its end. Raises ValueError for what is not JSON, such as NaN."""
    payload = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    return b'{"%s":%s,"sha256":"%s"}\n' % (kind.encode(), payload, _checksum(payload, seal))


def lines_in(descriptor: int) -> Iterator[bytes]:
    """The lines of an open file with their ends, one at a time in memory; its position stays. Raises OSError."""
    rest, offset = b"", 0
    while True:
        chunk = os.pread(descriptor, _CHUNK_BYTES, offset)
        offset += len(chunk)
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (each + b"\n" for each in whole)
        if not chunk:
            break
    if rest:
        yield rest


def seal_of(identity: Mapping[str, Any]) -> bytes:
    """What the checksums of a run's results depend on."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).digest()


def is_whole(text: bytes, kind: str, seal: bytes = b"") -> bool:
    """Whether a text is exactly one line with a right checksum."""
    found = _LINE[kind].fullmatch(text)
    return found is not None and found[2] == _checksum(found[1], seal)


def values(text: bytes, kind: str, seal: bytes = b"") -> Iterator[Any]:
    """The values in a text whose checksums are right, wherever they stand in it: two lines may have become one."""
    for begin in re.finditer(rb'\{"%s":' % kind.encode(), text):
        found = _LINE[kind].match(text, begin.start())
        if found and found[2] == _checksum(found[1], seal):
            try:
                yield documents.parse(found[1])
            except ValueError:
                continue


def _checksum(payload: bytes, seal: bytes) -> bytes:
    return hashlib.sha256(seal + payload).hexdigest()[:_DIGITS].encode()
