"""The folder of a recording: which files in it are ours, and the manifests in it.

FOLDER/parts/            what each process recorded
FOLDER/programs/         programs as a whole, by digest
FOLDER/torch.json        the manifest of each framework that was called
FOLDER/results/          run files of these manifests; they are never removed
FOLDER/verdict/          the verdict as page, Markdown and JSON
FOLDER/.portbench.json   says that the folder is a recording (see portbench.util.owned_folder)
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from portbench.errors import BadInput
from portbench.formats.documents import Document, read_document
from portbench.util.owned_folder import Kind, add, listed, locked, remove_others, require_ours
from portbench.util.strict_json import shown

FRAMEWORKS = ("torch", "tensorflow", "jax", "fake")
PARTS = "parts"
PROGRAMS = "programs"
RECORDING = Kind("recording", re.compile(rf"{PARTS}|{PROGRAMS}|({'|'.join(FRAMEWORKS)})\.json"))


def prepare(folder: Path) -> None:
    """Creates the folder, without an earlier recording. Raises BadInput where it holds files of somebody else,
    StorageFailed where it cannot be written."""
    with locked(folder, RECORDING):
        require_ours(folder, RECORDING)
        remove_others(folder, RECORDING, ())
        add(folder, RECORDING, PARTS, PROGRAMS, *(f"{name}.json" for name in FRAMEWORKS))
        (folder / PARTS).mkdir()


def manifests(folder: Path) -> list[Document]:
    """The recorded manifests in a folder, one of each framework. Raises BadInput where there is none or one is not
    valid."""
    if not folder.is_dir():
        raise BadInput(f"{shown(folder)} is no folder", "Give the folder that 'portbench record' wrote.")
    paths = [folder / f"{name}.json" for name in FRAMEWORKS]
    found = [read_document(path, "manifest") for path in paths if os.path.lexists(path)]
    found = [document for document in found if "recorded" in document.data]
    if not found:
        is_ours = listed(folder, RECORDING) is not None
        why = "is a recording of a program that called no framework" if is_ours else "holds no recording"
        raise BadInput(f"{shown(folder)} {why}", f"Make one: portbench record -o {shown(folder)} -- python PROGRAM")
    return found
