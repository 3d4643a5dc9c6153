"""Finds the run files that ran a recorded manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from portbench.errors import BadInput, PortbenchError
from portbench.formats.documents import Document, files_below, read_document
from portbench.util.strict_json import bytes_of, shown
from portbench.util.text import pluralize

_RECORDED = re.compile(rb'"name":\s*"recorded-[0-9a-f]{12}"')


def run_files_of(manifests: Sequence[Document], places: Sequence[Path]) -> dict[str, list[Document]]:
    """The run files in ``places``, which are files and folders, by the digest of the manifest that they ran.

    Of several of one target, with its version, the newest. Other files in a folder are not read. Raises BadInput where
    a place does not exist, where a run file is not valid, and where there is none of these manifests.
    """
    digests = {manifest.sha256: manifest for manifest in manifests}
    newest: dict[tuple[str, str], Document] = {}
    others = 0
    for path in _files(places):
        content = bytes_of(path)
        if path not in places and not any(digest.encode() in content for digest in digests):
            others += bool(_RECORDED.search(content)) and b"portbench/run" in content
            continue
        document = read_document(path, "run")
        if document.data["manifest"]["sha256"] not in digests:
            others += 1
            continue
        key = (document.data["manifest"]["sha256"], target_of(document))
        if key not in newest or _age(newest[key]) < _age(document):
            newest[key] = document
    if not newest:
        raise _no_run_file(manifests, places, others)
    found: dict[str, list[Document]] = {}
    for (digest, _), document in sorted(newest.items()):
        found.setdefault(digest, []).append(document)
    return found


def target_of(run: Document) -> str:
    """``torch-2.9.0-tpu-v5e``."""
    target = run.data["target"]
    return f"{target['framework']}-{target['version']}-{target['device']}"


def _files(places: Iterable[Path]) -> Iterable[Path]:
    for place in places:
        if place.is_dir():
            yield from files_below(place, (".json",))
        elif place.exists():
            yield place
        else:
            raise BadInput(f"{shown(place)} does not exist", "Give run files, or a folder of them.")


def _age(run: Document) -> str:
    return str(run.data["started_at"])


def _no_run_file(manifests: Sequence[Document], places: Sequence[Path], others: int) -> PortbenchError:
    first = manifests[0].path
    where = ", ".join(map(shown, places)) or "results/"
    more = ""
    if others:
        what = "is" if others == 1 else "are"
        more = f"; {pluralize(others, 'run file')} there {what} of another recording or of an older content of this one"
    command = f"portbench run TARGET --manifest {first} --runs 1 --protocol cold --out {first.parent / 'results'}"
    return BadInput(f"no run file in {where} is of {shown(first)}{more}", f"Run it: {command}")
