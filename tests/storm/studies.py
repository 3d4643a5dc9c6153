"""Faults of merges and studies: killed at any moment, two at once, files damaged."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import time
from pathlib import Path
from random import Random

from tests.storm.runs import Target, damaged
from tests.storm.scene import Ended, Scene

_MACHINES = 4
_LONGEST_S = 2.5


def write_runs(scene: Scene) -> list[Path]:
    """Run files of several machines."""
    source = Path(__file__).parents[1] / "examples" / "run" / "valid"
    document = json.loads(min(source.glob("*.json")).read_text("utf-8"))
    files = []
    for number in range(_MACHINES):
        document["environment"]["machine"] = f"machine-{number}"
        document["run_id"] = f"{number:032x}"
        files.append(scene.home / "runs" / f"{number}.json")
        files[-1].parent.mkdir(exist_ok=True)
        files[-1].write_text(json.dumps(document))
    return files


def summary_of(scene: Scene, study: Path) -> bytes:
    """What a study says, without the code that derived it: the same for the same run files."""
    file = study / "study.json"
    return file.read_bytes() if file.is_file() else b""


def killed(scene: Scene, target: Target, random: Random) -> None:
    """A merge into a new or existing study is killed; the next one completes it."""
    files, study, expected = _undisturbed(scene)
    if random.random() < 0.7:
        _expect(scene, scene.run("portbench", "merge", files[0], "-o", study))
    process = scene.start("portbench", "merge", *files, "-o", study)
    time.sleep(random.uniform(0, _LONGEST_S))
    process.send_signal(random.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))
    scene.end(process)
    scene.check_processes()
    _check_next_merge(scene, files, study, expected)


def no_space(scene: Scene, target: Target, random: Random) -> None:
    """A merge cannot write files above a size; the study stays, and the next merge completes it."""
    files, study, expected = _undisturbed(scene)
    _expect(scene, scene.run("portbench", "merge", files[0], "-o", study))
    before, most = summary_of(scene, study), random.randrange(1000, 20_000)

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    ended = scene.run("portbench", "merge", *files, "-o", study, limit=limit)
    if ended.status and summary_of(scene, study) != before:
        scene.note("lost", "a merge that failed changed the study")
    _check_next_merge(scene, files, study, expected)


def at_once(scene: Scene, target: Target, random: Random) -> None:
    """Several merges into one study at once: each is complete, or refused."""
    files, study, expected = _undisturbed(scene)
    for process in [scene.start("portbench", "merge", file, "-o", study) for file in files]:
        ended = scene.end(process)
        scene.note("lost", f"{ended.status}: {ended.said[-500:]}", int(ended.status not in (0, 2)))
    _check_next_merge(scene, files, study, expected)


def study(scene: Scene, target: Target, random: Random) -> None:
    """A file of a study is damaged: report says the same as before, or refuses with one message."""
    files, folder = write_runs(scene), scene.home / "study"
    for group in (files[:2], files[2:]):
        _expect(scene, scene.run("portbench", "merge", *group, "-o", folder))
    before = scene.run("portbench", "report", folder, "--json").out
    _damage(scene, folder, random)
    ended = scene.run("portbench", "report", folder, "--json")
    if ended.status == 0:
        scene.note("invented", "another report without an error", int(ended.out != before))
    elif ended.status not in (2, 5) or not ended.said.strip() or len(ended.said) > 4000:
        scene.note("tracebacks", f"status {ended.status}: {ended.said[-500:]}")
    scene.check_processes()
    scene.check_folders([folder])


def _damage(scene: Scene, folder: Path, random: Random) -> None:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
    file = random.choice(files)
    kind = random.choice(("bytes", "bytes", "bytes", "remove", "copy", "swap", "fifo", "kernel"))
    scene.notes.append(f"study: {kind} {file.relative_to(folder)}")
    if kind == "bytes":
        content, how = damaged(file.read_bytes(), random)
        file.write_bytes(content)
        scene.notes.append(f"study: {how}")
    elif kind == "copy":
        shutil.copy(file, file.with_name(f"{random.getrandbits(64):016x}.parquet"))
    elif kind == "swap":
        other = random.choice(files)
        one, two = file.read_bytes(), other.read_bytes()
        file.write_bytes(two)
        other.write_bytes(one)
    else:
        file.unlink()
        if kind == "fifo":
            os.mkfifo(file)
        elif kind == "kernel":
            file.symlink_to("/proc/kmsg")


def _expect(scene: Scene, ended: Ended) -> None:
    if ended.status:
        scene.note("lost", f"status {ended.status}: {ended.said[-800:]}")


def _undisturbed(scene: Scene) -> tuple[list[Path], Path, Path]:
    """Run files, the folder of a study that does not exist yet, and the study of all the files."""
    files, expected = write_runs(scene), scene.home / "expected"
    _expect(scene, scene.run("portbench", "merge", *files, "-o", expected))
    return files, scene.home / "study", expected


def _check_next_merge(scene: Scene, files: list[Path], study: Path, expected: Path) -> None:
    """Merges all files once more: the study must be the expected one, and nothing else may be left."""
    _expect(scene, scene.run("portbench", "merge", *files, "-o", study))
    if summary_of(scene, study) != summary_of(scene, expected):
        scene.note("lost", "the study is not that of an undisturbed merge")
    scene.check_folders([study])
