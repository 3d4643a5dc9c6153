"""What is launched, in words that no engine has: the shards of each target and where their run files go."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from portbench.errors import BadInput
from portbench.run.listing import Selected
from portbench.util import remote

MOST_TRIES = 3
"""How often an engine repeats a shard that was killed."""


@dataclass(frozen=True)
class Launch:
    """The shards of some targets. ``options`` are those of 'portbench run', without targets and places.

    ``results`` is a folder on the machines, or the URL of a folder in an object store. ``scratch`` is a folder on the
    machines for journals, and for run files that are copied to a store.
    """

    targets: tuple[str, ...]
    shards: int
    results: str
    scratch: str
    machine: str
    options: tuple[str, ...]

    def argv(self, target: str) -> list[str]:
        """The words of 'portbench run' after its name, without --shard and --out."""
        copy = ["--copy-to", f"{self.results.rstrip('/')}/{target}"] if remote.is_store(self.results) else []
        return [target, *self.options, *copy, "--resume", "--quiet"]

    def out(self, target: str) -> str:
        """The folder on the machines that holds a folder for each shard: a journal has one runner."""
        where = self.scratch if remote.is_store(self.results) else self.results
        return f"{where.rstrip('/')}/{target}"


def collect(results: str) -> str:
    """The command that merges the run files in a folder or store, ready for a shell."""
    given = f"{results.rstrip('/')}/**/*.json" if remote.is_store(results) else results
    return shlex.join(["portbench", "merge", given, "-o", "study"])


class Shard(NamedTuple):
    """How many tests a shard has, and how many results they give in all runs."""

    tests: int
    results: int


def shards_of(selected: Selected, shards: int) -> list[Shard]:
    """The shards of a target's tests, as 'portbench run --shard' divides them (schema/run.schema.json, selection).

    Raises BadInput if a shard has none.
    """
    ids = [f"{function}::{test}" for function, tests in selected.listed.tests.items() for test in tests]
    results: list[list[int]] = [[] for _ in range(shards)]
    for each in ids:
        digest = hashlib.sha256(each.encode("utf-8", "surrogatepass")).digest()
        results[int.from_bytes(digest[:8], "big") % shards].append(selected.results(each))
    if [] in results:
        raise BadInput(
            f"{selected.target}: shard {results.index([]) + 1}/{shards} has none of the {len(ids)} selected tests",
            "Use fewer shards.",
        )
    return [Shard(len(each), sum(each)) for each in results]


def check_texts(texts: Sequence[str]) -> None:
    """Raises BadInput for a text with control characters: it would begin a new line in a file."""
    for text in texts:
        if not text.isprintable():
            raise BadInput(f"{text!a} has characters that cannot be printed", "Give another text.")
