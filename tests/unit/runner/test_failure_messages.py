"""Real messages of the frameworks and their accelerators get the category that each should."""

from __future__ import annotations

import json

import pytest

from runners.core import failure
from tests.unit.runner.runner_cli import ROOT

WANTED_SHARE = 0.95
MESSAGES = json.loads((ROOT / "tests" / "unit" / "failure_messages.json").read_text("utf-8"))["messages"]


def derived(entry):
    error = None
    if entry["type"] is not None:
        error = {"type": entry["type"], "message": entry["message"], "causes": entry.get("causes", [])}
    outcome = entry.get("outcome", "failed")
    return failure.category(
        entry["framework"], outcome, error, entry.get("oom_killed", False), entry.get("value_verdict")
    )


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
def test_nearly_all_messages_get_the_expected_category(framework):
    own = [entry for entry in MESSAGES if entry["framework"] == framework]
    missed = [(derived(entry), entry) for entry in own if derived(entry) != entry["category"]]
    assert len(missed) <= (1 - WANTED_SHARE) * len(own), missed


def test_what_no_rule_speaks_of_is_never_guessed():
    # A miss is at worst a failure of which nothing is said.
    wrong = [entry for entry in MESSAGES if derived(entry) not in (entry["category"], "other")]
    assert wrong == []
