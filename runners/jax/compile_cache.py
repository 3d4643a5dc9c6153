"""Answers of the compilers for absent devices, kept on disk: a program that one run compiled is not compiled in
the next.

PORTBENCH_COMPILE_CACHE is the folder; without it nothing is kept. One SQLite file holds the answers of one compiler for
one device, as one version of portbench asks it, so a newer compiler never reads the words of an older one. Several
servers may share it. A cache is never a reason to fail: where it cannot be read or written, programs are compiled.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

from runners.core.prediction import gpus
from runners.jax import gpu_compiler, programs, tpu_compiler

FOLDER = "PORTBENCH_COMPILE_CACHE"

_WAIT_S = 30.0


class CompileCache:
    """Answers by the digest of the program. ``compiler`` names the compiler with all versions that it depends on."""

    def __init__(self, compiler: str, device: str) -> None:
        self._connection: sqlite3.Connection | None = None
        folder = os.environ.get(FOLDER)
        if not folder:
            return
        try:
            name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{compiler} {device} {_how_asked()}")
            path = Path(folder) / f"{name}.sqlite3"
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(str(path), timeout=_WAIT_S, isolation_level=None)
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS answers (program TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def get(self, program: str) -> dict[str, Any] | None:
        """The answer to a program, or None."""
        if self._connection is None:
            return None
        try:
            row = self._connection.execute("SELECT answer FROM answers WHERE program = ?", (program,)).fetchone()
            answer = json.loads(row[0]) if row else None
        except (sqlite3.Error, ValueError) as error:
            self._give_up(error)
            return None
        return answer if isinstance(answer, dict) else None

    def put(self, program: str, answer: dict[str, Any]) -> None:
        """Keeps the answer to a program."""
        if self._connection is None:
            return
        try:
            self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (program, json.dumps(answer)))
        except sqlite3.Error as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        print(f"the cache of compiled programs is not used: {error}", file=sys.stderr)
        self._connection = None


def _how_asked() -> str:
    """A digest of the modules that an answer depends on."""
    asking = (gpus, gpu_compiler, programs, tpu_compiler)
    return hashlib.sha256(b"".join(Path(str(each.__file__)).read_bytes() for each in asking)).hexdigest()[:12]
