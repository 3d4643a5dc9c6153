"""CUDA's libraries where they come as Python packages, as in a virtual environment: TensorFlow 2.11 opens them by name
alone, and the dynamic loader looks for names in LD_LIBRARY_PATH as it was when the process began.

A library that is in the process already is found by its name, so loading them from their files before is enough.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Iterable

OPENED = ("libcudart", "libcublas", "libcufft", "libcurand", "libcusolver", "libcusparse", "libcudnn")
"""Beginnings of the names that TensorFlow opens, or libraries that it opened."""


def preload(folders: Iterable[str] = ()) -> list[str]:
    """Loads the libraries of the packages ``nvidia-*`` under these folders (``sys.path`` unless given); returns the
    files that could be loaded. Where there are none, it is the system's libraries that count."""
    files = (file for folder in folders or sys.path for file in Path(folder).glob("nvidia/*/lib/lib*.so*"))
    pending = sorted({str(file) for file in files if file.name.startswith(OPENED)})
    loaded: list[str] = []
    progress = True
    while progress:
        # They need one another, in no order that their names would tell.
        progress = False
        for file in list(pending):
            try:
                ctypes.CDLL(file)
            except OSError:
                continue
            pending.remove(file)
            loaded.append(file)
            progress = True
    return loaded
