"""A damaged journal: what is whole survives, what is not is set aside and runs again."""

from __future__ import annotations

import copy
import errno
import json
import os
import random
import signal
import tracemalloc
from pathlib import Path

import pytest

from runners.core.errors import BadInput, StorageFailed
from runners.core.process import file_lock, journal, journal_lines, journal_resume
from tests.paths import EXAMPLES
from tests.unit.runner.runner_cli import cases, numbered, stored

RESULTS = 12
TESTS = 400


@pytest.fixture
def document():
    """The top level of a run, and a result of it."""
    whole = json.loads((EXAMPLES / "run/valid/second_opinions.json").read_text())
    result = {**whole.pop("results")[0], "run": 1}
    whole["protocol"]["runs"] = 1
    del whole["ended_at"]
    return whole, result


def written(folder, document):
    """A journal of that many results, with its path, identity and results."""
    header, result = document
    identity = journal.identity_of(header)
    book = journal.create(folder, copy.deepcopy(header), identity)
    for number in range(RESULTS):
        book.append({**result, "test": f"t[{number}]"})
    results = list(book.results())
    book.close()
    return book.path, identity, results


def flipped(content, seed):
    """The content with one to five bits flipped, and the numbers of the lines that are touched."""
    moments = random.Random(seed)
    changed = bytearray(content)
    touched = set()
    for _ in range(moments.randint(1, 5)):
        place = moments.randrange(len(content))
        changed[place] ^= 1 << moments.randrange(8)
        touched.add(content[:place].count(b"\n"))
    return bytes(changed), touched


def test_whatever_bits_are_flipped_every_good_line_survives(tmp_path, document):
    """200 journals. A line is good if none of its bits, its end included, was flipped."""
    path, identity, results = written(tmp_path, document)
    content = path.read_bytes()
    for seed in range(200):
        for file in tmp_path.iterdir():
            file.unlink()
        changed, touched = flipped(content, seed)
        path.write_bytes(changed)
        good = [result for number, result in enumerate(results, 1) if number not in touched]
        book = journal_resume.resume(tmp_path, copy.deepcopy(document[0]), identity)
        assert isinstance(book, journal.Journal), seed
        kept = list(book.results())
        assert [result for result in kept if result in good] == good, seed
        assert all(result in results for result in kept), f"{seed}: nothing is invented"
        assert len(book.done) == len(kept), f"{seed}: nothing is doubled"
        side = list(tmp_path.glob("*.damaged.jsonl"))
        assert bool(side) == bool(book.notes), seed
        # What is missing runs again and the file is complete, with the other results where they were.
        for result in results:
            if journal.key_of(result) not in book.done:
                book.append(result)
        book.close()
        again = journal_resume.resume(tmp_path, copy.deepcopy(document[0]), identity)
        assert again.notes == [], f"{seed}: what was set aside is not reported twice"
        assert len(list(again.results())) == RESULTS
        again.close()


def test_a_damaged_line_is_reported_and_its_test_runs_again(start):
    stopped = start(numbered(TESTS), "--runs", "1")
    for event in stopped:
        if event["event"] == "result" and event["test"] == "n[n=9]":
            stopped.process.send_signal(signal.SIGINT)
            break
    stopped.wait()
    (path,) = stopped.journals
    before = stored(path)
    lines = path.read_bytes().split(b"\n")
    lines[3] = lines[3].replace(b'"passed"', b'"failed"')
    path.write_bytes(b"\n".join(lines))
    resumed = start(numbered(TESTS), "--runs", "1", "--resume").wait()
    side = path.with_name(path.name.replace("journal", "damaged"))
    (warning,) = (event["message"] for event in resumed.events if event["event"] == "warning")
    assert warning == (
        f"{path}: has a line that is damaged, kept in {side}; line 4: its checksum is wrong; tests run again"
    )
    entry = json.loads(side.read_text())
    assert (entry["line"], entry["text"]) == (4, lines[3].decode())
    results = resumed.document["results"]
    assert sorted(result["test"] for result in results) == sorted(f"n[n={n}]" for n in range(TESTS))
    assert {result["outcome"] for result in results} == {"passed"}
    assert [result for result in results if result in before] == [*before[:2], *before[3:]]
    assert resumed.journals == []


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"run": 2}, "$.run: found 2, expected at most 1"),
        ({"outcome": "perhaps"}, "$.outcome"),
        ({"case_ns": 1.5}, "$.case_ns"),
        ({"outcome": None}, "$.outcome: found null"),
        ({}, "a second result"),
    ],
)
def test_a_line_with_a_right_checksum_is_checked_too(tmp_path, document, facts, reason):
    path, identity, results = written(tmp_path, document)
    seal = journal_lines.seal_of(identity)
    with path.open("ab") as file:
        file.write(journal_lines.line("result", {**results[-1], **facts}, seal))
    book = journal_resume.resume(tmp_path, document[0], identity)
    kept = list(book.results())
    book.close()
    assert kept == results
    (side,) = tmp_path.glob("*.damaged.jsonl")
    assert json.loads(side.read_text())["reason"].startswith(reason)


