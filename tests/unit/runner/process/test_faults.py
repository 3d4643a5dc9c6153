"""Faults of every kind, counted: results lost, results doubled, processes and folders left behind.

What each fault gives is checked by its own test; the table at the end of pytest's output has the sums.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import resource
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from runners.core.process import journal_lines, processes
from tests.unit.runner.runner_cli import cases, numbered, stored

DAEMONS = 12


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path, monkeypatch):
    """Whatever a run starts has this folder in its environment, and is found by it."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


@pytest.fixture
def audit(own_temporary_folder, add_fault):
    """Counts what a fault did, in the table and as a test."""

    def auditing(fault, wanted, results, injected=1):
        found = [key_of(result) for result in results]
        lost, doubled = len(set(wanted) - set(found)), len(found) - len(set(found))
        left = len(left_behind(own_temporary_folder))
        folders = len(list(own_temporary_folder.iterdir()))
        add_fault(fault, injected=injected, lost=lost, doubled=doubled, left=left, folders=folders)
        assert (lost, doubled, left, folders) == (0, 0, 0, 0), fault
        assert set(found) == set(wanted)

    return auditing


def key_of(result):
    return result["function"], result["test"], result["run"]


def left_behind(folder, patience_s=30):
    """Processes that were started by a run and are there even after those that clean up had time to."""
    end = time.monotonic() + patience_s
    while started_in(folder):
        if time.monotonic() > end:
            return started_in(folder)
        os.sched_yield()
    return []


def started_in(folder):
    mark = f"TMPDIR={folder}".encode()
    found = []
    for name in filter(str.isdigit, (entry.name for entry in Path("/proc").iterdir())):
        with contextlib.suppress(OSError):
            entries = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
            if any(entry.startswith(mark) for entry in entries) and int(name) != os.getpid():
                found.append(int(name))
    return found


def wanted_of(functions, runs=1):
    keys = []
    for function in functions:
        for test in function["tests"]:
            grid = test.get("grid", {})
            names = [f"{test['id']}[n={n}]" for n in grid["n"]] if grid else [test["id"]]
            keys += [(function["function"], name, run) for name in names for run in range(1, runs + 1)]
    return keys


@pytest.mark.parametrize(
    ("case", "params", "outcome", "category", "reason"),
    [
        ("segfaults", {}, "crashed", "crash", "SIGSEGV"),
        ("aborts", {}, "crashed", "crash", "SIGABRT"),
        ("is_killed", {}, "crashed", "crash", "SIGKILL"),
        ("exits_silently", {}, "crashed", "crash", "by itself with exit status 0"),
        ("hangs_deaf", {}, "timed_out", "timeout", "no result within 1 s"),
        ("hangs_with_a_child", {}, "timed_out", "timeout", "no result within 1 s"),
        ("leaves_a_child", {}, "crashed", "crash", "exit status 0"),
        ("leaves_a_daemon", {}, "passed", None, None),
        ("leaves_files", {}, "passed", None, None),
        ("leaks", {"megabytes": 100_000}, "crashed", "memory", "more than the limit of 0.268 GB"),
        ("leaks_in_children", {}, "crashed", "memory", "the worker and what it had started held"),
        ("writes_into_every_descriptor", {}, "passed", None, None),
        ("writes_into_every_descriptor", {"text": "{}\n[1]\n\n\x7f"}, "passed", None, None),
        ("writes_into_every_descriptor", {"text": "x" * 60_000, "times": 1200}, "passed", None, None),
        ("closes_every_descriptor", {}, "crashed", "crash", "exit status 1"),
        ("closes_streams", {}, "passed", None, None),
    ],
)
def test_a_worker_that(run, audit, case, params, outcome, category, reason):
    functions = cases("passes", case, **params)
    functions[0]["tests"][0].pop("params")
    functions[0]["tests"].append({"id": "after", "case": "fake.behaviours:passes"})
    limits = ("--memory", "256M") if "leaks" in case else ()
    finished = run(functions, "--runs", "1", "--timeout", "60" if limits or params else "1", *limits)
    result = finished.results[case]
    assert (result["outcome"], result["category"]) == (outcome, category)
    assert reason is None or reason in result["reason"]
    assert result["exit"] is None or result["exit"]["oom_killed"] == (category == "memory")
    assert finished.document["protocol"]["memory_bytes"] == (256 << 20 if limits else None)
    assert finished.results["passes"]["outcome"] == finished.results["after"]["outcome"] == "passed"
    audit(
        " ".join([f"a worker {case.replace('_', ' ')}", *([str(params)[:30]] if params else [])]),
        wanted_of(functions),
        finished.document["results"],
    )


