"""Reads files and checks each against the format that it names.

Every command of the host reads manifests, run files and studies with ``read_document``, which returns only valid
documents. ``validate`` checks many files and reports on each.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from portbench.errors import BadInput, PortbenchError
from portbench.formats.consistency import check_consistency, check_rest_of_manifest
from portbench.formats.schema_errors import Violation
from portbench.formats.schemas import kind_of, schema_path, violations
from portbench.formats.upgrade import upgrade
from portbench.util.strict_json import FIX, JsonFile, read_json, shown
from portbench.util.text import escape_control

JOURNAL = ".journal.jsonl"
_MOST_PROBLEMS = 50
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
    "mapping": "a mapping",
    "site": "a document of a site",
    "verdict": "a verdict",
}
_REMEDIES = {
    "manifest": "Fix the manifest.",
    "survivors": "Fix the file.",
    "annotations": "Fix the file.",
    "expected": "Fix the file.",
    "comparison": "The file was changed or damaged: compare again.",
    "functions": "The file was changed or damaged: create it again with 'portbench enumerate'.",
    "exclusions": "Fix the file.",
    "mapping": "Fix the file.",
    "site": "The file was changed or damaged: run 'portbench publish' again.",
    "kernels": "The file was changed or damaged: create it again with 'portbench kernels'.",
    "verdict": "The file was changed or damaged: create it again with 'portbench verdict --json'.",
    "counts": "The file was changed or damaged: count again.",
    "run": "The file was changed or damaged: copy it again from the machine that wrote it, or run the target again.",
    "study": "The file was changed or damaged: merge the run files again, into a new folder.",
}


@dataclass(frozen=True)
class Document:
    """A valid file. ``kind`` is a key of ``schemas.VERSIONS``; ``sha256`` is the digest of the file's bytes.

    ``data`` is the content in the present version of the format, whatever version the file has.
    """

    path: Path
    kind: str
    sha256: str
    size_bytes: int
    data: dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    """The result of ``validate`` for one file; ``problems`` and ``remedy`` are empty where the file is valid.

    Each problem names the file, the place in it, what was found and what was expected.
    """

    path: Path
    kind: str
    problems: tuple[str, ...] = ()
    remedy: str = ""


def read_document(path: Path, kind: str = "", name: str = "") -> Document:
    """Reads a file and checks it completely. Messages call it ``name`` (default: its path).

    Raises BadInput where it is not valid or not of the wanted ``kind``: the message names the file, the JSON path, what
    was found and what was expected. For a manifest, which people write, it has a line for each mistake; for other files
    it has the first. Raises StorageFailed where the file cannot be read.
    """
    place = escape_control(name or str(path))
    file, found, problems, remedy = _checked(path, name)
    if problems:
        lines = [f"{place}: {problem.path}: {problem.sentence}" for problem in problems]
        if found != "manifest":
            more = f"; {len(lines) - 1} more in this file" if lines[1:] else ""
            raise BadInput(lines[0] + more, remedy)
        raise BadInput("\n".join(_at_most(lines)), remedy)
    if kind and found != kind:
        raise BadInput(f"{place} is {_NAMES[found]}, not {_NAMES[kind]}", f"Give {_NAMES[kind]}.")
    return Document(path, found, file.sha256, file.size_bytes, file.data)


def _checked(path: Path, name: str = "") -> tuple[JsonFile, str, list[Violation], str]:
    """The file with its data in the present version, its format, everything that is wrong with it, and the remedy.

    Raises BadInput where it is no document of a known format, and StorageFailed where it cannot be read.
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
        problems = violations(found, file.data)
        remedy = f"{schema_path(found, file.data)} says what is allowed there." if problems else _REMEDIES[found]
        if not problems:
            file = replace(file, data=upgrade(found, file.data))
            problems = list(check_consistency(found, file.data))
        elif found == "manifest":
            problems += check_rest_of_manifest(file.data, problems)
    except BadInput as error:
        raise BadInput(f"{place}: {error}", error.remedy) from None
    except RecursionError:
        raise BadInput(f"{place}: objects and lists are nested too deeply", FIX) from None
    return file, found, problems, remedy


def _at_most(lines: list[str]) -> list[str]:
    """The first lines of many, and how many more there are."""
    more = len(lines) - _MOST_PROBLEMS
    return [*lines[:_MOST_PROBLEMS], f"and {more} more"] if more > 0 else lines


def validate(paths: Iterable[Path]) -> list[Verdict]:
    """Checks every file and every .json file below every folder, whether or not others fail."""
    return [verdict for path in paths for verdict in _verdicts(path)]


def files_below(folder: Path, suffixes: tuple[str, ...] = (".json", JOURNAL)) -> list[Path]:
    """The files below a folder whose names end in one of ``suffixes``, sorted. Hidden files and folders are skipped."""
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
            Verdict(
                path, "", (f"{shown(path)}: no .json file in this folder",), "Give the folder that holds the files."
            )
        ]
    return [_verdict(file) for file in files]


def _verdict(path: Path) -> Verdict:
    try:
        _, found, problems, remedy = _checked(path)
    except PortbenchError as error:
        return Verdict(path, "", (str(error),), error.remedy)
    lines = tuple(f"{shown(path)}: {problem.path}: {problem.sentence}" for problem in problems)
    return Verdict(path, "" if lines else found, lines, remedy if lines else "")
