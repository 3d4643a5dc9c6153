"""Which parts of a corpus are counted: a file with one line per part, so that a killed count can be resumed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import IO

from portbench.corpus.counting.corpus import Part
from portbench.corpus.counting.function_list import FunctionList
from portbench.corpus.counting.part_counts import CorpusCounts
from portbench.errors import BadInput, StorageFailed
from portbench.util.strict_json import shown

SUFFIX = ".parts.jsonl"


def fingerprint(parts: Sequence[Part], lists: Sequence[FunctionList], column: str, version: str) -> str:
    """Identifies a count by its parts, lists, column and the versions of the software."""
    listed = [[part.key, part.size_bytes, len(part.items)] for part in parts]
    text = json.dumps([listed, [functions.sha256 for functions in lists], column, version])
    return sha256(text.encode()).hexdigest()


class Journal:
    """Open while a count runs. ``done`` holds the counts of the parts that an earlier count finished, by key."""

    def __init__(self, out: Path, mark: str, resume: bool) -> None:
        """Raises BadInput if the journal to resume belongs to another count, StorageFailed if it cannot be written."""
        self.path = out.with_name(out.name + SUFFIX)
        self.done = self._read(mark) if resume else {}
        self._entries = 0
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            # Written again, without the half line that a killed count may leave.
            self._file: IO[str] = self.path.open("w", encoding="utf-8")
            self._line({"fingerprint": mark})
            for key, counts in self.done.items():
                self.add(key, counts)
        except OSError as error:
            raise self._failed(error) from error

    def add(self, key: str, counts: CorpusCounts) -> None:
        """Records a part that is done. Raises StorageFailed."""
        try:
            self._line({"part": key, "counts": counts.to_data()})
            self._entries += 1
        except OSError as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Closes the file and deletes it if it holds no part."""
        self._file.close()
        if not self._entries:
            self.path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Closes and deletes the file. Called when the result is written."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _line(self, data: object) -> None:
        self._file.write(json.dumps(data) + "\n")
        self._file.flush()

    def _failed(self, error: OSError) -> StorageFailed:
        return StorageFailed(f"{shown(self.path)} cannot be written: {error.strerror}", "Give another folder.")

    def _read(self, mark: str) -> dict[str, CorpusCounts]:
        if not self.path.is_file():
            return {}
        done = {}
        try:
            with self.path.open(encoding="utf-8") as lines:
                first = json.loads(lines.readline())
                if first["fingerprint"] != mark:
                    raise BadInput(
                        f"{shown(self.path)} belongs to another corpus, list of functions or version",
                        "Count again without --resume.",
                    )
                for line in lines:
                    entry = json.loads(line)
                    done[entry["part"]] = CorpusCounts.from_data(entry["counts"])
        except OSError as error:
            raise StorageFailed(
                f"{shown(self.path)} cannot be read: {error.strerror}", "Count again without --resume."
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # half a line, left by a killed count: its part is counted again
        return done
