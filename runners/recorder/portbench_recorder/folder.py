"""The folder of a recording. Its marker lists what is ours in it, so that nothing else is ever removed.

The host has the same rules (scripts/portbench/util/owned_folder.py) and the same marker, ``.portbench.json``.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from portbench_recorder.programs import FOLDER as PROGRAMS
from portbench_recorder.recording import PARTS

_MARKER = ".portbench.json"
_KIND = {"schema": "portbench/folder", "kind": "recording"}
_FILES = tuple(f"{name}.json" for name in ("torch", "tensorflow", "jax", "fake"))

_FOLDERS = (PARTS, PROGRAMS)


class NotOurs(Exception):
    """A folder with files of somebody else; the message says so."""


def prepare(folder: Path) -> None:
    """Creates the folder, without an earlier recording. Raises NotOurs where it holds something else, OSError where it
    cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    marker = folder / _MARKER
    if marker.exists():
        _remove_recording(folder, marker)
    elif any(folder.iterdir()):
        raise NotOurs(f"{folder} is neither a recording nor empty: give a new folder")
    temporary = folder / f"{_MARKER}.{os.getpid()}.tmp"
    temporary.write_text(json.dumps(dict(_KIND, written=sorted((*_FOLDERS, *_FILES))), indent=1) + "\n", "utf-8")
    os.replace(str(temporary), str(marker))
    (folder / PARTS).mkdir()


def _remove_recording(folder: Path, marker: Path) -> None:
    try:
        found: Any = json.loads(marker.read_text("utf-8"))
        is_ours = {key: found[key] for key in _KIND} == _KIND
        listed = set(found["written"])
    except (ValueError, KeyError, TypeError):
        is_ours, listed = False, set()
    if not is_ours:
        raise NotOurs(f"{folder} is not a recording, by its {_MARKER}: give a new folder")
    for name in _FILES:
        if name in listed and (folder / name).exists():
            (folder / name).unlink()
    for name in _FOLDERS:
        if name in listed and not (folder / name).is_symlink():
            shutil.rmtree(str(folder / name), ignore_errors=True)
