"""What is tried in place of a function that a version lacks."""

from __future__ import annotations

TEST = {"id": "same", "case": "call", "args": [7], "expect": {"value": 7}}


def entry(name, *successors):
    return {"function": name, "tests": [TEST], **({"successors": list(successors)} if successors else {})}


def found(document):
    return [(r["function"], r["successor_of"], r["outcome"], r["category"]) for r in document["results"]]


def test_the_first_successor_that_is_there_runs_the_same_tests_under_its_own_name(run):
    document = run([entry("fake.gone", "fake.gone_too", "fake.identity", "fake.scale")], "--runs", "1").document
    assert found(document) == [
        ("fake.gone", None, "skipped", "removed"),
        ("fake.identity", "fake.gone", "passed", None),
    ]


def test_a_function_that_is_there_needs_no_successor(run):
    document = run([entry("fake.identity", "fake.scale")], "--runs", "1").document
    assert found(document) == [("fake.identity", None, "passed", None)]


def test_a_selection_selects_by_the_manifests_name(run):
    functions = [entry("fake.gone", "fake.scale"), entry("fake.identity")]
    assert found(run(functions, "--runs", "1", "--function", "fake.identity").document) == [
        ("fake.identity", None, "passed", None)
    ]


def test_a_successor_that_leads_out_of_the_framework_is_refused(run):
    finished = run([entry("fake.gone", "os.system"), entry("fake.identity")], "--runs", "1")
    assert (finished.status, "os.system" in finished.error["message"]) == (2, True)
