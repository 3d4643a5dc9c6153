"""Calls that must raise an error: by its class and by a word of its message."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("numpy")

TENSOR = {"tensor": {"values": [1.0, 2.0, 4.0], "dtype": "float64"}}


def result_of(run, function, raises, args, *options):
    test = {"id": "t", "case": "call", "args": args, "expect": {"raises": raises}}
    return run([{"function": function, "tests": [test]}], "--runs", "1", *options).results["t"]


@pytest.mark.parametrize("kind", ["NotImplementedError", "RuntimeError", ["ValueError", "NotImplementedError"]])
def test_a_call_that_raises_the_named_error_passes(run, kind):
    result = result_of(run, "fake.refuse", {"class": kind, "message": "Not Implemented for"}, [TENSOR])
    assert (result["outcome"], result["calls"]) == ("passed", [])


@pytest.mark.parametrize(
    ("function", "raises", "args", "message"),
    [
        ("fake.scale", {"class": "ValueError", "message": "axis"}, [TENSOR, 2.0], "got no error"),
        ("fake.refuse", {"class": "ValueError", "message": "not"}, [TENSOR], "expected ValueError, got NotImplemented"),
        ("fake.refuse", {"class": "RuntimeError", "message": "axis"}, [TENSOR], "expected 'axis' in the message"),
    ],
)
def test_no_error_and_another_error_fail(run, function, raises, args, message):
    result = result_of(run, function, raises, args)
    assert (result["outcome"], result["phase"], result["error"]["type"]) == (
        "failed",
        "compare",
        "runners.core.trial.Accepted",
    )
    assert message in result["error"]["message"]


def test_a_function_that_is_not_called_does_not_pass_as_refusing(run):
    expect = {"raises": {"class": "NotImplementedError", "message": "not"}}
    test = {"id": "t", "case": "call", "args": [TENSOR], "expect": expect}
    finished = run([{"function": "fake.refuse", "tests": [test]}], "--runs", "1", "--mutant", "nothing")
    outcomes = {}
    for file in finished.out.glob("*.json"):
        document = json.loads(file.read_text("utf-8"))
        outcomes[document["protocol"]["mutant"]] = document["results"][0]["outcome"]
    assert outcomes == {None: "passed", "nothing": "failed"}
