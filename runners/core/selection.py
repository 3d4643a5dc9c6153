"""Which functions and tests of a manifest run: globs and a shard, as the command line takes them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Sequence

EXCLUDED = "not:"
"""Prefix of a glob over functions that do not run, in a run file's selection."""
TEST = "test:"
"""Prefix of a glob over ids of tests in a run file's selection; a glob over functions that run has no prefix."""
SHARD = "shard:"
"""Prefix of K/N in a run file's selection."""
MOST_SHARDS = 10_000


@dataclass(frozen=True)
class Selection:
    """Globs over the names of functions that run and that do not, and over ids of tests. Without globs: all.

    ``shard`` (K, N) is the K-th of N parts of them, counted from 1.
    """

    functions: Sequence[str] = ()
    excluded: Sequence[str] = ()
    tests: Sequence[str] = ()
    shard: tuple[int, int] | None = None

    def has_function(self, name: str) -> bool:
        """Whether the function runs. Excluding is stronger."""
        return _matches(name, self.functions or ("*",)) and not _matches(name, self.excluded)

    def has_test(self, test_id: str, full_id: str) -> bool:
        """Whether a test of a function that runs is selected, by its id or by FUNCTION::TEST."""
        # The brackets of an id hold its grid's values; they are not a set of characters.
        globs = [glob.replace("[", "[[]") for glob in self.tests or ("*",)]
        return _matches(test_id, globs) or _matches(full_id, globs)

    def has_in_shard(self, full_id: str) -> bool:
        """Whether a test is in the shard. Its digest decides, so it stays there when other tests come or go."""
        if self.shard is None:
            return True
        part, parts = self.shard
        digest = hashlib.sha256(full_id.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % parts == part - 1

    def recorded(self) -> tuple[str, ...]:
        """The globs and the shard as a run file records them."""
        return (
            *self.functions,
            *(EXCLUDED + glob for glob in self.excluded),
            *(TEST + glob for glob in self.tests),
            *([SHARD + "/".join(map(str, self.shard))] if self.shard else []),
        )


ALL = Selection()


def _matches(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)
