"""Counts of a document, a part, a shard or a corpus, and their sums. The order of the sums does not matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from portbench.corpus.counting.corpus import Part
from portbench.corpus.counting.documents import documents
from portbench.corpus.counting.function_list import FunctionList
from portbench.corpus.counting.source_file import Calls, State, count_calls

_MODULUS = 1 << 256


@dataclass
class FrameworkCounts:
    """The counts of one list of functions. The keys of ``calls`` and ``in_files`` are positions in the list."""

    files: Counter[str] = field(default_factory=Counter)
    """By state: counted, python_2, broken."""
    kept_bytes: int = 0
    words: Counter[str] = field(default_factory=Counter)
    calls: Counter[int] = field(default_factory=Counter)
    in_files: Counter[int] = field(default_factory=Counter)
    by_word: int = 0
    """Resolved calls that ``words`` counts too."""

    def add(self, other: FrameworkCounts) -> None:
        """Adds the counts of other files."""
        for mine, others in ((self.files, other.files), (self.words, other.words)):
            mine.update(others)
        for mine_by, others_by in ((self.calls, other.calls), (self.in_files, other.in_files)):
            mine_by.update(others_by)
        self.kept_bytes += other.kept_bytes
        self.by_word += other.by_word

    def add_file(self, calls: Calls, size_bytes: int) -> None:
        """Adds one file that imports the framework."""
        self.files[calls.state.value] += 1
        self.kept_bytes += size_bytes
        if calls.state is State.COUNTED:
            self.words.update({word.decode(): count for word, count in calls.identifiers.items()})
            self.calls.update(calls.resolved.calls)
            self.in_files.update(calls.resolved.calls.keys())
            self.by_word += calls.resolved.by_word


@dataclass
class CorpusCounts:
    """The counts of any part of a corpus. ``sha256_sum`` is the sum of the documents' SHA-256, modulo 2^256."""

    frameworks: list[FrameworkCounts]
    documents: int = 0
    source_bytes: int = 0
    too_large: int = 0
    killed: int = 0
    """Documents that killed a worker or exceeded its limits of time and memory."""
    sha256_sum: int = 0

    def add(self, other: CorpusCounts) -> None:
        """Adds the counts of other documents, for the same lists."""
        for mine, others in zip(self.frameworks, other.frameworks, strict=True):
            mine.add(others)
        self.documents += other.documents
        self.source_bytes += other.source_bytes
        self.too_large += other.too_large
        self.killed += other.killed
        self.sha256_sum = (self.sha256_sum + other.sha256_sum) % _MODULUS

    def to_data(self) -> dict[str, Any]:
        """Converts the counts to JSON data."""
        return {
            **self.__dict__,
            "sha256_sum": f"{self.sha256_sum:064x}",
            "frameworks": [f.__dict__ for f in self.frameworks],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> CorpusCounts:
        """The inverse of ``to_data``. Raises KeyError, TypeError or ValueError for anything else."""
        frameworks = [
            FrameworkCounts(
                Counter(entry["files"]),
                entry["kept_bytes"],
                Counter(entry["words"]),
                Counter({int(place): count for place, count in entry["calls"].items()}),
                Counter({int(place): count for place, count in entry["in_files"].items()}),
                entry["by_word"],
            )
            for entry in data["frameworks"]
        ]
        plain = {key: data[key] for key in ("documents", "source_bytes", "too_large", "killed")}
        return cls(frameworks, **plain, sha256_sum=int(data["sha256_sum"], 16))


def empty(lists: Sequence[FunctionList]) -> CorpusCounts:
    """Counts of zero documents."""
    return CorpusCounts([FrameworkCounts() for _ in lists])


def count_part(
    part: Part,
    lists: Sequence[FunctionList],
    column: str,
    skip: Collection[int] = (),
    begins: Callable[[int, int], None] = lambda place, source_bytes: None,
) -> CorpusCounts:
    """Counts one part. Before each document, ``begins`` gets its position in the part and the bytes read so far.

    The documents at the positions in ``skip`` count as killed. Raises what ``documents`` raises.
    """
    counts = empty(lists)
    for place, source in enumerate(documents(part, column)):
        counts.documents += 1
        if source is None:
            counts.too_large += 1
            continue
        counts.source_bytes += len(source)
        counts.sha256_sum = (counts.sha256_sum + int.from_bytes(sha256(source).digest())) % _MODULUS
        if place in skip:
            counts.killed += 1
            continue
        begins(place, counts.source_bytes)
        try:
            found = count_calls(source, lists)
        except (MemoryError, RecursionError):
            counts.killed += 1
            continue
        for framework, calls in found.items():
            counts.frameworks[framework].add_file(calls, len(source))
    return counts