def test_a_line_of_another_run_is_no_line_of_this_one(tmp_path, document):
    path, identity, results = written(tmp_path / "a", document)
    other = copy.deepcopy(document[0])
    other["environment"]["machine"] = "other"
    foreign, _, _ = written(tmp_path / "b", (other, document[1]))
    lines = foreign.read_bytes().split(b"\n")
    path.write_bytes(path.read_bytes().replace(path.read_bytes().split(b"\n")[1], lines[1]))
    book = journal_resume.resume(tmp_path / "a", document[0], identity)
    kept = list(book.results())
    book.close()
    assert kept == results[1:]


def test_a_header_whose_document_is_not_of_its_identity_is_damaged(tmp_path, document):
    path, identity, results = written(tmp_path, document)
    header, rest = path.read_bytes().split(b"\n", 1)
    value = json.loads(header)["header"]
    value["document"]["environment"]["machine"] = "other"
    path.write_bytes(journal_lines.line("header", value) + rest)
    book = journal_resume.resume(tmp_path, copy.deepcopy(document[0]), identity)
    kept = list(book.results())
    book.close()
    assert kept == results
    assert book.header["document"]["environment"]["machine"] == document[0]["environment"]["machine"]
    assert "its header was damaged" in book.notes[-1]


def test_a_run_file_that_is_complete_is_not_written_again(start, tmp_path):
    """The runner ended after it had written the run file and before it removed the journal."""
    stopped = start(numbered(2), "--runs", "1", "--timeout", "60")
    stopped.wait()
    (file,) = (tmp_path / "out").glob("*.json")
    document = json.loads(file.read_text())
    header = {key: value for key, value in document.items() if key not in ("ended_at", "results")}
    identity = journal.identity_of(header)
    leftover = file.with_name(file.stem + journal.SUFFIX)
    seal = journal_lines.seal_of(identity)
    lines = [journal_lines.line("header", {"journal": 2, "identity": identity, "document": header})]
    lines += [journal_lines.line("result", result, seal) for result in document["results"]]
    leftover.write_bytes(b"".join(lines))
    before = (file.stat().st_ino, file.stat().st_mtime_ns, file.read_bytes())
    resumed = start(numbered(2), "--runs", "1", "--timeout", "60", "--resume").wait()
    assert (resumed.status, resumed.events[-1]["unchanged"]) == (0, True)
    assert (file.stat().st_ino, file.stat().st_mtime_ns, file.read_bytes()) == before
    assert list((tmp_path / "out").iterdir()) == [file]


def test_resume_names_the_process_that_still_writes(start, monkeypatch):
    writing = start(cases("passes", "hangs"), "--runs", "1")
    for event in writing:
        if event["event"] == "result":
            break
    refused = start(cases("passes", "hangs"), "--runs", "1", "--resume").wait()
    assert refused.status == 2
    assert f"another runner is writing to it: process {writing.process.pid} (" in refused.error["message"]
    assert "-m runners --framework fake" in refused.error["message"]


def without_flock(descriptor, operation):
    raise OSError(errno.ENOLCK, "No locks available")


@pytest.fixture
def lockable(tmp_path):
    path = tmp_path / "a.journal.jsonl"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    yield path, descriptor
    os.close(descriptor)


def test_a_file_system_without_flock_gets_a_lock_file_with_its_owner(lockable):
    lock = file_lock.Lock(*lockable, flock=without_flock)
    with pytest.raises(file_lock.Busy, match=f"process {os.getpid()} on "):
        file_lock.Lock(*lockable, flock=without_flock)
    lock.check()
    lock.release()
    assert [path.name for path in lockable[0].parent.iterdir()] == ["a.journal.jsonl"]


