"""A recording: what is on disk when a process forks, fails, ends or is killed."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

sys.path.append(str(ROOT / "runners" / "recorder"))

from portbench_recorder import manifests, sites
from portbench_recorder.manifests import NotRecorded, write_manifests
from portbench_recorder.recording import Recording, Unnameable


def called(recording: Recording, function: str, key: Any = 0, seconds: float = 0.5) -> None:
    entry = recording.entry("fake", function, key, lambda: {"args": [key]})
    recording.add(entry, seconds, lambda: (key, lambda: f"train.py:{key}"))


def manifest(folder: Path) -> Any:
    (path,) = write_manifests(folder, "python train.py")
    return json.loads(path.read_text("utf-8"))


def test_equal_calls_of_all_processes_are_one_test(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.add_framework("fake", "1.0.0")
    called(recording, "fake.add", 1)
    child = os.fork()
    if child == 0:
        called(recording, "fake.add", 1)
        called(recording, "fake.add", 2)
        recording.end()
        os._exit(0)
    os.waitpid(child, 0)
    called(recording, "fake.add", 1)
    recording.end()
    found = manifest(tmp_path)
    (function,) = found["functions"]
    assert [(test["args"], test["weight"]) for test in function["tests"]] == [
        ([1], {"calls": 3, "seconds": 1.5}),
        ([2], {"calls": 1, "seconds": 0.5}),
    ]
    assert (found["written_for"], found["recorded"]["calls"]) == ("1.0.0", 4)


def test_a_forked_process_alone_names_its_version(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.add_framework("fake", "1.0.0")
    child = os.fork()
    if child == 0:
        called(recording, "fake.add")
        recording.end()
        os._exit(0)
    os.waitpid(child, 0)
    assert manifest(tmp_path)["written_for"] == "1.0.0"


def test_a_killed_program_leaves_what_was_written_before(tmp_path: Path) -> None:
    program = """
import os, signal, sys
sys.path.append(sys.argv[2])
from pathlib import Path
from portbench_recorder.recording import Recording
recording = Recording(Path(sys.argv[1]))
for number in range(3):
    recording.add(recording.entry("fake", "fake.add", number, lambda: {"args": [number]}), 0.5, lambda: None)
recording.write()
recording.add(recording.entry("fake", "fake.late", 0, lambda: {"args": []}), 0.5, lambda: None)
os.kill(os.getpid(), signal.SIGKILL)
"""
    recorder = str(ROOT / "runners" / "recorder")
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path), recorder])
    assert done.returncode == -signal.SIGKILL
    (function,) = manifest(tmp_path)["functions"]
    assert function["function"] == "fake.add"
    assert len(function["tests"]) == 3


def test_what_data_cannot_describe_is_listed_with_its_reason(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    called(recording, "fake.add")

    def refused() -> Any:
        raise Unnameable("a lock")

    recording.add(recording.entry("fake", "fake.wait", 0, refused), 2.0, lambda: (0, lambda: "train.py:7"))
    recording.failed(ValueError("no dtype"))
    recording.failed(ValueError("no dtype"))
    recording.end()
    recorded = manifest(tmp_path)["recorded"]
    assert recorded["left_out"] == [
        {"function": "fake.wait", "reason": "a lock", "calls": 1, "seconds": 2.0, "sites": ["train.py:7"]}
    ]
    assert recorded["failures"] == [{"message": "ValueError: no dtype", "calls": 2}]


def test_a_loop_over_many_signatures_is_counted_and_cut(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for number in range(300):
        called(recording, "fake.add", number)
    recording.end()
    found = manifest(tmp_path)
    assert len(found["functions"][0]["tests"]) == 200
    (rest,) = found["recorded"]["left_out"]
    assert (rest["calls"], rest["reason"]) == (100, "too many signatures of one function")


def test_steps_end_the_recording_and_call_what_waits_for_the_end(tmp_path: Path) -> None:
    recording = Recording(tmp_path, steps=2)
    ended = []
    recording.at_end.append(lambda: ended.append(recording.enabled))
    called(recording, "fake.add")
    recording.step()
    assert recording.enabled
    recording.step()
    assert ended == [False]
    assert manifest(tmp_path)["recorded"]["calls"] == 1


def test_a_folder_without_calls_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="no call"):
        write_manifests(tmp_path)
    parts = tmp_path / manifests.PARTS
    parts.mkdir()
    (parts / "1.json").write_text("{", "utf-8")
    with pytest.raises(NotRecorded, match=r"1\.json"):
        write_manifests(tmp_path)


def test_a_site_is_the_line_outside_of_the_framework(tmp_path: Path) -> None:
    inner = tmp_path / "framework" / "inner.py"
    inner.parent.mkdir()
    inner.write_text("def call(find):\n    return find()\n", "utf-8")
    found: Any = {}
    exec(compile(inner.read_text("utf-8"), str(inner), "exec"), found)
    place = found["call"](sites.Sites(str(inner.parent)).of_caller)
    assert place is not None
    assert place[1]().rpartition(":")[0].endswith("tests/unit/runner/recorder/test_recording.py")


def test_the_program_s_own_line_is_not_one_of_the_recorder(tmp_path: Path) -> None:
    """Where the recorder is not an installed package, its frames look like the program's."""
    found: Any = {}
    for file, source in {
        tmp_path / "site-packages" / "layer.py": "def call(find):\n    return find()\n",
        Path(sites.__file__).parent / "wrapper.py": "def wrap(call, find):\n    return call(find)\n",
    }.items():
        exec(compile(source, str(file), "exec"), found)
    place = found["wrap"](found["call"], sites.Sites(str(tmp_path / "framework")).of_caller)
    assert place is not None
    assert re.fullmatch(r"layer\.py:2 from .*tests/unit/runner/recorder/test_recording\.py:\d+", place[1]())


def test_python_s_own_library_is_no_site(tmp_path: Path) -> None:
    """A test suite runs in unittest, whose path is one of the user's machine."""
    place_of = {}
    for folder in ("framework", "site-packages"):
        file = tmp_path / folder / "inner.py"
        found: Any = {}
        exec(compile("def call(find):\n    return find()\n", str(file), "exec"), found)
        # The wrapper that makes the call is a function of functools.py.
        place = functools.singledispatch(found["call"])(sites.Sites(str(tmp_path / "framework")).of_caller)
        assert place is not None
        place_of[folder] = place[1]()
    here = r"(.*/)?tests/unit/runner/recorder/test_recording\.py:\d+"
    assert re.fullmatch(here, place_of["framework"])
    assert re.fullmatch(rf"inner\.py:2 from {here}", place_of["site-packages"])
