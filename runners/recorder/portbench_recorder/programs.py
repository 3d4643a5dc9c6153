"""Whole programs beside the calls: the largest few of a process, each in files that are named by their digests.

A program is a module of StableHLO or a list of operations, without weights, data and constants of the user.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Sequence

FOLDER = "programs"
MOST = 8
"""Of one framework and process, and of one manifest: the largest."""
MOST_BYTES = 16 << 20
FUNCTIONS = {"jax": "jax.jit", "torch": "torch.nn.Module", "tensorflow": "tf.function"}
"""The function that a program is listed under in a manifest."""

Data = Dict[str, Any]


class Programs:
    """The programs of one process, and how many others it compiled."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._lock = threading.Lock()
        self._kept: dict[str, list[Data]] = {}
        self._others: Counter[str] = Counter()

    def wants(self, framework: str, operations: int) -> bool:
        """Whether a program of this size would be kept. Counts one that would not."""
        kept = self._kept.get(framework, [])
        wanted = len(kept) < MOST or operations > min(program["operations"] for program in kept)
        self._others[framework] += not wanted
        return wanted

    def store(self, content: bytes) -> str:
        """Writes the file of a program; returns its digest. Raises OSError."""
        digest = hashlib.sha256(content).hexdigest()
        path = self._folder / digest
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            temporary = self._folder / f"{digest}.{os.getpid()}-{threading.get_ident()}.tmp"
            temporary.write_bytes(content)
            os.replace(str(temporary), str(path))
        return digest

    def add(self, framework: str, name: str, operations: int, modules: Data, sites: Sequence[str]) -> None:
        """Keeps a program of ``operations`` operations. ``modules`` has its form for each platform, as in a manifest's
        test."""
        program = {"name": name, "operations": operations, "modules": modules, "sites": list(sites)}
        with self._lock:
            kept = self._kept.setdefault(framework, [])
            if digest_of(program) not in map(digest_of, kept):
                self._others[framework] += len(kept) == MOST
                self._kept[framework] = largest([*kept, program])

    def as_data(self) -> Data:
        with self._lock:
            return {
                framework: {"kept": kept, "others": self._others[framework]} for framework, kept in self._kept.items()
            }


def merged(parts: Sequence[Data]) -> tuple[list[Data], int]:
    """The largest programs of one framework from all processes, and how many others there were."""
    found = {digest_of(program): program for part in parts for program in part["kept"]}
    kept = largest(list(found.values()))
    return kept, sum(part["others"] for part in parts) + len(found) - len(kept)


def largest(programs: list[Data]) -> list[Data]:
    return sorted(programs, key=lambda program: -int(program["operations"]))[:MOST]


def digest_of(program: Data) -> str:
    return hashlib.sha256(json.dumps([program["name"], program["modules"]], sort_keys=True).encode()).hexdigest()


def test_of(program: Data) -> Data:
    """The test of a manifest that compiles a program."""
    name = re.sub(r"[^A-Za-z0-9_.]+", "-", program["name"]).strip("-_.")[:48] or "program"
    return {
        "id": f"{name}-{digest_of(program)[:8]}",
        "case": "program",
        "modules": program["modules"],
        "operations": program["operations"],
        "sites": program["sites"],
    }


def remove_unused(folder: Path, tests: Sequence[Data]) -> None:
    """Removes the files of programs that no test names."""
    used = {value for test in tests for module in test["modules"].values() for value in module.values()}
    for path in (folder / FOLDER).glob("*"):
        if path.name not in used:
            path.unlink()
