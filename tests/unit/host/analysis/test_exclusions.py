"""Excluded tests in a sentence."""

from __future__ import annotations

from portbench.analysis.exclusions import MOST_REASONS, Excluded, in_short


def test_each_reason_has_its_tests_and_functions_the_most_frequent_first() -> None:
    exclusions = [Excluded("a", "rare", 4), Excluded("b", "failed", 1), Excluded("a", "failed", 2)]
    assert in_short(exclusions) == "3 tests of 2 functions: failed; 4 tests of 1 function: rare"
    assert in_short([]) == ""


def test_reasons_of_single_tests_do_not_make_a_sentence_endless() -> None:
    frequent = [Excluded(f"function_{number}", "failed", 1) for number in range(20)]
    rare = [Excluded(f"function_{number % 7}", f"needs {number} devices", 3) for number in range(90)]
    *named, others = in_short([*rare, *frequent]).split("; ")
    assert named[0] == "20 tests of 20 functions: failed"
    assert len(named) == MOST_REASONS
    # 86 reasons of 3 tests, and all seven functions are among them.
    assert others == "258 tests of 7 functions: 86 other reasons"
