"""A run of a target that the storm disturbs, and what must be true of it at the end.

However it was disturbed, the run that is continued gives every test of every run exactly once, with the outcome of an
undisturbed run.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from tests.storm.scene import Scene

Facts = dict[tuple[str, str, int], tuple[Any, ...]]

_ATTEMPTS = 4
_INSERTED = (b"\0", b"\xff", b"\n", b'{"x": NaN}\n', b"9" * 5000)
_BEHAVIOURS = ("fails", "raises", "skips", "segfaults", "exits", "refused", "prints")


class Target:
    """What is run: words for the program, without the folder. ``runner``: started directly, not by the host."""

    def __init__(self, words: list[str], runner: bool) -> None:
        self.words = words
        self.runner = runner
        self.expected: Facts = {}

    def command(self, scene: Scene, *more: str) -> list[str]:
        """The words for one run into the scene's folder."""
        return [*self.words, "--out", str(scene.out), *more]

    def learn(self) -> None:
        """Runs undisturbed, and keeps what comes out."""
        scene = Scene()
        try:
            ended = scene.run(*self.command(scene))
            files = run_files(scene.out)
            if ended.status or len(files) != 1:
                raise SystemExit(f"the undisturbed run failed: {ended.said[-2000:]}{ended.out[-2000:]}")
            self.expected = facts(json.loads(files[0].read_text("utf-8")))
        finally:
            scene.close()


def fake(folder: Path) -> Target:
    """The fake framework: tests that pass, and one for many a way to end."""
    test = {"id": "n", "case": "fake.behaviours:sees_its_number", "params": {"number": "$n"}}
    tests: list[dict[str, Any]] = [{**test, "grid": {"n": list(range(12))}}]
    tests += [{"id": name, "case": f"fake.behaviours:{name}"} for name in _BEHAVIOURS]
    manifest = folder / "manifest.json"
    document = {"schema": "portbench/manifest", "schema_version": 1, "name": "storm", "framework": "fake"}
    manifest.write_text(json.dumps({**document, "functions": [{"function": "fake.identity", "tests": tests}]}))
    words = ["runners", "--framework", "fake", "--device", "cpu", "--manifest", str(manifest)]
    return Target([*words, "--runs", "2", "--protocol", "cold", "--timeout", "60", "--progress", "json"], True)


def real(name: str) -> Target:
    """A few functions of a framework, run by the host in the target's own environment."""
    words = ["portbench", "run", name, "--manifest", "study", "--backend", "venv", "--runs", "1", "--protocol", "cold"]
    for function in ("torch.nn.GELU", "torch.cat", "torch.nn.Linear"):
        words += ["--function", function]
    return Target(words, False)


def run_files(folder: Path) -> list[Path]:
    """The run files of a folder."""
    return sorted(file for file in folder.glob("*.json") if not file.name.startswith(".")) if folder.is_dir() else []


def journals(folder: Path) -> list[Path]:
    """The journals of a folder."""
    return sorted(folder.glob("*.journal.jsonl")) if folder.is_dir() else []


def facts(document: dict[str, Any]) -> Facts:
    """What a disturbed run must have like an undisturbed one."""
    return {
        (result["function"], result["test"], result["run"]): (
            result["outcome"],
            result["category"],
            (result["error"] or {}).get("type"),
            (result["error"] or {}).get("message"),
        )
        for result in document["results"]
    }


def complete(scene: Scene, target: Target) -> None:
    """Continues a disturbed run until it has a run file. A journal that is refused is moved away, and counted."""
    ended = None
    for _ in range(_ATTEMPTS):
        if run_files(scene.out):
            return
        ended = scene.run(*target.command(scene, "--resume"))
        if ended.status == 2 and not run_files(scene.out):
            for journal in journals(scene.out):
                scene.found["refused"] += 1
                scene.notes.append(f"refused: {ended.said[-400:]}{ended.out[-400:]}")
                journal.rename(scene.home / journal.name)
    if not run_files(scene.out):
        said = f"{ended.status}: {ended.said[-800:]}{ended.out[-800:]}" if ended else ""
        scene.note("lost", f"no run file after {_ATTEMPTS} times --resume: {said}", len(target.expected))


def judge(scene: Scene, target: Target, files: int = 1) -> None:
    """Holds the run files of a scene against the undisturbed run."""
    found = run_files(scene.out)
    scene.note("doubled", f"{len(found)} run files, expected {files}", max(0, len(found) - files))
    for file in found:
        document = json.loads(file.read_text("utf-8"))
        counts = Counter((each["function"], each["test"], each["run"]) for each in document["results"])
        have = facts(document)
        doubled = [key for key, count in counts.items() if count > 1]
        lost = target.expected.keys() - have.keys()
        invented = [
            (key, value, target.expected.get(key)) for key, value in have.items() if target.expected.get(key) != value
        ]
        scene.note("doubled", f"{doubled[:3]}", len(doubled))
        scene.note("lost", f"{sorted(lost)[:3]}", len(lost))
        scene.note("invented", f"{invented[:3]}", len(invented))
    scene.note("lost", "the journal is left", len(journals(scene.out)))


def damaged(content: bytes, random: Random) -> tuple[bytes, str]:
    """Bytes with one kind of damage, and its name."""
    kind = random.choice(("flip", "flip", "truncate", "double", "drop", "insert"))
    lines = content.splitlines(keepends=True)
    place = random.randrange(max(1, len(content)))
    if kind == "flip":
        changed = bytearray(content)
        for _ in range(random.randint(1, 5)):
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
        return bytes(changed), kind
    if kind == "truncate":
        return content[:place], kind
    if kind == "insert":
        return content[:place] + random.choice(_INSERTED) + content[place:], kind
    line = random.randrange(len(lines))
    lines[line : line + 1] = [lines[line]] * (2 if kind == "double" else 0)
    return b"".join(lines), kind
