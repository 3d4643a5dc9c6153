"""What ends a worker from outside is no finding: the test runs again, and what does not repeat is flagged."""

from __future__ import annotations

import os
import signal

import pytest

from runners.core.manifest_grids import Test
from runners.core.process.attempt import attempt
from runners.core.process.plan import PlannedTest
from runners.core.process.worker_handle import Exit, Reply
from tests.unit.runner.runner_cli import alive, cases, descendants


def family(start, monkeypatch, tmp_path, *names):
    """A runner of which a test hangs once."""
    monkeypatch.setenv("FAKE_ONCE", str(tmp_path / "once"))
    return start(cases(*names), "--runs", "1", "--timeout", "600")


def hanging(running, tmp_path):
    """Waits until the test hangs; returns zygote and worker: the last two of guard, zygote and worker."""
    while not (tmp_path / "once").exists():
        os.sched_yield()
    _, zygote, worker = descendants(running.process.pid)
    return zygote, worker


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV])
@pytest.mark.parametrize("names", [("hangs_once",), ("passes", "hangs_once")])
def test_a_worker_that_is_killed_from_outside(start, monkeypatch, tmp_path, number, names):
    running = family(start, monkeypatch, tmp_path, *names)
    _, worker = hanging(running, tmp_path)
    os.kill(worker, number)
    running.wait()
    result = running.results["hangs_once"]
    assert (result["outcome"], result["category"], result["exit"]) == ("passed", None, None)
    # A worker that ran others before may have got this signal for what they did.
    is_after_others = number == signal.SIGSEGV and len(names) == 2
    evidence, other = ("contaminated", "disturbed") if is_after_others else ("disturbed", "contaminated")
    assert result[other] is None
    assert (result[evidence]["outcome"], result[evidence]["category"]) == ("crashed", "crash")
    assert result[evidence]["reason"] == f"the worker was ended by {number.name}"
    assert running.events[-1]["disturbed"] == (not is_after_others)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_zygote_that_is_killed_from_outside(start, monkeypatch, tmp_path, number):
    running = family(start, monkeypatch, tmp_path, "passes", "hangs_once", "is_itself")
    zygote, _ = hanging(running, tmp_path)
    os.kill(zygote, number)
    running.wait()
    assert {result["outcome"] for result in running.results.values()} == {"passed"}
    assert running.results["hangs_once"]["disturbed"]["outcome"] == "crashed"


def test_a_worker_that_is_stopped_until_its_time_is_over(start, monkeypatch, tmp_path):
    monkeypatch.setenv("FAKE_ONCE", str(tmp_path / "once"))
    running = start(cases("hangs_once"), "--runs", "1", "--timeout", "2").wait()
    result = running.results["hangs_once"]
    assert (result["outcome"], result["disturbed"]["outcome"]) == ("passed", "timed_out")


@pytest.mark.parametrize(
    ("case", "outcome", "tries"), [("is_killed", "crashed", 2), ("segfaults", "crashed", 1), ("hangs", "timed_out", 1)]
)
def test_what_repeats_is_a_finding_and_is_tried_again_in_the_first_run_only(run, case, outcome, tries):
    finished = run(cases(case), "--runs", "3", "--timeout", "3" if case == "hangs" else "60")
    results = finished.document["results"]
    assert {result["outcome"] for result in results} == {outcome}
    assert {result["disturbed"] for result in results} == {None}
    assert finished.events[-1]["disturbed"] == 0
    # Three passes, and the workers in which it was tried again.
    assert [result["worker"] for result in results] == [1, 2 + tries, 3 + tries]


@pytest.mark.parametrize(
    ("ends", "outcome", "contaminated"),
    [
        ("raises is_killed raises", "failed", None),
        ("raises is_killed passes", "passed", "failed"),
        ("raises is_killed is_killed raises", "failed", None),
        ("raises is_killed is_killed is_killed", "crashed", "failed"),
    ],
)
def test_a_try_that_is_to_confirm_a_failure_is_killed(run, monkeypatch, tmp_path, ends, outcome, contaminated):
    (tmp_path / "ends").write_text(ends)
    monkeypatch.setenv("FAKE_ENDS", str(tmp_path / "ends"))
    result = run(cases("passes", "ends_as_listed"), "--runs", "1").results["ends_as_listed"]
    assert result["outcome"] == outcome
    assert (result["contaminated"] or {"outcome": None})["outcome"] == contaminated
    assert result["disturbed"] is None
    assert (tmp_path / "ends").read_text() == ""


