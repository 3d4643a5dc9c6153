"""Every way in which a test can end becomes exactly one result, and the tests after it run."""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path

import pytest

from tests.unit.runner.runner_cli import ROOT, alive, cases

FAULTS = ROOT / "manifests" / "faults" / "fake.json"


def test_each_end_is_described(run):
    results = {
        result["test"]: result
        for result in run(FAULTS, "--runs", "1").document["results"]
        if result["function"] == "fake.identity"
    }
    found = {
        test: (result["outcome"], result["category"], result["phase"], (result["exit"] or {}).get("signal"))
        for test, result in results.items()
    }
    assert found == {
        "passes": ("passed", None, None, None),
        "fails": ("failed", "other", "compare", None),
        "raises": ("failed", "other", "compare", None),
        "skips": ("skipped", None, None, None),
        "segfaults": ("crashed", "crash", "call", "SIGSEGV"),
        "aborts": ("crashed", "crash", "compare", "SIGABRT"),
        "is-killed": ("crashed", "crash", "compare", "SIGKILL"),
        "exits-silently": ("crashed", "crash", "compare", None),
        "prints[megabytes=0.001]": ("passed", None, None, None),
        "prints[megabytes=20]": ("passed", None, None, None),
        "closes-streams": ("passed", None, None, None),
        "leaves-a-child": ("crashed", "crash", "compare", None),
        "checks-nothing": ("failed", "other", "compare", None),
    }
    assert results["exits-silently"]["exit"]["code"] == 0
    assert results["skips"]["reason"] == "needs what this machine has not"
    assert results["checks-nothing"]["error"]["message"] == "the case checked nothing"
    assert results["segfaults"]["exit"]["peak_memory_bytes"] > 1_000_000
    assert "Segmentation fault" in results["segfaults"]["output"]["text"], "faulthandler's stack is evidence"


def test_the_error_carries_type_message_and_place(run):
    error = run(cases("raises", message="no such luck"), "--runs", "1").results["raises"]["error"]
    assert (error["type"], error["message"], error["causes"]) == ("ValueError", "no such luck", [])
    assert "behaviours.py" in error["traceback"]


def test_numbers_that_are_not_finite_fail_and_stay_out_of_the_file(run):
    finished = run(cases("not_finite", function="fake.quotient"), "--runs", "1")
    assert finished.results["not_finite"]["outcome"] == "failed"
    text = next(finished.out.glob("*.json")).read_text()
    assert not re.search(r":\s*-?(NaN|Infinity)", text)


def test_a_fresh_worker_follows_everything_but_a_pass_and_a_skip_before_the_first_call(run):
    results = run(
        [{"function": "fake.identity", "tests": [
            {"id": f"{i}-{case}", "case": f"fake.behaviours:{case}"}
            for i, case in enumerate(["passes", "passes", "fails", "passes", "skips", "passes", "segfaults", "passes"])
        ]}],
        "--runs", "1",
    ).document["results"]  # fmt: skip
    fresh = [later["worker"] > earlier["worker"] for earlier, later in zip(results, results[1:])]
    assert fresh == [result["outcome"] not in ("passed", "skipped") for result in results[:-1]]


def test_every_run_begins_with_a_fresh_worker(run):
    results = run(cases("passes"), "--runs", "3").document["results"]
    assert [(result["run"], result["worker"]) for result in results] == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("case", "phase", "stack"),
    [
        ("hangs", "compare", True),
        ("hangs_in_call", "call", True),
        ("hangs_deaf", "compare", False),
        ("prints_forever", "compare", False),
    ],
)
def test_a_hang_ends_at_the_limit(run, case, phase, stack):
    finished = run(cases(case, "passes"), "--runs", "1", "--timeout", "1.5")
    result = finished.results[case]
    assert (result["outcome"], result["category"], result["phase"]) == ("timed_out", "timeout", phase)
    assert result["exit"]["signal"] == "SIGKILL"
    assert result["case_ns"] >= 1.5e9
    assert ("in " + case in result["output"]["text"]) == stack, "the Python stack of the hanging worker is evidence"
    assert finished.results["passes"]["outcome"] == "passed"


def test_output_is_kept_and_capped_and_reaches_no_other_channel(run):
    finished = run(
        [{"function": "fake.identity", "tests": [
            {"id": "flood", "case": "fake.behaviours:prints", "params": {"megabytes": 20}},
            {"id": "after", "case": "fake.behaviours:passes"},
        ]}],
        "--runs", "1",
    )  # fmt: skip
    output = finished.results["flood"]["output"]
    assert output["total_bytes"] > 20_000_000
    assert 60_000 < len(output["text"]) <= 65_536
    assert "bytes left out" in output["text"]
    assert output["text"].rstrip().endswith("buffered in C")
    assert finished.results["after"]["output"] == {"text": "", "total_bytes": 0}
    assert {event["event"] for event in finished.events} == {"start", "result", "end"}
    assert finished.stderr == ""


def test_a_case_cannot_time_something_else(run):
    finished = run(cases("times_nothing", "times_something_else"), "--runs", "1")
    assert {result["error"]["type"] for result in finished.results.values()} == {"runners.core.trial.MisusedTrial"}


def test_nothing_outlives_the_run(run):
    finished = run(cases("leaves_a_child"), "--runs", "1")
    child = int(re.search(r"child (\d+)", finished.results["leaves_a_child"]["output"]["text"]).group(1))
    assert not alive(child)


def test_files_that_a_test_leaves_are_removed(run):
    folder, name = (
        run(cases("leaves_files"), "--runs", "1").results["leaves_files"]["output"]["text"].strip().split("|")
    )
    assert Path(folder) == Path(name).parent
    assert Path(folder) not in (Path.cwd(), ROOT)
    assert not Path(folder).exists()


MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")


@pytest.mark.skipif(
    not os.access(MEMORY_GROUPS / "cgroup.procs", os.W_OK), reason="needs a writable memory cgroup (v1)"
)
def test_the_kernel_ends_a_worker_that_takes_all_memory(start):
    group = MEMORY_GROUPS / f"portbench-{uuid.uuid4().hex[:8]}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(300 << 20))
        enter = group / "cgroup.procs"
        finished = start(cases("leaks", "passes"), "--runs", "1", limit=lambda: enter.write_text("0") and None).wait()
        result = finished.results["leaks"]
        assert (result["outcome"], result["category"]) == ("crashed", "memory")
        assert result["exit"]["signal"] == "SIGKILL"
        assert result["exit"]["oom_killed"] is True
        assert finished.results["passes"]["outcome"] == "passed"
    finally:
        group.rmdir()
