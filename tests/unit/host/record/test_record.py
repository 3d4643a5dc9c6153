"""``portbench record`` with real programs of the fake framework, which the runner then runs, too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from portbench.formats.documents import read_document
from tests.paths import ROOT
from tests.unit.host.clones import COMMAND

SETUP = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from portbench_recorder import hooks
hooks.RECORDERS["runners.fake.library"] = "tests.unit.runner.fake_calls"
from runners.fake import library as fake
tensor = fake.Tensor([1.0, 2.0])
"""
CALLS = """
for _ in range(10):
    fake.scale(tensor, 2.0)
fake.refuse_on_device(tensor)
"""


class Folder:
    """A working folder with a program of the fake framework."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recording = path / "rec"

    def write(self, calls: str, setup: str = SETUP) -> None:
        (self.path / "train.py").write_text(setup + calls)

    def command(self, *arguments: object) -> Sequence[str]:
        return [*COMMAND, *map(str, arguments)]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PORTBENCH_PYTHON": sys.executable, "COLUMNS": "200"}

    def portbench(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), cwd=self.path, env=self.environment, capture_output=True, text=True, timeout=120
        )

    def record(self, *options: object) -> subprocess.CompletedProcess[str]:
        return self.portbench("record", "-o", "rec", *options, "--", sys.executable, "train.py", "--token=secret")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write(CALLS)
    return made


def test_a_program_becomes_a_manifest(folder: Folder) -> None:
    done = folder.record()
    assert done.returncode == 0, done.stderr
    manifest = read_document(folder.recording / "fake.json", "manifest").data
    weights = {each["function"]: [test["weight"]["calls"] for test in each["tests"]] for each in manifest["functions"]}
    assert weights == {"fake.scale": [10], "fake.refuse_on_device": [1]}
    assert "rec/fake.json: 11 calls of 2 functions, 2 distinct calls" in done.stderr
    assert "portbench run TARGET --manifest rec/fake.json" in done.stderr


def test_neither_arguments_nor_folders_of_the_program_are_kept(folder: Folder) -> None:
    folder.record()
    text = (folder.recording / "fake.json").read_text()
    assert "secret" not in text and str(folder.path) not in text
    assert json.loads(text)["recorded"]["program"] == f"{Path(sys.executable).name} train.py"


def test_record_run_and_verdict_in_one_command(folder: Folder) -> None:
    done = folder.record("--targets", "fake-latest-cpu,fake-xla", "--backend", "current", "--fail-on", "refused")
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stdout.splitlines() if line]
    assert lines[0] == "11 of 11 calls (100.0 % of time) run on fake-1.0.0-cpu"
    assert lines[1].startswith("10 of 11 calls (")
    assert lines[1].endswith("run on fake-1.0.0-xla; 1 function is refused: fake.refuse_on_device")
    assert (folder.recording / "verdict" / "index.html").is_file()
    again = folder.portbench("verdict", "rec", "--fail-on", "wrong,host")
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_a_bad_target_is_refused_before_the_program_starts(folder: Folder) -> None:
    folder.write("raise SystemExit('started')", "")
    done = folder.record("--targets", "fake-cpu,torch-tpu-v99")
    assert done.returncode == 2
    assert "no target is called 'torch-tpu-v99'" in done.stderr and "started" not in done.stderr
    assert not folder.recording.exists()


def test_a_target_of_a_framework_that_was_not_called_is_said(folder: Folder) -> None:
    done = folder.record("--targets", "jax-cpu")
    assert done.returncode == 0, done.stderr
    assert "nothing to run, the program called no function of jax" in done.stderr


def test_the_default_folder_is_named_after_the_program(folder: Folder) -> None:
    done = folder.portbench("record", "--", sys.executable, "train.py")
    assert done.returncode == 0, done.stderr
    assert (folder.path / "train-recording" / "fake.json").is_file()


def test_the_exit_status_of_the_program_is_passed_on(folder: Folder) -> None:
    folder.write(CALLS + "sys.exit(7)")
    done = folder.record("--targets", "fake-cpu")
    assert done.returncode == 7
    assert "the program ended with exit status 7" in done.stderr
    assert (folder.recording / "fake.json").is_file() and not (folder.recording / "results").exists()


def test_a_killed_program_leaves_what_it_called(folder: Folder) -> None:
    folder.write(CALLS + "import signal; os.kill(os.getpid(), signal.SIGTERM)")
    done = folder.record()
    assert done.returncode == 128 + signal.SIGTERM
    folder.write("import signal; os.kill(os.getpid(), signal.SIGKILL)")
    done = folder.record()
    assert done.returncode == 128 + signal.SIGKILL
    assert "ended with exit status 137; rec: no call of a framework was recorded" in done.stderr


def test_a_signal_to_portbench_ends_the_program(folder: Folder) -> None:
    folder.write(CALLS + "import signal; print('ready', flush=True); signal.pause()")
    arguments = ("record", "-o", "rec", "--", sys.executable, "train.py")
    process = subprocess.Popen(
        folder.command(*arguments), cwd=folder.path, env=folder.environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("program", "status", "message"),
    [
        (["./nowhere"], 2, "nowhere cannot be started: No such file or directory"),
        (["./train.py"], 2, "train.py cannot be started: Permission denied"),
        ([sys.executable, "-c", "pass"], 4, "no call of a framework was recorded"),
        ([sys.executable, "-I", "train.py"], 1, "no call of a framework was recorded"),
        ([sys.executable, "gone.py"], 2, "the program ended with exit status 2; rec: no call of a framework"),
        ([], 2, "Missing argument"),
    ],
)
def test_programs_that_cannot_be_recorded(folder: Folder, program: list[str], status: int, message: str) -> None:
    done = folder.portbench("record", "-o", "rec", "--", *program)
    assert done.returncode == status, done.stderr
    assert message in done.stderr and "portbench/" not in done.stderr
    assert not (folder.recording / "fake.json").exists()


def test_files_of_somebody_else_are_never_removed(folder: Folder) -> None:
    (folder.recording / "parts").mkdir(parents=True)
    (folder.recording / "parts" / "mine.txt").write_text("mine")
    done = folder.record()
    assert done.returncode == 2
    assert "rec is neither a recording that portbench wrote nor empty" in done.stderr
    assert (folder.recording / "parts" / "mine.txt").read_text() == "mine"


def test_a_new_recording_replaces_the_old_one_and_nothing_else(folder: Folder) -> None:
    folder.record()
    (folder.recording / "jax.json").write_text("{}")  # of the recorder, which lists it
    (folder.recording / "notes.txt").write_text("mine")
    (folder.recording / "results").mkdir()
    (folder.recording / "results" / "run.json").write_text("{}")
    folder.write("fake.scale(tensor, 2.0)")
    assert folder.record().returncode == 0
    manifest = json.loads((folder.recording / "fake.json").read_text())
    assert manifest["recorded"]["calls"] == 1
    names = {path.name for path in folder.recording.iterdir()}
    assert names == {".portbench.json", "fake.json", "notes.txt", "parts", "results"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ('{"format": 99}', "written by another version of the recorder: format 99"),
        ('{"format": 1}', "is damaged"),
    ],
)
def test_a_part_that_cannot_be_read_is_named(folder: Folder, content: str, message: str) -> None:
    folder.write(CALLS + f"open('rec/parts/other.json', 'w').write({content!r})")
    done = folder.record()
    assert done.returncode == 4
    assert f"rec/parts/other.json: {message}" in done.stderr
    assert "Traceback" not in done.stderr
