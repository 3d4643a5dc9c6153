"""Journals and studies as inputs: whole ones that portbench writes, and what damage and mutations make of them."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import strategies as st

from portbench.study.merge import merge
from runners.core.cli import main as runner
from runners.core.errors import StorageFailed
from runners.core.process import run_file
from tests.fuzz.strategies import damaged, mutated
from tests.paths import ROOT

Draw = Callable[..., Any]

_INSERTED = (b"\0", b"\xff", b"\n", b'{"x": NaN}\n', b"9" * 20_000, b"[" * 20_000)


def runner_words(manifest: Path, out: Path, *more: str) -> list[str]:
    """The words of the runner for the manifest that journals belong to."""
    words = ["--framework", "fake", "--device", "cpu", "--manifest", str(manifest), "--out", str(out), "--runs", "1"]
    return [*words, "--protocol", "cold", "--timeout", "1", "--machine", "fuzz", "--progress", "none", *more]


def write_manifest(path: Path) -> None:
    """A manifest of four tests."""
    test = {"id": "n", "case": "fake.behaviours:sees_its_number", "params": {"number": "$n"}, "grid": {"n": [1, 2, 3]}}
    tests = [test, {"id": "fails", "case": "fake.behaviours:fails"}]
    document = {"schema": "portbench/manifest", "schema_version": 1, "name": "fuzz", "framework": "fake"}
    path.write_text(json.dumps({**document, "functions": [{"function": "fake.identity", "tests": tests}]}))


def whole_journal(manifest: Path, folder: Path) -> tuple[str, bytes]:
    """The name and content of the journal of a run that could not write its run file."""
    full = StorageFailed("the disk is full", "Make room.")
    with mock.patch.object(run_file, "write", side_effect=full), contextlib.redirect_stderr(io.StringIO()):
        try:
            runner(runner_words(manifest, folder))
        except SystemExit as end:
            assert end.code, "the run has ended in order"
    (journal,) = folder.glob("*.journal.jsonl")
    return journal.name, journal.read_bytes()


def whole_study(folder: Path) -> dict[str, bytes]:
    """The files of a study of two parts, by their names in it."""
    examples = sorted((ROOT / "tests" / "examples" / "run" / "valid").glob("*.json"))
    for file in (examples[0], examples[-1]):
        merge([str(file)], folder, allow_drift=True)
    return {os.fspath(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@st.composite
def journals(draw: Draw, whole: bytes) -> bytes:
    """A journal with flipped bits, cut, with lines twice, missing or mutated."""
    lines = whole.splitlines(keepends=True)
    how = draw(st.sampled_from(("flip", "flip", "cut", "twice", "missing", "mutated", "inserted", "deep")))
    place = draw(st.integers(0, len(lines) - 1))
    if how == "twice":
        lines.insert(draw(st.integers(0, len(lines))), lines[place])
    elif how == "missing":
        del lines[place]
    elif how == "mutated":
        # A line may begin with its checksum.
        start = lines[place].index(b"{")
        document = mutated(draw, json.loads(lines[place][start:].split(b"\t")[0]))
        lines[place] = lines[place][:start] + json.dumps(document).encode() + b"\n"
    elif how == "deep":
        lines[place] = damaged(draw, lines[place].rstrip(b"\n")) + b"\n"
    return _damaged(draw, b"".join(lines), how)


@st.composite
def studies(draw: Draw, whole: dict[str, bytes]) -> tuple[str, bytes]:
    """The name of a file of a study, and another content."""
    name = draw(st.sampled_from(sorted(whole)))
    if name.endswith(".json") and draw(st.booleans()):
        return name, json.dumps(mutated(draw, json.loads(whole[name]))).encode("utf-8", "surrogatepass")
    return name, _damaged(draw, whole[name], draw(st.sampled_from(("flip", "flip", "cut", "inserted"))))


def _damaged(draw: Draw, content: bytes, how: str) -> bytes:
    places: Sequence[int] = draw(st.lists(st.integers(0, max(0, len(content) - 1)), min_size=1, max_size=5))
    if how == "flip" and content:
        changed = bytearray(content)
        for place in places:
            changed[place] ^= 1 << draw(st.integers(0, 7))
        return bytes(changed)
    if how == "cut":
        return content[: places[0]]
    if how == "inserted":
        return content[: places[0]] + draw(st.sampled_from(_INSERTED)) + content[places[0] :]
    return content
