"""Counts a corpus: finds its parts, counts them with an engine, keeps a journal, writes the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from portbench import __version__
from portbench.corpus.counting import counts as document
from portbench.corpus.counting import pool, ray_engine
from portbench.corpus.counting.corpus import REMOTE, Part, find_parts
from portbench.corpus.counting.counts import Shard
from portbench.corpus.counting.documents import chunks
from portbench.corpus.counting.function_list import FunctionList, read
from portbench.corpus.counting.journal import Journal, fingerprint
from portbench.corpus.counting.part_counts import CorpusCounts, empty
from portbench.errors import BadInput, Interrupted

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class CountOptions:
    """The options of ``portbench count``. ``workers`` None: all cores."""

    corpus: tuple[str, ...]
    lists: tuple[Path, ...]
    out: Path
    column: str = "content"
    workers: int | None = None
    shard: Shard | None = None
    resume: bool = False
    engine: str = "local"


class Watcher(Protocol):
    """Gets the progress of a count. All sizes are in bytes."""

    def begin(self, stored: int, done: int) -> None:
        """The stored size of all parts, and of those that are counted already."""

    def under_way(self, source: int) -> None:
        """The size of the source read so far in the parts in progress."""

    def part_done(self, stored: int, source: int) -> None:
        """A part is done: its stored size, and the size of its source."""


def count(options: CountOptions, watcher: Watcher) -> dict[str, Any]:
    """Counts, writes ``options.out`` and returns the document.

    Raises BadInput, StorageFailed, or Interrupted after Ctrl-C: the counted parts are kept for ``resume``.
    """
    lists = [read(path) for path in options.lists]
    _check_lists(lists)
    parts = find_parts(options.corpus)
    name = ", ".join(given if given.startswith(REMOTE) else Path(given).resolve().name for given in options.corpus)[
        :400
    ]
    if options.shard:
        parts = parts[options.shard.number - 1 :: options.shard.of]
    versions = f"{__version__} {document.versions()} {options.shard} {options.engine}"
    journal = Journal(options.out, fingerprint(parts, lists, options.column, versions), options.resume)
    total = empty(lists)
    try:
        for done in journal.done.values():
            total.add(done)
        todo = [part for part in parts if part.key not in journal.done]
        stored = sum(part.size_bytes for part in parts)
        watcher.begin(stored, stored - sum(part.size_bytes for part in todo))
        # The largest first, so that no core waits for a large part at the end.
        todo.sort(key=lambda part: -part.size_bytes)
        for part, found in _engine(options, journal.done)(todo, lists, watcher.under_way):
            journal.add(part.key, found)
            total.add(found)
            watcher.part_done(part.size_bytes, found.source_bytes)
        made = document.document(total, lists, name, options.shard)
        document.write(options.out, made)
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted; counted parts are kept", "To continue, add --resume to the same command."
        ) from None
    finally:
        journal.close()
    journal.remove()
    return made


_Engine = Callable[[Sequence[Part], Sequence[FunctionList], Callable[[int], None]], Iterator[tuple[Part, CorpusCounts]]]


def _engine(options: CountOptions, done: Collection[str]) -> _Engine:
    if options.engine == "ray":
        return lambda parts, lists, tick: ray_engine.count_parts(parts, lists, options.column)
    workers = options.workers or len(os.sched_getaffinity(0))
    return lambda parts, lists, tick: pool.count_parts(
        _divided(parts, workers, done), lists, options.column, workers, tick
    )


def _divided(parts: Sequence[Part], workers: int, done: Collection[str]) -> Iterator[Part]:
    """The parts that are not counted yet, with the compressed streams divided that one core would count for long.

    This process unpacks those, so that workers count different lines of one file.
    """
    share = sum(part.size_bytes for part in parts) / (2 * workers)
    begun = {key.rpartition(":")[0] for key in done}
    for part in parts:
        if part.is_stream and (part.key in begun or (workers > 1 and part.size_bytes > share)):
            yield from (chunk for chunk in chunks(part, done) if chunk.key not in done)
        else:
            yield part


def _check_lists(lists: Sequence[FunctionList]) -> None:
    frameworks = [functions.framework for functions in lists]
    for framework in frameworks:
        if frameworks.count(framework) > 1:
            raise BadInput(f"two lists hold functions of {framework}", "Give one list per framework.")