def test_a_test_that_ends_its_worker_itself_is_not_tried_again(run):
    finished = run(cases("exits_silently", "passes"), "--runs", "1")
    assert [result["worker"] for result in finished.document["results"]] == [1, 2]


class Unanswering:
    """A worker that gives no result within the limit and has computed for ``cpu_s``."""

    number, phase, served, ready, process, memory_bytes, oom_kills_before = 1, "call", False, {}, 1, None, 0

    def __init__(self, cpu_s):
        self.cpu_s = cpu_s
        self.capture = self

    def take(self):
        return {"text": "", "total_bytes": 0}

    def ask(self, request, limit_s):
        return Reply(None, None)

    def cpu_seconds(self, with_children=True):
        return 1000 + self.cpu_s if with_children else 1000

    def stack(self):
        pass

    def kill(self):
        return Exit(None, "SIGKILL", None)


@pytest.mark.parametrize(("cpu_s", "is_doubtful"), [(0, True), (299, True), (301, False), (900, False)])
def test_a_test_that_computes_for_half_of_its_limit_is_not_tried_again(cpu_s, is_doubtful):
    planned = PlannedTest(Test("fake.identity", "a", "call", {}), 1, {})
    assert attempt(planned, Unanswering(cpu_s), "fake", 600).may_be_disturbed == is_doubtful


@pytest.mark.parametrize("times", [1, 3])
def test_a_zygote_that_is_killed_while_it_starts_is_started_again(run, monkeypatch, tmp_path, times):
    (tmp_path / "kills").write_text("x" * times)
    monkeypatch.setenv("FAKE_KILLED_STARTS", str(tmp_path / "kills"))
    assert run(cases("passes"), "--runs", "1").results["passes"]["outcome"] == "passed"
    assert (tmp_path / "kills").read_text() == ""


def test_what_is_killed_at_every_start_is_one_error(run, monkeypatch, tmp_path):
    (tmp_path / "kills").write_text("x" * 4)
    monkeypatch.setenv("FAKE_KILLED_STARTS", str(tmp_path / "kills"))
    failed = run(cases("passes"), "--runs", "1")
    assert failed.status == 6
    assert "was killed" in failed.error["message"]
    assert (tmp_path / "kills").read_text() == "", "it was started four times"


def test_a_result_that_no_run_file_can_hold_does_not_hold_the_others(run, tmp_path):
    finished = run(cases("passes", "gives_an_unusable_result", "is_itself"), "--runs", "1")
    assert [finished.results[name]["outcome"] for name in ("passes", "is_itself")] == ["passed", "passed"]
    result = finished.results["gives_an_unusable_result"]
    assert result["outcome"] == "error"
    assert "the result does not fit the format of run files: $.calls[0]" in result["error"]["message"]
    (side,) = (tmp_path / "out").glob("*.damaged.jsonl")
    assert len(side.read_text().splitlines()) == 2, "it was tried twice"
    assert sum(event["event"] == "warning" for event in finished.events) == 2


def test_a_reason_with_half_of_a_surrogate_pair_is_escaped(run):
    result = run(cases("skips_with_a_surrogate"), "--runs", "1").results["skips_with_a_surrogate"]
    assert result["reason"] == "no \\ud800 here"


def test_a_runner_whose_reader_is_killed_ends_at_once(start):
    running = start(cases("passes", "hangs"), "--runs", "1", "--timeout", "600")
    for event in running:
        if event["event"] == "result":
            break
    below = descendants(running.process.pid)
    running.process.stdout.close()
    assert running.process.wait(60) == 130
    assert running.process.stderr.read() == ""
    assert not [process for process in below if alive(process)]
    assert running.journals
