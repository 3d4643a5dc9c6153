"""The host derives the same categories as the runner from the same rules."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portbench.errors import BadInput
from portbench.study.categories import Error, Rules, read_rules
from tests.paths import ROOT

FRAMEWORKS = ("torch", "tensorflow", "jax", "fake")
RULES = read_rules(ROOT / "runners", FRAMEWORKS)
STATED = [
    (home, entry)
    for home in (*FRAMEWORKS, "core")
    for entry in json.loads((ROOT / "runners" / home / "failure_rules.json").read_text("utf-8"))["rules"]
]
MESSAGES = [
    entry
    for name in ("failure_messages.json", "failure_messages_2023.json")
    for entry in json.loads((ROOT / "tests" / "unit" / name).read_text("utf-8"))["messages"]
]

Write = Callable[[str, Any], Path]

TYPES = [*{entry["example"]["type"] for _, entry in STATED}, "AssertionError", "RuntimeError", "ValueError"]
TYPES += [kind.rpartition(".")[2] for kind in TYPES] + ["builtins.AssertionError"]
SAID = [*(entry["example"]["message"] for _, entry in STATED), *(entry["message"] or "" for entry in MESSAGES)]
SAID += ["wrong value: 1 of 2 values differ", "imprecise: 1 of 2 values differ", ""]

# A message as it is, cut short, or with something before and behind it.
messages = st.builds(
    lambda before, said, end, after: before + said[:end] + after,
    st.sampled_from(["", "\n", "a wrapper: ", "\u00e9"]) | st.text(max_size=5),
    st.sampled_from(SAID),
    st.integers(0, 300),
    st.sampled_from(["", "\n[Op:Svd]", " dtype"]) | st.text(max_size=5),
)
facts = st.tuples(st.sampled_from(sorted(TYPES)), messages)


@pytest.fixture(scope="module")
def runner() -> Any:
    """The runner's own derivation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        return importlib.import_module("runners.core.failure")


def both(
    runner: Any, framework: str, outcome: str, chain: list[tuple[str, str]], oom: bool, value_verdict: str | None
) -> Any:
    """The category by the host and by the runner."""
    (kind, message), *causes = chain
    stored = {"type": kind, "message": message, "causes": [{"type": of, "message": said} for of, said in causes]}
    by_host = RULES.category(framework, outcome, Error(kind, message, tuple(causes)), oom, value_verdict)
    return by_host, runner.category(framework, outcome, stored, oom, value_verdict)


@settings(max_examples=500, deadline=None)
@given(
    framework=st.sampled_from(FRAMEWORKS),
    outcome=st.sampled_from(["failed", "failed", "failed", "passed", "skipped", "timed_out", "crashed"]),
    chain=st.lists(facts, min_size=1, max_size=3),
    oom=st.booleans(),
    value_verdict=st.sampled_from([None, None, "equal", "imprecise", "wrong", "random"]),
)
def test_host_and_runner_agree_on_any_facts(
    runner: Any, framework: str, outcome: str, chain: list[tuple[str, str]], oom: bool, value_verdict: str | None
) -> None:
    by_host, by_runner = both(runner, framework, outcome, chain, oom, value_verdict)
    assert by_host == by_runner


def test_host_and_runner_agree_on_every_example_and_it_matches_its_rule(runner: Any) -> None:
    for home, entry in STATED:
        for framework in FRAMEWORKS if home == "core" else (home,):
            example = (entry["example"]["type"], entry["example"]["message"])
            assert both(runner, framework, "failed", [example], False, None) == (entry["category"],) * 2


def test_an_error_type_may_lack_its_module(runner: Any) -> None:
    for home, entry in STATED:
        kind, message = entry["example"]["type"], entry["example"]["message"]
        if kind.startswith("runners."):
            continue  # no other software raises these
        for written in (kind.rpartition(".")[2], kind if "." in kind else f"builtins.{kind}"):
            for framework in FRAMEWORKS if home == "core" else (home,):
                found = both(runner, framework, "failed", [(written, message)], False, None)
                assert found == (entry["category"],) * 2, written


def tensors(absolute: str, relative: str) -> str:
    """What torch.testing says about tensors with these greatest differences."""
    return (
        "Tensor-likes are not close!\n\nMismatched elements: 2 / 9 (22.2%)\n"
        f"Greatest absolute difference: {absolute} at index (1,) (up to 1e-05 allowed)\n"
        f"Greatest relative difference: {relative} at index (1,) (up to 1.3e-06 allowed)"
    )


def arrays(rest: str) -> str:
    """What numpy.testing and tf.test say."""
    return f"\nNot equal to tolerance rtol=1e-06, atol=0\nMismatched elements: 2 / 9 (22.2%)\n{rest}"


UNEQUAL = "\nArrays are not equal\n\nMax absolute difference: 1\nMax relative difference: 0.001"


