"""Functions that were drawn and have no test yet: reported, listed in the run file, without a result."""

from __future__ import annotations

TEST = {"id": "same", "case": "call", "args": [7], "expect": {"value": 7}}
FUNCTIONS = [{"function": "fake.identity", "tests": [TEST]}, {"function": "fake.scale", "tests": []}]


def test_a_function_without_tests_is_told_and_has_no_result(run):
    finished = run(FUNCTIONS, "--runs", "1", schema_version=3)
    document = finished.document
    assert [event["functions"] for event in finished.events if event["event"] == "uncurated"] == [["fake.scale"]]
    assert [result["function"] for result in document["results"]] == ["fake.identity"]
    listed = {function["name"]: function["tests"] for function in document["manifest"]["functions"]}
    assert listed == {"fake.identity": 1, "fake.scale": 0}


def test_only_chosen_functions_are_told(run):
    finished = run(FUNCTIONS, "--runs", "1", "--function", "fake.identity", schema_version=3)
    assert not [event for event in finished.events if event["event"] == "uncurated"]


def test_a_manifest_without_any_test_says_so(run):
    finished = run(FUNCTIONS[1:], "--runs", "1", schema_version=3)
    assert finished.status == 2
    assert "none of its 1 selected functions has a test yet" in finished.error["message"]


def test_before_version_3_a_function_has_a_test(run):
    finished = run(FUNCTIONS, "--runs", "1", schema_version=2)
    assert "$.functions[1].tests: no tests, expected at least one before version 3" in finished.error["message"]
