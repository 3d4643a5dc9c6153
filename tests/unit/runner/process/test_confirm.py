"""A failure that an earlier test of the same worker caused is not the failed test's own."""

from __future__ import annotations

import pytest


def entries(*wanted):
    """Tests of fake.identity, in order: pairs of case and parameters."""
    return [
        {
            "function": "fake.identity",
            "tests": [
                {"id": f"{number}-{case}", "case": f"fake.behaviours:{case}", "params": params}
                for number, (case, params) in enumerate(wanted)
            ],
        }
    ]


@pytest.mark.parametrize(
    ("how", "outcome", "category"),
    [("fails", "failed", "other"), ("hangs", "timed_out", "timeout"), ("crashes", "crashed", "crash")],
)
def test_a_test_that_an_earlier_one_affected_is_run_again_alone(run, how, outcome, category):
    manifest = entries(("passes", {}), ("poisons", {"how": how}), ("sees_its_number", {"number": 3}), ("passes", {}))
    finished = run(manifest, "--runs", "2", "--timeout", "1")
    for number in (1, 2):
        first, poison, affected, last = (r for r in finished.document["results"] if r["run"] == number)
        assert [result["outcome"] for result in (first, poison, affected, last)] == ["passed"] * 4
        assert first["contaminated"] is poison["contaminated"] is last["contaminated"] is None
        assert (affected["contaminated"]["outcome"], affected["contaminated"]["category"]) == (outcome, category)
        assert affected["category"] is affected["error"] is affected["exit"] is None
        assert affected["value_verdict"] == "equal"
        assert affected["calls"][0]["cold"]["call_ns"] > 0
        assert first["worker"] == poison["worker"] < affected["worker"] == last["worker"]
    if how == "fails":
        assert "Error while lowering" in affected["contaminated"]["error"]["message"]
        assert affected["contaminated"]["error"]["type"] == "RuntimeError"


def test_what_fails_alone_too_is_its_own_failure_and_is_tried_alone_once(run):
    finished = run(entries(("passes", {}), ("raises", {}), ("passes", {})), "--runs", "3")
    failed = [result for result in finished.document["results"] if result["outcome"] == "failed"]
    assert [result["contaminated"] for result in failed] == [None] * 3
    assert {result["error"]["message"] for result in failed} == {"no such luck"}
    # Beside it, only in the first run, the worker in which it was tried alone.
    workers = {result["worker"] for result in finished.document["results"]}
    assert max(workers) - len(workers) == 1


def test_a_failure_of_its_own_replaces_the_one_that_it_caught(run):
    affected = run(entries(("poisons", {}), ("fails", {})), "--runs", "1").results["1-fails"]
    assert (affected["outcome"], affected["error"]["message"]) == ("failed", "expected 2, got 1")
    assert "Error while lowering" in affected["contaminated"]["error"]["message"]


def test_a_first_test_is_not_run_again(run):
    finished = run(entries(("raises", {}), ("passes", {})), "--runs", "1")
    assert [result["worker"] for result in finished.document["results"]] == [1, 2]


def test_the_opinion_of_the_host_is_not_affected_either(run):
    manifest = [
        {"function": "fake.refuse_on_device", "tests": [
            {"id": "poisons", "case": "fake.behaviours:poisons_the_host"},
            {"id": "after", "case": "fake.behaviours:is_itself"},
        ]},
    ]  # fmt: skip
    results = run(manifest, "--device", "xla", "--runs", "1").results
    assert results["poisons"]["cpu_control"]["outcome"] == "passed"
    assert (results["after"]["outcome"], results["after"]["cpu_control"]["outcome"]) == ("failed", "passed")


def test_after_a_refusal_by_an_assertion_on_the_device_a_fresh_worker_takes_over(run):
    lost = ("loses_the_device", {})
    results = run(entries(("passes", {}), lost, lost, ("passes", {})), "--runs", "1").document["results"]
    assert [result["outcome"] for result in results] == ["passed"] * 4
    assert [result["contaminated"] for result in results] == [None] * 4
    assert [result["worker"] for result in results] == [1, 1, 2, 3]
