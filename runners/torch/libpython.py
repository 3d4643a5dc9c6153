"""torch_xla is linked with Python's shared library. Some builds of Python (conda's, uv's) bring that library without
loading it or telling the system of it; then the import of torch_xla finds none, unless it has been loaded before."""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from pathlib import Path


def load() -> None:
    """Loads it, if it lies anywhere near this Python. One that is loaded already stays the only one."""
    name = f"libpython{sys.version_info.major}.{sys.version_info.minor}.so.1.0"
    near = (Path(folder) / name for folder in (f"{sys.base_prefix}/lib", sysconfig.get_config_var("LIBDIR") or "/"))
    for path in (name, *map(str, near)):
        try:
            ctypes.CDLL(path)
        except OSError:
            continue
        return
