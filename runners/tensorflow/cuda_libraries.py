"""Loads CUDA's libraries from Python packages, as in a virtual environment. TensorFlow 2.11 opens them by name, and the
dynamic loader looks for names in LD_LIBRARY_PATH as it was when the process began.

A library that is already loaded is found by its name, so it is enough to load them from their files before.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Iterable

OPENED = ("libcudart", "libcublas", "libcufft", "libcurand", "libcusolver", "libcusparse", "libcudnn")
"""Prefixes of the libraries that TensorFlow, or a library of these, opens."""


def preload(folders: Iterable[str] = ()) -> list[str]:
    """Loads the libraries of the packages ``nvidia-*`` under these folders (``sys.path`` unless given); returns the
    files that could be loaded. If there are none, TensorFlow uses the system's libraries."""
    files = (file for folder in folders or sys.path for file in Path(folder).glob("nvidia/*/lib/lib*.so*"))
    pending = sorted({str(file) for file in files if file.name.startswith(OPENED)})
    loaded: list[str] = []
    progress = True
    while progress:
        # They need each other, in an unknown order.
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
