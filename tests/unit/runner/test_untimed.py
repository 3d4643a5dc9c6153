"""Tests that only check values: they run once, however often the others do, and have no times."""

from __future__ import annotations

TENSOR = {"tensor": {"values": [1.0, 2.0], "dtype": "float64"}}
TIMED = {"id": "timed", "case": "call", "args": [TENSOR, 2.0], "expect": {"numpy": "multiply"}}
UNTIMED = {**TIMED, "id": "untimed", "timed": False}
WRONG = {**UNTIMED, "id": "wrong", "expect": {"value": [0.0, 0.0]}}
TESTS = [{"function": "fake.scale", "tests": [UNTIMED, TIMED, WRONG]}]
SHORT = ("--protocol", "both", "--steady-budget", "0.001")


def test_an_untimed_test_runs_once_after_all_passes_and_has_no_times(run):
    results = run(TESTS, "--runs", "3", *SHORT, schema_version=7).document["results"]
    assert [(each["test"], each["run"]) for each in results] == [
        ("timed", 1),
        ("timed", 2),
        ("timed", 3),
        ("untimed", 1),
        ("wrong", 1),
    ]
    calls = {each["test"]: each["calls"][0] for each in results}
    assert calls["timed"]["cold"] and calls["timed"]["steady"]
    for test in ("untimed", "wrong"):
        assert (calls[test]["cold"], calls[test]["steady"]) == (None, None)


def test_an_untimed_test_is_checked_like_the_others(run):
    finished = run(TESTS, "--runs", "1", *SHORT, schema_version=7)
    assert {test: result["outcome"] for test, result in finished.results.items()} == {
        "untimed": "passed",
        "timed": "passed",
        "wrong": "failed",
    }


def test_a_shuffled_run_has_the_same_results(run):
    results = run(TESTS, "--runs", "2", "--shuffle", "1", *SHORT, schema_version=7).document["results"]
    assert sorted((each["test"], each["run"]) for each in results) == [
        ("timed", 1),
        ("timed", 2),
        ("untimed", 1),
        ("wrong", 1),
    ]


def test_progress_counts_the_results_that_there_will_be(run):
    events = run(TESTS, "--runs", "3", *SHORT, schema_version=7).events
    assert [(each["tests"], each["total"]) for each in events if each["event"] == "start"] == [(3, 5)]
    assert sum(each["event"] == "result" for each in events) == 5
