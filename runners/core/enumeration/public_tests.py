"""Finds the functions that the test files in the installed packages name.

Wheels carry few tests, but some: PyTorch's table of operators with their samples (``torch/testing/_internal``), helpers
and tests of parts. A function counts as tested if the last part of one of its public names is in such a file after a
dot, or as the whole or the end of a quoted name: ``torch.sort(``, ``OpInfo('sort'``, ``'linalg.svd'``. That is only a
hint, because the name may mean something else there.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import ModuleType
from typing import Iterable, Iterator, NamedTuple, Sequence

from runners.core.public.modules import folders

HOW = (
    "A test file in the installed packages (test_*.py, *_test.py, or below a folder test, tests or testing/_internal) "
    "has the last part of one of its public names behind a dot, or as the end of a quoted name."
)
_FILE = re.compile(r"(test_.*|.*_test)\.py")
_NAMED = re.compile(rb"""[.'"]([A-Za-z_]\w*)""")
_LARGEST_BYTES = 16 << 20


class TestedNames(NamedTuple):
    """``files``: the number of test files; ``words``: the names in them."""

    files: int
    words: set[str]

    def names(self, names: Iterable[str]) -> bool | None:
        """Whether one of these names is in the test files; None if there are none."""
        return any(name.rsplit(".", 1)[-1] in self.words for name in names) if self.files else None


def tested_names(packages: Sequence[ModuleType]) -> TestedNames:
    """Reads the test files below the packages."""
    files = sorted(
        {path for package in packages for folder in map(Path, folders(package)) for path in test_files(folder)}
    )
    words: set[str] = set()
    read = 0
    for path in files:
        try:
            if path.stat().st_size <= _LARGEST_BYTES:
                words.update(found.decode() for found in _NAMED.findall(path.read_bytes()))
                read += 1
        except (OSError, UnicodeDecodeError):
            continue
    return TestedNames(read, words)


def test_files(folder: Path) -> Iterator[Path]:
    """The test files of a package's folder."""
    for home, _, names in os.walk(folder):
        parts = Path(home).relative_to(folder).parts
        inside = "test" in parts or "tests" in parts or ("testing", "_internal") in zip(parts, parts[1:])
        for name in names:
            # A file that only collects names (tensorflow/_api/v2/test/__init__.py) tests nothing.
            if name.endswith(".py") and name != "__init__.py" and (inside or _FILE.fullmatch(name)):
                yield Path(home, name)
