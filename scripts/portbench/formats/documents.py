"""Checks files against the format that each says it is written in.

``read_document`` is how every command of the host reads a manifest, a run file or a study: what it returns can be
relied on. ``validate`` does the same for many files and reports on each.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portbench.errors import BadInput, PortbenchError
from portbench.formats.consistency import check_consistency
from portbench.formats.schema_errors import Violation
from portbench.formats.schemas import kind_of, mistakes
from portbench.util.strict_json import MEND, read_json, shown
from portbench.util.text import escape_control

JOURNAL = ".journal.jsonl"
_NAMES = {
    "manifest": "a manifest",
    "run": "a run file",
    "study": "a study",
    "survivors": "a file of survivors",
    "annotations": "a file of annotations",
    "expected": "a file of known failures",
    "comparison": "a comparison",
    "functions": "a list of functions",
    "counts": "a file of counts",
    "exclusions": "a file of exclusions",
    "kernels": "a list of kernels",
}
_MEND = {
    "manifest": "Mend the manifest.",
    "survivors": "Mend the file.",
    "annotations": "Mend the file.",
    "expected": "Mend the file.",
    "comparison": "The file was changed or damaged: compare again.",
    "functions": "The file was changed or damaged: make it anew with 'portbench enumerate'.",
    "exclusions": "Mend the file.",
    "kernels": "The file was changed or damaged: make it anew with 'portbench kernels'.",
    "counts": "The file was changed or damaged: count again.",
    "run": "The file was changed or damaged: take it from where it was made, or run the target again.",
    "study": "The file was changed or damaged: merge the run files again, into a new folder.",
}


@dataclass(frozen=True)
class Document:
    """A file that fits its schema. ``kind`` is manifest, run or study; ``sha256`` is that of the file's bytes."""

    path: Path
    kind: str
    sha256: str
    size_bytes: int
    data: dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What ``validate`` found out about one file; ``problem`` and ``remedy`` are empty where it is valid."""

    path: Path
    kind: str
    problem: str = ""
    remedy: str = ""


def read_document(path: Path, kind: str = "", name: str = "") -> Document:
    """Reads a file and checks everything that can be known of it alone; messages call it ``name``, if not by its path.

    Raises BadInput where it is not valid, or not of the wanted ``kind``: file, JSON path, what was found and what was
    expected. Raises StorageFailed where it cannot be read.
    """
    if path.name.endswith(JOURNAL):
        raise BadInput(
            f"{shown(path)} is the journal of an unfinished run, not a run file",
            "Finish the run with 'portbench run --resume', then give the .json file that it writes.",
        )
    place = escape_control(name or str(path))
    file = read_json(path, name)
    try:
        found = kind_of(file.data)
        _refuse(mistakes(found, file.data), f"schema/{found}.schema.json says what may stand there.")
        _refuse(check_consistency(found, file.data), _MEND[found])
    except BadInput as error:
        raise BadInput(f"{place}: {error}", error.remedy) from None
    except RecursionError:
        raise BadInput(f"{place}: objects and lists are nested too deeply", MEND) from None
    if kind and found != kind:
        raise BadInput(f"{place} is {_NAMES[found]}, not {_NAMES[kind]}", f"Give {_NAMES[kind]}.")
    return Document(path, found, file.sha256, file.size_bytes, file.data)


def _refuse(mistakes: Iterable[Violation], remedy: str) -> None:
    problems = list(mistakes)
    if problems:
        more = f"; {len(problems) - 1} more in this file" if problems[1:] else ""
        raise BadInput(f"{problems[0].path}: {problems[0].sentence}{more}", remedy)


def validate(paths: Iterable[Path]) -> list[Verdict]:
    """Checks every file, and every .json file in every folder, whether or not others fail. Reads nothing else."""
    return [verdict for path in paths for verdict in _verdicts(path)]


def files_below(folder: Path, suffixes: tuple[str, ...] = (".json", JOURNAL)) -> list[Path]:
    """The files of a folder and its folders that end in one of ``suffixes``, in order; hidden ones are left out."""
    found = []
    for home, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(home, name) for name in sorted(names) if name.endswith(suffixes) and not name.startswith(".")]
    return found


def _verdicts(path: Path) -> list[Verdict]:
    if not path.is_dir():
        return [_verdict(path)]
    files = files_below(path, (".json",))
    if not files:
        return [
            Verdict(path, "", f"{shown(path)}: no .json file in this folder", "Give the folder that holds the files.")
        ]
    return [_verdict(file) for file in files]


def _verdict(file: Path) -> Verdict:
    try:
        return Verdict(file, read_document(file).kind)
    except PortbenchError as error:
        return Verdict(file, "", str(error), error.remedy)