def test_a_worker_that_fills_its_output_with_a_gigabyte(run, audit):
    functions = cases("prints", "passes", megabytes=1000)
    functions[0]["tests"][1].pop("params")
    finished = run(functions, "--runs", "1")
    output = finished.results["prints"]["output"]
    assert finished.results["prints"]["outcome"] == "passed"
    assert output["total_bytes"] >= 1_000_000_000
    assert len(output["text"]) <= 65_536
    audit("a worker prints 1 GB", wanted_of(functions), finished.document["results"])


def with_daemons(count):
    """That many tests that pass; each of some leaves a daemon behind, one crashes, one fails."""
    (function,) = numbered(count)
    others = [{"id": f"daemon-{i}", "case": "fake.behaviours:leaves_a_daemon"} for i in range(DAEMONS)]
    others += [{"id": case, "case": f"fake.behaviours:{case}"} for case in ("segfaults", "raises", "exits_silently")]
    return [{**function, "tests": [*others[: DAEMONS // 2], *function["tests"], *others[DAEMONS // 2 :]]}]


@pytest.mark.parametrize(
    ("seed", "kills"), [(0, 10), *(pytest.param(seed, 50, marks=pytest.mark.slow) for seed in (1, 2, 3, 4))]
)
def test_a_supervisor_that_is_killed_at_random_moments(start, audit, own_temporary_folder, seed, kills, tmp_path):
    moments = random.Random(seed)
    functions = with_daemons(300)
    wanted, known, killed, round_ = wanted_of(functions), [], 0, 0
    while True:
        out = tmp_path / f"out-{round_}"
        for folder in own_temporary_folder.iterdir():
            os.utime(folder, (0, 0))  # as after a while
        attempt = start(functions, "--runs", "1", "--resume", "--out", str(out), "--progress", "none")
        with contextlib.suppress(subprocess.TimeoutExpired):
            if killed < kills:
                attempt.process.wait(moments.uniform(0, 1.0))
        if killed < kills and attempt.process.poll() is None:
            attempt.process.kill()
            killed += 1
        attempt.wait()
        assert not left_behind(own_temporary_folder), "what was started ends without the next supervisor"
        if attempt.journals:
            kept = stored(attempt.journals[0])
            assert kept[: len(known)] == known, "what was stored once stays as it is"
            known = kept
        if list(out.glob("*.json")):
            results = attempt.document["results"]
            assert results[: len(known)] == known
            if killed >= kills and attempt.status == 0:
                break
            # Killed after it had written the run file, it leaves its folder to the next one.
            known, round_ = [], round_ + 1
            assert Counter(key_of(result) for result in results) == Counter(wanted)
    audit("the supervisor is killed", wanted, results, injected=killed)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("killed_too", [("guard",), ("zygote",), ("guard", "zygote")])
def test_supervisor_and_another_killed_at_once(start, audit, own_temporary_folder, seed, killed_too):
    """What lives of guard and zygote cleans up; if both are killed, the next supervisor does."""
    functions = with_daemons(50)
    killed = start(functions, "--runs", "1")
    stop_at = random.Random(seed).randrange(DAEMONS // 2 + 30)
    for count, _ in enumerate(killed):
        if count == stop_at:
            killed.process.send_signal(signal.SIGSTOP)
            # The supervisor has one child, the guard, which has one, the zygote.
            found = dict(zip(("guard", "zygote"), processes.below(killed.process.pid)))
            for name in killed_too:
                os.kill(found[name], signal.SIGKILL)
            killed.process.kill()
            break
    killed.wait()
    if len(killed_too) == 1:
        assert not left_behind(own_temporary_folder)
    finished = start(functions, "--runs", "1", "--resume").wait()
    audit(f"supervisor and {' and '.join(killed_too)} are killed", wanted_of(functions), finished.document["results"])


def test_a_disk_that_is_full_at_every_write(start, audit, tmp_path):
    functions = numbered(4)
    journal = start(cases("passes", "hangs"), "--runs", "1", "--out", str(tmp_path / "other"))
    for event in journal:
        if event["event"] == "result":
            header, first = (len(line) + 1 for line in journal.journals[0].read_bytes().split(b"\n")[:2])
            break
    journal.process.send_signal(signal.SIGINT)
    journal.wait()
    # Nothing at all, the header, each result, the run file after them. Results differ in size, so the steps are small.
    limits = [0, 1, header // 2, *range(header + 10, header + 6 * first, first // 2)]
    reached: set[int] = set()
    for number, limit in enumerate(limits):
        out = tmp_path / f"out-{number}"
        failed = start(
            functions, "--runs", "1", "--out", str(out),
            limit=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        ).wait()  # fmt: skip
        if failed.status == 0:
            break
        assert failed.status == 5
        assert "cannot be written" in failed.error["message"] or "temporary" in failed.error["message"]
        assert "resume" in failed.error["remedy"] or "TMPDIR" in failed.error["remedy"]
        reached.add(sum(event["event"] == "result" for event in failed.events))
        resumed = start(functions, "--runs", "1", "--out", str(out), "--resume").wait()
        audit("the disk is full", wanted_of(functions), resumed.document["results"])
    assert reached >= {0, 1, 2, 3}


def without_rights():
    """The file modes hold for root, too: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH are given up."""
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


@pytest.mark.parametrize("moment", ["from the start", "meanwhile"])
def test_a_results_folder_that_is_read_only(start, audit, tmp_path, moment):
    functions = cases("passes", "hangs")
    functions[0]["tests"] += numbered(3)[0]["tests"]
    out = tmp_path / "out"
    out.mkdir()
    if moment == "from the start":
        out.chmod(0o555)
    refused = start(functions, "--runs", "1", "--timeout", "1.5", limit=without_rights)
    for event in refused:
        if event["event"] == "result":
            out.chmod(0o555)
    refused.wait()
    assert refused.status == 5
    assert "Permission denied" in refused.error["message"]
    out.chmod(0o755)
    resumed = start(functions, "--runs", "1", "--timeout", "1.5", "--resume").wait()
    assert (resumed.events[0]["done"] == 5) == (moment == "meanwhile")
    audit("the results folder is read-only", wanted_of(functions), resumed.document["results"])


def test_two_supervisors_with_one_output_folder(start, audit, tmp_path):
    functions = with_daemons(30)
    both = [start(functions, "--runs", "1") for _ in range(2)]
    for one in both:
        one.wait()
    assert [one.status for one in both] == [0, 0]
    files = [json.loads(path.read_text()) for path in (tmp_path / "out").glob("*.json")]
    assert len({document["run_id"] for document in files}) == 2
    for document in files:
        audit("two supervisors, one folder", wanted_of(functions), document["results"])


def test_two_supervisors_that_resume_the_same_run(start, audit, monkeypatch):
    functions = cases("passes", "hangs_on_request")
    monkeypatch.setenv("FAKE_HANGS", "1")
    stopped = start(functions, "--runs", "1")
    for event in stopped:
        if event["event"] == "result":
            stopped.process.send_signal(signal.SIGINT)
    stopped.wait()
    first = start(functions, "--runs", "1", "--resume")
    assert next(iter(first))["event"] == "start"
    second = start(functions, "--runs", "1", "--resume").wait()
    assert second.status == 2
    assert "another runner is writing" in second.error["message"]
    first.process.send_signal(signal.SIGINT)
    first.wait()
    monkeypatch.delenv("FAKE_HANGS")
    finished = start(functions, "--runs", "1", "--resume").wait()
    audit("two supervisors resume one run", wanted_of(functions), finished.document["results"])


@pytest.mark.parametrize("year", ["1970", "2999"])
def test_a_clock_that_was_set(start, audit, year):
    """Between the halves of a run, far back or far ahead: only the two instants in the file come from that clock."""
    functions = cases("passes", "hangs")
    stopped = start(functions, "--runs", "1", "--timeout", "1")
    for event in stopped:
        if event["event"] == "result":
            stopped.process.send_signal(signal.SIGINT)
            break
    stopped.wait()
    (journal,) = stopped.journals
    header, rest = journal.read_bytes().split(b"\n", 1)
    changed = json.loads(header)["header"]
    changed["document"]["started_at"] = year + changed["document"]["started_at"][4:]
    journal.write_bytes(journal_lines.line("header", changed) + rest)
    os.utime(journal, (0, 0) if year == "1970" else (2**33, 2**33))
    resumed = start(functions, "--runs", "1", "--timeout", "1", "--resume").wait()
    assert resumed.events[0]["done"] == 1
    assert resumed.document["started_at"] <= resumed.document["ended_at"]
    assert 1e9 <= resumed.results["hangs"]["case_ns"] < 60e9
    audit("the clock is set", wanted_of(functions), resumed.document["results"])


def test_a_folder_whose_owner_was_killed_while_it_made_it_is_removed_later(run, own_temporary_folder):
    old, new, other = (own_temporary_folder / name for name in ("portbench-run-old", "portbench-run-new", "other"))
    for folder in (old, new, other):
        folder.mkdir()
    for folder in (old, other):
        os.utime(folder, (0, 0))
    assert run(cases("passes"), "--runs", "1").status == 0
    assert sorted(own_temporary_folder.iterdir()) == [other, new], "one may be being made; the other is not ours"