@pytest.mark.parametrize(
    ("message", "category"),
    [
        (tensors("3.1", "0.001"), "precision"),
        (tensors("0.001", "0.25"), "precision"),
        (tensors("2e-07", "inf"), "precision"),
        (tensors("0.001", "1.5"), "other"),
        (tensors("12345.1", "1.0"), "other"),
        (tensors("nan", "nan"), "other"),
        ("Tensor-likes are not close!\n\nMismatched elements: 2 / 9 (22.2%)", "other"),
        ("Scalars are not equal!\n\nAbsolute difference: 1\nRelative difference: 0.001", "other"),
        (UNEQUAL, "other"),
        (UNEQUAL.replace(" 1\n", " 1.0\n"), "precision"),
        (arrays("Max absolute difference: 0.5\nMax relative difference: 0.0001\n x: array([1.])"), "precision"),
        (arrays("Max absolute difference among violations: 5.\nMax relative difference among violations: 2."), "other"),
        (arrays("x and y nan location mismatch:\n x: array([1., 2.])\n y: array([1., nan])"), "other"),
        (arrays("not close lhs = [100. 0.25]\nnot close rhs = [101. 0.5]\nnot close dif = [1. 0.25]"), "precision"),
        (arrays("not close lhs = [1. 1.2]\nnot close rhs = [1. 1.4]\nnot close dif = [0. 0.2]"), "other"),
        (arrays("not close lhs = [1.5 1.2]\nnot close rhs = [1.501 1."), "precision"),
        (arrays("not close lhs = [1.5 1.2 1.3"), "other"),
        (arrays("not close lhs = [1.5]\nnot close rhs = [nan]\nnot close dif = [nan]"), "other"),
        ("assert 1.001 == 1.0 ± 1.0e-06\n  \n  comparison failed\n", "precision"),
        ("assert 3.0 == 1.0 ± 1.0e-06\n  \n  comparison failed\n", "other"),
        ("1.001 != 1.0 within 7 places (0.0009999999999998899 difference)", "precision"),
        ("7.0 != 1.0 within 7 places (6.0 difference)", "other"),
    ],
)
def test_the_size_of_the_difference_decides_between_precision_and_other(
    message: str, category: str, runner: Any
) -> None:
    for framework in FRAMEWORKS:
        assert both(runner, framework, "failed", [("AssertionError", message)], False, None) == (category,) * 2


@pytest.mark.parametrize(
    ("numerical", "analytical", "category"),
    [("1.2879", "1.2896", "precision"), ("0.", "-0.5171", "other"), ("nan", "-1143061.5447", "other")],
)
def test_the_two_derivatives_decide_about_a_failed_gradient_check(
    numerical: str, analytical: str, category: str, runner: Any
) -> None:
    message = (
        f"Jacobian mismatch for output 0 with respect to input 0,\nnumerical:tensor({numerical}, device='xla:1')\n"
        f"analytical:tensor({analytical}, device='xla:1')\n"
    )
    for kind in ("GradcheckError", "torch.autograd.gradcheck.GradcheckError"):
        assert both(runner, "torch", "failed", [(kind, message)], False, None) == (category,) * 2


def test_nearly_all_real_messages_get_the_expected_category() -> None:
    missed = []
    for entry in MESSAGES:
        causes = tuple((cause["type"], cause["message"]) for cause in entry.get("causes", ()))
        error = entry["type"] and Error(entry["type"], entry["message"], causes)
        facts = (
            entry.get("outcome", "failed"),
            error or None,
            entry.get("oom_killed", False),
            entry.get("value_verdict"),
        )
        if RULES.category(entry["framework"], *facts) != entry["category"]:
            missed.append(entry)
    assert len(missed) <= 0.05 * len(MESSAGES), missed


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_message_without_a_matching_rule_is_other(framework: str) -> None:
    assert RULES.category(framework, "failed", Error("RuntimeError", "something nobody has seen")) == "other"


def rules_of(write: Write, *entries: Any) -> Rules:
    """The rules of fake with these entries, without those of core."""
    write("rules/core/failure_rules.json", {"rules": []})
    return read_rules(write("rules/fake/failure_rules.json", {"rules": list(entries)}).parents[1], ["fake"])


def test_the_first_rule_that_matches_wins(write: Write) -> None:
    rules = rules_of(write, {"category": "memory", "message": "full"}, {"category": "type"})
    assert rules.category("fake", "failed", Error("E", "it is FULL")) == "memory"
    assert rules.category("fake", "failed", Error("E", "it is empty")) == "type"


def test_other_rules_have_another_digest(write: Write) -> None:
    one, other = rules_of(write, {"category": "memory"}), rules_of(write, {"category": "type"})
    assert one.sha256 != other.sha256
    assert one.sha256 == rules_of(write, {"category": "memory", "example": {}}).sha256
    narrow, wide = (
        rules_of(write, {"category": "memory", "at_most": {"(?P<difference>1)": limit}}) for limit in (1, 2)
    )
    assert len({one.sha256, narrow.sha256, wide.sha256}) == 3


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"rules": [{"category": "unavailable"}]}, "$.rules[0].category"),
        ({"rules": [{"category": "type"}, {"category": "type", "message": "("}]}, "$.rules[1].message"),
        ({"rules": [{"category": "type", "exception": 3}]}, "$.rules[0].exception"),
        ({"rules": ["type"]}, "$.rules[0]"),
        ({"rules": [{"category": "type", "at_most": 1}]}, "$.rules[0].at_most"),
        ({"rules": [{"category": "type", "at_most": {"(?P<difference>x": 1}}]}, "$.rules[0].at_most"),
        ({"rules": [{"category": "type", "at_most": {"difference": 1}}]}, "$.rules[0].at_most"),
        ({"rules": [{"category": "type", "at_most": {"(?P<found>x)": 1}}]}, "$.rules[0].at_most"),
        ({"rules": [{"category": "type", "at_most": {"(?P<difference>x)": "1"}}]}, "$.rules[0].at_most"),
        ({}, "$.rules"),
        ([], "$.rules"),
        ("{", "not JSON"),
    ],
)
def test_a_bad_rule_file_is_refused_with_its_place(content: Any, said: str, write: Write) -> None:
    write("rules/core/failure_rules.json", {"rules": []})
    path = write("rules/fake/failure_rules.json", content)
    with pytest.raises(BadInput) as caught:
        read_rules(path.parents[1], ["fake"])
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert caught.value.remedy
