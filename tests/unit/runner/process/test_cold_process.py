"""With ``--cold process`` each test has a process of its own, and everything else is as without it."""

from __future__ import annotations

import re

import pytest

PROCESS = ("--cold", "process")


def entries(*names):
    tests = [
        {"id": f"{number}-{name}", "case": f"fake.behaviours:{name}", "params": {}} for number, name in enumerate(names)
    ]
    return [{"function": "fake.identity", "tests": tests}]


def processes(finished):
    """The process of each test that said it, and how many tests that process had run with it."""
    texts = [result["output"]["text"] for result in finished.document["results"]]
    return [
        tuple(map(int, found.groups())) for found in (re.search(r"process (\d+) test (\d+)", t) for t in texts) if found
    ]


def forget(finished):
    """Removes the run file, so that the next run is alone in the folder."""
    for path in finished.out.glob("*.json"):
        path.unlink()


def test_each_test_of_each_pass_has_a_process_of_its_own(run):
    finished = run(entries(*["prints_its_process"] * 4), *PROCESS, "--runs", "2")
    found = processes(finished)
    assert len(found) == len({process for process, _ in found}) == 8
    assert {tests for _, tests in found} == {1}
    assert finished.document["protocol"]["cold"] == "process"
    assert finished.document["schema_version"] == 7
    assert finished.document["environment"]["device_state"]["end"] is not None


def test_without_it_the_tests_of_a_pass_share_a_process(run):
    finished = run(entries(*["prints_its_process"] * 4), "--runs", "1")
    found = processes(finished)
    assert len({process for process, _ in found}) == 1
    assert [tests for _, tests in found] == [1, 2, 3, 4]
    assert finished.document["protocol"]["cold"] == "test"


def test_a_process_that_keeps_the_memory_of_its_tests_is_replaced_before_it_meets_its_limit(run):
    wanted = entries(*["keeps_memory"] * 6)
    for test in wanted[0]["tests"]:
        test["params"] = {"megabytes": 50}
    finished = run(wanted, "--runs", "1", "--memory", "256M")
    assert [tests for _, tests in processes(finished)] == [1, 2, 3, 1, 2, 3]
    assert {result["outcome"] for result in finished.document["results"]} == {"passed"}


@pytest.mark.parametrize("bad", ["segfaults", "fails"])
def test_the_results_are_the_same_and_a_failure_counts_once(run, bad):
    wanted = entries("passes", bad, "passes", "skips")

    def outcomes(*options):
        finished = run(wanted, *options, "--runs", "2")
        kept = ("function", "test", "run", "outcome", "reason", "phase", "category", "contaminated", "disturbed")
        found = [{name: result.get(name) for name in kept} for result in finished.document["results"]]
        forget(finished)
        return found

    alone = outcomes(*PROCESS)
    assert alone == outcomes()
    keys = [(result["test"], result["run"]) for result in alone]
    assert len(keys) == len(set(keys)) == 8


def test_what_an_earlier_test_leaves_does_not_reach_a_later_one(run):
    wanted = [
        {
            "function": "fake.identity",
            "tests": [
                {"id": "poisons", "case": "fake.behaviours:poisons", "params": {"how": "fails"}},
                {"id": "next", "case": "fake.behaviours:sees_its_number", "params": {"number": 3}},
            ],
        }
    ]
    together = run(wanted, "--runs", "1")
    assert together.results["next"]["contaminated"]["outcome"] == "failed"
    forget(together)
    assert run(wanted, *PROCESS, "--runs", "1").results["next"]["contaminated"] is None
