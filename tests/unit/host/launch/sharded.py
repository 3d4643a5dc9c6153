"""A manifest of many tests of which one hangs in its first run, how to kill that run, and what a study says."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from portbench.study.merge import merge

TESTS = 20
# The case that hangs once writes a file, which a sandbox refuses.
OPTIONS = ("--manifest", "m.json", "--backend", "current", "--runs", "1", "--protocol", "cold", "--sandbox", "off")


def write_manifest(folder: Path) -> None:
    """Writes m.json. The variable FAKE_ONCE must name a file."""
    cases = {"hangs": "hangs_once", "fails": "fails"}
    ids = [*cases, *(f"passes-{place}" for place in range(TESTS - len(cases)))]
    tests = [{"id": each, "case": f"fake.behaviours:{cases.get(each, 'passes')}"} for each in ids]
    functions = [{"function": "fake.identity", "tests": tests}]
    head = {"schema": "portbench/manifest", "schema_version": 2, "name": "sharded", "framework": "fake"}
    (folder / "m.json").write_text(json.dumps({**head, "functions": functions}))


def killed_runner(results: Path) -> None:
    """Waits until the test hangs, and kills the runner that runs it, with its workers, as a system without memory."""
    while not Path(os.environ["FAKE_ONCE"]).exists():
        assert len(list(results.glob("*/*/*Z-????????.json"))) < 2, "both shards ended without the test that hangs"
        time.sleep(0.05)
    digest = hashlib.sha256(b"fake.identity::hangs").digest()
    shard = f"{int.from_bytes(digest[:8], 'big') % 2 + 1}-of-2"
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"runners" in words and any(word.endswith(f"/{shard}".encode()) for word in words):
                os.kill(int(process.name), signal.SIGKILL)


def facts(folder: Path, scratch: Path) -> Any:
    """What a study of the run files in a folder says of every target and function, without times."""
    merged = merge([str(folder)], scratch / f"study-{folder.name}")
    assert not merged.unfinished
    (target,) = merged.study.summary["targets"]
    of_functions = ("name", "status", "tests_by_verdict")
    functions = [{key: function[key] for key in of_functions} for function in target["functions"]]
    return [target[key] for key in ("target", "machine", "missing", "functions_by_status")], functions
