"""One case with combinations of its parameters, in one test. Needs NumPy, as every framework."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("numpy")

from runners.core.testing import combinations

TENSOR = {"tensor": {"values": [1.0, 2.0, 4.0], "dtype": "float32"}}
SCALED = {"args": [TENSOR, {"over": "factor"}], "expect": {"numpy": {"over": "reference"}}}


def result_of(run, **params):
    test = {"id": "t", "case": "fake.combined:combinations", "params": {"case": "call", "params": SCALED, **params}}
    (result,) = run([{"function": "fake.scale", "tests": [test]}], "--runs", "1").document["results"]
    return result


def test_few_parameters_are_combined_in_every_way():
    found = combinations.chosen({"axis": [0, 1, None], "keep": [False, True]})
    assert [tuple(choice.values()) for choice in found] == list(itertools.product([0, 1, None], [False, True]))


def test_many_parameters_are_combined_so_that_each_pair_of_values_occurs():
    over = {key: list(range(3)) for key in "abcdef"}
    found = combinations.chosen(over)
    pairs = {pair for choice in found for pair in itertools.combinations(choice.items(), 2)}
    assert len(pairs) == 15 * 9
    assert len(found) < 32
    assert found == combinations.chosen(over)


def test_what_does_not_go_together_is_left_out():
    over = {"axis": [0, 1], "where": [[1, 2], None], "keep": [False, True]}
    found = combinations.chosen(over, [{"axis": 1, "where": [1, 2]}, {"where": None, "keep": True}])
    assert found == [
        {"axis": 0, "where": [1, 2], "keep": False},
        {"axis": 0, "where": [1, 2], "keep": True},
        {"axis": 0, "where": None, "keep": False},
        {"axis": 1, "where": None, "keep": False},
    ]


def test_each_combination_is_called_and_none_has_a_steady_time(run):
    result = result_of(run, over={"factor": [2, 3], "reference": ["multiply"]})
    assert result["outcome"] == "passed"
    assert [call["steady"] for call in result["calls"]] == [None, None]


def test_a_wrong_combination_fails_and_is_named(run):
    result = result_of(run, over={"factor": [1, 3], "reference": ["multiply", "add"]}, without=[{"factor": 3}])
    assert (result["outcome"], result["phase"]) == ("failed", "compare")
    assert 'combination {"factor": 1, "reference": "add"}' in str(result)
