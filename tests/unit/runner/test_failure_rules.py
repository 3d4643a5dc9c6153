"""Categories are derived from stored facts by ordered rules; each rule is hit by its own example."""

from __future__ import annotations

import json

import pytest

from runners.core import failure
from tests.unit.runner.runner_cli import ROOT

FRAMEWORKS = ("torch", "tensorflow", "jax", "fake")


def entries():
    for home in (*FRAMEWORKS, "core"):
        path = ROOT / "runners" / home / "failure_rules.json"
        for number, entry in enumerate(json.loads(path.read_text("utf-8"))["rules"]):
            for framework in FRAMEWORKS if home == "core" else (home,):
                yield pytest.param(framework, entry, id=f"{home}-{number}-{framework}")


@pytest.mark.parametrize(("framework", "entry"), entries())
def test_each_rule_is_hit_by_its_example(framework, entry):
    assert set(entry) <= {"category", "exception", "message", "at_most", "example"}
    assert set(entry["example"]) == {"type", "message", "seen_in"}
    error = {"type": entry["example"]["type"], "message": entry["example"]["message"], "causes": []}
    assert failure.category(framework, "failed", error) == entry["category"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_message_of_no_rule_is_other(framework):
    error = {"type": "RuntimeError", "message": "index 7 is out of bounds for a list of 3", "causes": []}
    assert failure.category(framework, "failed", error) == "other"


def test_a_wrapper_is_judged_by_its_cause():
    error = {"type": "RuntimeError", "message": "a test failed", "causes": [{"type": "MemoryError", "message": ""}]}
    assert failure.category("fake", "failed", error) == "memory"


def test_a_chain_of_exceptions_is_kept_in_order():
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise ValueError("outer \udc80") from inner
    except ValueError as error:
        facts = failure.facts_of(error)
    assert facts["type"] == "ValueError"
    assert facts["message"] == "outer \\udc80"
    assert facts["causes"] == [{"type": "KeyError", "message": "'inner'"}]


def test_an_exception_whose_message_cannot_be_had():
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert "RuntimeError" in failure.facts_of(Silent())["message"]
    assert len(failure.facts_of(ValueError("x" * 100_000))["message"]) <= failure.MESSAGE_LIMIT
