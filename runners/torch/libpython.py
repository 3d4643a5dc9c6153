"""Loads Python's shared library, which torch_xla is linked with. Some builds of Python (conda's, uv's) contain it but
do not load it, and the system does not find it; then the import of torch_xla fails unless it is loaded before."""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from pathlib import Path


def load() -> None:
    """Loads it if it is in the folders of this Python. A library that is loaded already is used again."""
    name = f"libpython{sys.version_info.major}.{sys.version_info.minor}.so.1.0"
    near = (Path(folder) / name for folder in (f"{sys.base_prefix}/lib", sysconfig.get_config_var("LIBDIR") or "/"))
    for path in (name, *map(str, near)):
        try:
            ctypes.CDLL(path)
        except OSError:
            continue
        return
