"""`portbench history` in a small clone, with a stand-in for the runner and a local package index."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from tests.unit.host.clones import Clone, make_clone


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = make_clone(tmp_path)
    for version in ("1.1.0", "2.0.0"):
        made.add_version("fake", version, default=False)
    return made


def environments(clone: Clone) -> list[Path]:
    return [path for path in (clone.root / "cache" / "portbench" / "environments").glob("fake-*") if path.is_dir()]


def run_files(clone: Clone) -> list[Path]:
    return list((clone.root / "cache" / "portbench" / "history" / "runs").glob("*/*.json"))


def test_what_ran_is_kept_and_its_environment_is_not(clone: Clone) -> None:
    done = clone.portbench("history", "fake", "--versions", "1.0.0,1.1.0", "--json")
    # The stand-in's run files hold no results: what counts here is what ran.
    assert len(run_files(clone)) == 2, done.stderr
    assert environments(clone) == []
    before = {path: path.stat().st_mtime_ns for path in run_files(clone)}
    clone.portbench("history", "fake", "--versions", "1.0.0,1.1.0,2.0.0", "--json")
    assert len(run_files(clone)) == 3
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    argv = json.loads(next(iter(before)).read_text())["argv"]
    assert argv[argv.index("--runs") + 1] == "1"
    assert argv[argv.index("--protocol") + 1] == "cold"


def test_another_manifest_runs_again(clone: Clone) -> None:
    clone.portbench("history", "fake", "--versions", "1.0.0")
    manifest = clone.root / "manifests" / "study" / "fake.json"
    manifest.write_text(manifest.read_text().replace('"value": 1', '"value": 2'))
    clone.portbench("history", "fake", "--versions", "1.0.0")
    assert len(run_files(clone)) == 2


def test_environments_stay_with_keep_and_where_they_existed(clone: Clone) -> None:
    clone.portbench("history", "fake", "--versions", "1.0.0", "--keep")
    assert len(environments(clone)) == 1
    manifest = clone.root / "manifests" / "study" / "fake.json"
    manifest.write_text(manifest.read_text().replace('"value": 1', '"value": 2'))
    clone.portbench("history", "fake", "--versions", "1.0.0,1.1.0")
    assert len(environments(clone)) == 1


def test_a_version_that_does_not_run_is_named(clone: Clone) -> None:
    (clone.root / "images" / "fake" / "1.1.0" / "cpu.lock").write_text("nowhere==1.0 --hash=sha256:" + "0" * 64 + "\n")
    done = clone.portbench("history", "fake", "--versions", "1.1.0", variables={"UV_OFFLINE": "1"})
    assert done.returncode == 4
    assert "1.1.0" in done.stdout
    assert "could not be created" in done.stdout
    assert "Traceback" not in done.stderr
    assert environments(clone) == []


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(clone: Clone) -> None:
    clone.portbench("history", "fake", "--versions", "1.0.0")
    process, pipe = clone.start("history", "fake", "--versions", "1.0.0,1.1.0", stand_in="waits")
    assert pipe.readline()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "portbench history fake --versions 1.0.0,1.1.0" in stderr
    assert len(run_files(clone)) == 1
    assert environments(clone) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--versions", "9.9.9"), "expected JSON|cannot be read|pins no package"),
        (("--versions", "1.0.0", "--device", "gpu"), "no target is called 'fake-gpu'"),
        (("--versions", "1.0.0", "--bisect", "fake.identify"), "has no function fake.identify.*fake.identity"),
        (("--versions", "1.0.0", "--manifest", "nothing"), "there is no manifest 'nothing'"),
    ],
)
def test_wrong_input_is_one_message(clone: Clone, words: tuple[str, ...], said: str) -> None:
    done = clone.portbench("history", "fake", *words)
    assert done.returncode == 2, done.stderr
    assert re.search(said, " ".join(done.stderr.split())), done.stderr
    assert "Traceback" not in done.stderr
    assert run_files(clone) == []


@pytest.mark.parametrize(
    ("good", "bad", "function", "said"),
    [
        ("fake", "fake-2.0.0", "fake.identity", "--good fake: expected FRAMEWORK-VERSION"),
        ("fake-1.0.0", "fake-2.0.0-xla", "fake.identity", "--good is fake-cpu and --bad is fake-xla"),
        ("fake-1.0.0", "torch-2.0.0", "fake.identity", "two versions of one framework"),
        ("fake-1.0.0", "fake-2.0.0", "fake.identify", "has no function fake.identify.*fake.identity"),
        ("frobnicate-1.0", "frobnicate-2.0", "fake.identity", "no target is called 'frobnicate-cpu'"),
    ],
)
def test_wrong_ends_of_a_bisection_are_one_message(clone: Clone, good: str, bad: str, function: str, said: str) -> None:
    done = clone.portbench("bisect", "--good", good, "--bad", bad, "--function", function)
    assert done.returncode == 2, done.stderr
    assert re.search(said, " ".join(done.stderr.split())), done.stderr
    assert "Traceback" not in done.stderr
