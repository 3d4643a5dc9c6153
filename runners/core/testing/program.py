"""Compiles a recorded program as a whole, in place of a call of a function."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

from runners.core.programs import Absent
from runners.core.testing.trial import Trial


def program(trial: Trial, modules: Mapping[str, Mapping[str, str]], folder: str) -> None:
    """Has the program compiled for the device; nothing is computed. Skips the test where there is no such program."""
    try:
        trial.compile_program(modules, Path(folder))
    except Absent as why:
        trial.skip(str(why))
