"""Writers of summaries that keep all events in memory until they are flushed, and what is in their files."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, Sequence

import tensorflow as tf

v1 = tf.compat.v1

QUEUE, NEVER_MS = 1_000_000, 10**9
"""More events than a test writes, and longer than it runs."""


class Written(NamedTuple):
    step: int
    tag: str
    value: Any


def write(tensors: Sequence[Any], first_step: int = 0, tag: str = "value") -> None:
    """Write to the default writer."""
    for step, tensor in enumerate(tensors, first_step):
        tf.summary.write(tag, tensor, step=step)


class EventLog:
    """A writer and the events in its file."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="summaries-"))
        self.writer = tf.summary.create_file_writer(str(self.folder), max_queue=QUEUE, flush_millis=NEVER_MS)

    def on_disk(self) -> list[Written]:
        """Return the summaries in the file, in order. A record is its length, a checksum, the event and another
        checksum."""
        found = []
        for file in sorted(self.folder.iterdir()):
            data, place = file.read_bytes(), 0
            while place < len(data):
                (length,) = struct.unpack_from("<Q", data, place)
                event = v1.Event.FromString(data[place + 12 : place + 12 + length])
                place += length + 16
                found += [Written(event.step, part.tag, tf.make_ndarray(part.tensor)) for part in event.summary.value]
        return found

    def steps(self) -> list[int]:
        return [written.step for written in self.on_disk()]