def test_a_lock_file_whose_owner_has_ended_is_taken_over(lockable):
    lock_file = lockable[0].with_name("a.journal.jsonl.lock")
    first = file_lock.Lock(*lockable, flock=without_flock)
    owner = json.loads(lock_file.read_text())
    lock_file.write_text(json.dumps({**owner, "process": 2**30, "token": "gone"}))
    second = file_lock.Lock(*lockable, flock=without_flock)
    second.check()
    with pytest.raises(StorageFailed, match="another runner has taken over"):
        first.check()
    first.release()
    assert lock_file.exists(), "that of another runner stays"
    second.release()


def test_a_lock_file_without_a_heartbeat_is_taken_over(lockable):
    lock_file = lockable[0].with_name("a.journal.jsonl.lock")
    lock_file.write_text(json.dumps({"process": 1, "machine": "another", "token": "x"}))
    with pytest.raises(file_lock.Busy, match="process 1 on another"):
        file_lock.Lock(*lockable, flock=without_flock)
    os.utime(lock_file, (0, 0))
    file_lock.Lock(*lockable, flock=without_flock).release()


def test_a_run_on_a_file_system_without_flock(start, tmp_path, monkeypatch):
    """The runner's own flock is made to fail, but not that of its temporary folder."""
    (tmp_path / "sitecustomize.py").write_text(
        "import fcntl, os, errno\n"
        "real = fcntl.flock\n"
        "def flock(descriptor, operation):\n"
        "    if 'journal' in os.readlink(f'/proc/self/fd/{descriptor}'):\n"
        "        raise OSError(errno.EOPNOTSUPP, 'Operation not supported')\n"
        "    return real(descriptor, operation)\n"
        "fcntl.flock = flock\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    writing = start(cases("passes", "hangs"), "--runs", "1", "--timeout", "600")
    for event in writing:
        if event["event"] == "result":
            break
    refused = start(cases("passes", "hangs"), "--runs", "1", "--timeout", "600", "--resume").wait()
    assert f"another runner is writing to it: process {writing.process.pid} on " in refused.error["message"]
    writing.process.kill()
    writing.process.wait()
    resumed = start(cases("passes", "hangs"), "--runs", "1", "--timeout", "600", "--resume")
    assert next(iter(resumed))["done"] == 1
    resumed.process.send_signal(signal.SIGINT)
    assert resumed.wait().status == 130
    assert not list((tmp_path / "out").glob("*.lock")), "it is released at the end"


def test_an_unreadable_journal_stays_as_it_is(tmp_path, document):
    path, identity, _ = written(tmp_path, document)
    other = copy.deepcopy(identity)
    other["protocol"]["runs"] = 7
    content = path.read_bytes()
    damaged = b"x" + content[1:]
    path.write_bytes(damaged)
    with pytest.raises(BadInput, match="its header cannot be read"):
        journal_resume.resume(Path(tmp_path), document[0], other)
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("length", [0, 1, 500])
def test_a_journal_that_was_killed_before_its_header_was_whole_is_removed(tmp_path, document, length):
    path, identity, _ = written(tmp_path, document)
    path.write_bytes(path.read_bytes()[:length])
    assert journal_resume.resume(tmp_path, document[0], identity) is None
    assert list(tmp_path.iterdir()) == []


def test_a_journal_without_its_header_is_continued(tmp_path, document):
    path, identity, results = written(tmp_path, document)
    path.write_bytes(path.read_bytes().split(b"\n", 1)[1])
    book = journal_resume.resume(tmp_path, document[0], identity)
    kept = list(book.results())
    book.close()
    assert kept == results


def test_results_are_not_kept_in_memory(tmp_path, document):
    """400 results of 40 kB, stored, read again by a run that resumes, and written to a run file."""
    header, result = document
    identity = journal.identity_of(header)
    large = {**result, "output": {"text": "x" * 40_000, "total_bytes": 40_000}}
    tracemalloc.start()
    book = journal.create(tmp_path, copy.deepcopy(header), identity)
    for number in range(400):
        book.append({**large, "test": f"t[{number}]"})
    book.close()
    resumed = journal_resume.resume(tmp_path, copy.deepcopy(header), identity)
    path = resumed.finish(header["started_at"], None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 16e6
    assert peak < 8e6
    assert len(json.loads(path.read_text())["results"]) == 400
