"""Nothing finished is lost and nothing is doubled, whatever ends the runner."""

from __future__ import annotations

import fcntl
import json
import os
import random
import resource
import signal
import time

import pytest

from tests.unit.runner.runner_cli import alive, cases, descendants, numbered, stored

TESTS = 400
"""Twice as many results are more than a pipe holds: a runner whose events nobody reads cannot end by itself."""


def keys(results):
    return [(result["function"], result["test"], result["run"]) for result in results]


def complete(document):
    """Each test of ``numbered(TESTS)`` in each of the two runs, once."""
    wanted = sorted(("fake.identity", f"n[n={n}]", run) for n in range(TESTS) for run in (1, 2))
    return sorted(keys(document["results"])) == wanted


@pytest.mark.parametrize("seed", range(8))
def test_a_killed_runner_loses_at_most_the_test_in_flight(start, seed):
    last = random.Random(seed).randrange(2 * TESTS)
    killed = start(numbered(TESTS), "--runs", "2")
    reported = 0
    for event in killed:
        reported += event["event"] == "result"
        if reported > last or (event["event"] == "start" and last == 0):
            family = descendants(killed.process.pid)
            os.kill(killed.process.pid, signal.SIGKILL)
            break
    killed.wait()
    if killed.journals:
        kept = stored(killed.journals[0])
        assert len(kept) >= reported, "a result that was reported of must be in the journal"
    assert not [process for process in family if alive(process) and _outlives(process)]

    again = start(numbered(TESTS), "--runs", "2", "--resume").wait()
    assert again.status == 0
    assert complete(again.document)
    assert again.journals == []


def _outlives(process, patience_s=30):
    """Whether a process is there even after those that clean up had time to."""
    end = time.monotonic() + patience_s
    while alive(process):
        if time.monotonic() > end:
            return True
        os.sched_yield()
    return False


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_line_that_was_cut_off_is_run_again(start, cut):
    stopped = start(numbered(TESTS), "--runs", "2")
    for event in stopped:
        if event["event"] == "result":
            os.kill(stopped.process.pid, signal.SIGTERM)
            break
    stopped.wait()
    journal = stopped.journals[0]
    content = journal.read_bytes()
    journal.write_bytes(content[:-cut])
    # Without its end, a line may still have everything.
    whole = content[:-cut].count(b"\n") - (cut > 1)
    resumed = start(numbered(TESTS), "--runs", "2", "--resume").wait()
    assert resumed.events[0]["done"] == whole
    assert complete(resumed.document)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_cleanly_and_says_how_to_go_on(start, number):
    stopped = start(cases("passes", "hangs"), "--runs", "1")
    for event in stopped:
        if event["event"] == "result":
            family = descendants(stopped.process.pid)
            stopped.process.send_signal(number)
            break
    stopped.wait()
    assert stopped.status == 130
    assert stopped.events[-1] == {"event": "interrupted", "journal": str(stopped.journals[0]), "done": 1, "total": 2}
    assert stopped.stderr == ""
    assert len(family) >= 2
    assert not [process for process in family if _outlives(process)]


def test_an_interrupt_leaves_nothing_that_a_test_has_started(start):
    stopped = start(cases("passes", "hangs_with_a_child"), "--runs", "1")
    events = iter(stopped)
    while next(events)["event"] != "result":
        pass
    while len(family := descendants(stopped.process.pid)) < 3:
        os.sched_yield()
    stopped.process.send_signal(signal.SIGINT)
    stopped.wait()
    assert stopped.status == 130
    assert not [process for process in family if _outlives(process)]


def test_a_resumed_run_keeps_what_was_done(start):
    stopped = start(numbered(TESTS), "--runs", "2")
    for event in stopped:
        if event["event"] == "result" and event["test"] == "n[n=9]":
            stopped.process.send_signal(signal.SIGINT)
            break
    stopped.wait()
    header = json.loads(stopped.journals[0].read_text().splitlines()[0])["header"]
    before = stored(stopped.journals[0])
    resumed = start(numbered(TESTS), "--runs", "2", "--resume").wait()
    document = resumed.document
    assert document["run_id"] == header["document"]["run_id"]
    assert document["results"][: len(before)] == before
    again = [event for event in resumed.events if event["event"] == "result"]
    assert len(again) == 2 * TESTS - len(before)


def test_resume_of_a_complete_run_changes_nothing(run):
    first = run(numbered(3), "--runs", "1")
    second = run(numbered(3), "--runs", "1", "--resume")
    assert second.status == 0
    assert second.events[-1]["unchanged"] is True
    assert second.document == first.document


@pytest.mark.parametrize(
    "lines",
    [
        "[]\n",
        "{}\n",
        '{"header":{"journal":2},"sha256":"0123456789abcdef"}\n',
        '{"header":{"journal":2,"identity":{},"document":[]},"sha256":"0123456789abcdef"}\n',
        '{"result":{},"sha256":"0123456789abcdef"}\n{"function": [], "test": "a", "run": 1}\n',
        "[" * 100_000 + "\n",
    ],
)
def test_a_damaged_journal_is_one_clear_error(run, tmp_path, lines):
    journal = tmp_path / "out" / "fake-1.0.0-cpu-20260101T000000Z-00000000.journal.jsonl"
    journal.parent.mkdir()
    journal.write_text(lines)
    resumed = run(numbered(1), "--resume")
    assert resumed.status == 2
    assert f"{journal}: is damaged, expected a header" in resumed.error["message"]
    assert journal.read_text() == lines


def test_a_journal_without_checksums_is_of_another_version(run, tmp_path):
    journal = tmp_path / "out" / "fake-1.0.0-cpu-20260101T000000Z-00000000.journal.jsonl"
    journal.parent.mkdir()
    journal.write_text('{"journal":1,"identity":{},"document":{}}\n')
    assert run(numbered(1), "--resume").error["message"] == f"{journal}: written by another version of the runner"


@pytest.mark.parametrize("content", ["[]", '{"environment": 1}', "[" * 100_000, "\udcff"])
def test_a_damaged_run_file_is_not_what_resume_looks_for(run, tmp_path, content):
    file = tmp_path / "out" / "fake-1.0.0-cpu-20260101T000000Z-00000000.json"
    file.parent.mkdir()
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert run(numbered(1), "--resume", "--runs", "1").status == 0


def test_resume_without_anything_to_resume_starts(run):
    assert run(numbered(3), "--runs", "1", "--resume").document["results"]


@pytest.mark.parametrize(
    ("functions", "options", "key"),
    [
        (numbered(TESTS + 1), ("--runs", "2"), "manifest.sha256"),
        (numbered(TESTS), ("--runs", "3"), "protocol.runs was 2, is now 3"),
        (numbered(TESTS), ("--runs", "2", "--machine", "other"), "environment.machine"),
        (numbered(TESTS), ("--runs", "2", "--timeout", "5"), "protocol.timeout_s was 900.0, is now 5.0"),
    ],
)
def test_resume_never_mixes(start, functions, options, key):
    stopped = start(numbered(TESTS), "--runs", "2")
    for event in stopped:
        if event["event"] == "result":
            stopped.process.send_signal(signal.SIGINT)
            break
    stopped.wait()
    before = stopped.journals[0].read_bytes()
    refused = start(functions, *options, "--resume").wait()
    assert refused.status == 2
    assert key in refused.error["message"]
    assert "without --resume" in refused.error["remedy"]
    assert stopped.journals[0].read_bytes() == before


def test_two_runners_do_not_share_a_journal(start):
    stopped = start(numbered(TESTS), "--runs", "2")
    for event in stopped:
        if event["event"] == "result":
            stopped.process.send_signal(signal.SIGINT)
            break
    stopped.wait()
    with stopped.journals[0].open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        refused = start(numbered(TESTS), "--runs", "2", "--resume").wait()
    assert refused.status == 2
    assert "another runner" in refused.error["message"]


def test_a_full_disk_is_one_error_and_loses_nothing(start):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    failed = start(numbered(TESTS), "--runs", "2", limit=limit).wait()
    assert failed.status == 5
    assert "cannot be written" in failed.error["message"]
    assert "--resume" in failed.error["remedy"]
    assert failed.journals[0].read_bytes().endswith(b"\n"), "no half-written line"
    assert len(stored(failed.journals[0])) >= 10
    assert complete(start(numbered(TESTS), "--runs", "2", "--resume").wait().document)


def test_an_output_folder_that_cannot_be_made(run, tmp_path):
    (tmp_path / "file").write_text("")
    failed = run(numbered(1), "--out", str(tmp_path / "file" / "out"))
    assert failed.status == 5
    assert "Not a directory" in failed.error["message"]
