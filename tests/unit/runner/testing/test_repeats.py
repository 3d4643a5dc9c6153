"""A function must give the same when it is called again, and must not write to its arguments."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy")

import numpy as np

from runners.core.testing.repeats import Leaf, Unstable, check_kept, check_same

TENSOR = {"tensor": {"values": [1.0, 2.0, 4.0], "dtype": "float64"}}
SCALED = {"numpy": "multiply"}


def result_of(run, function, expect=SCALED, args=(TENSOR, 3.0), protocol="cold", **more):
    test = {"id": "t", "case": "call", "args": list(args), "expect": expect, **more}
    finished = run([{"function": function, "tests": [test]}], "--runs", "1", "--protocol", protocol)
    return finished.results["t"]


@pytest.mark.parametrize("protocol", ["cold", "both"])
def test_a_function_that_is_right_only_at_its_first_call_is_unstable(run, protocol):
    result = result_of(run, "fake.scale_once", protocol=protocol)
    assert (result["outcome"], result["category"], result["phase"]) == ("failed", "unstable", "compare")
    assert "unstable: the later calls agree, and differ from the first: at [0]" in result["error"]["message"]


RANDOM = {"tensor": {"shape": [3], "dtype": "float64", "seed": 1}}


@pytest.mark.parametrize("protocol", ["cold", "both"])
def test_a_function_that_remembers_the_values_of_its_first_call_is_unstable(run, protocol):
    result = result_of(run, "fake.scale_by_memory", args=(RANDOM, 3.0), protocol=protocol)
    assert (result["outcome"], result["category"]) == ("failed", "unstable")
    assert "right with the first values of the inputs, not with others: wrong value" in result["error"]["message"]
    assert len(result["calls"]) == 1, "the call with other values is not timed"


def test_later_passes_do_not_try_other_values_again(run):
    test = {"id": "t", "case": "fake.behaviours:prints_its_inputs"}
    results = run([{"function": "fake.identity", "tests": [test]}], "--runs", "3").document["results"]
    printed = [result["output"]["text"].split() for result in results]
    assert [len(numbers) for numbers in printed] == [2, 1, 1]
    assert printed[0][0] != printed[0][1]
    assert printed[1] == printed[2] == printed[0][:1]


def test_what_was_unstable_in_the_first_pass_is_looked_for_in_the_others(run):
    test = {"id": "t", "case": "call", "args": [RANDOM, 3.0], "expect": SCALED}
    results = run([{"function": "fake.scale_by_memory", "tests": [test]}], "--runs", "3").document["results"]
    assert [result["category"] for result in results] == ["unstable"] * 3


def test_a_call_with_other_values_that_is_only_imprecise_is_a_matter_of_precision(run):
    result = result_of(run, "fake.scale_first_well", args=(RANDOM, 3.0))
    assert (result["outcome"], result["category"]) == ("failed", "precision")
    assert "with other values of the inputs than at the first call" in result["error"]["message"]


def test_an_output_that_a_later_call_replaces_is_noticed(run):
    result = result_of(run, "fake.scale_into_buffer", args=(RANDOM, 3.0))
    assert (result["outcome"], result["category"]) == ("failed", "unstable")
    assert "a later call changed the output of this one: at [0]" in result["error"]["message"]


@pytest.mark.parametrize("later", [1, 3])
def test_an_output_that_grows_or_shrinks_is_noticed(later):
    values = [Leaf("int64", np.array(number)) for number in range(3)]
    check_kept(values[:2], values[:2])
    with pytest.raises(Unstable, match=f"a later call changed the output of this one: 2 values became {later}"):
        check_kept(values[:2], values[:later])


def test_values_that_the_manifest_gives_are_the_only_ones(run):
    assert result_of(run, "fake.scale_by_memory")["outcome"] == "passed"


def test_a_function_that_overwrites_its_argument_is_unstable(run):
    result = result_of(run, "fake.scale_and_overwrite")
    assert (result["outcome"], result["category"]) == ("failed", "unstable")
    assert "overwritten: the call changed its argument 0" in result["error"]["message"]


def test_an_argument_that_the_function_may_write_to_can_change(run):
    result = result_of(run, "fake.scale_and_overwrite", writes=[0])
    assert "overwritten" not in str(result["error"])


def test_a_random_function_is_called_again_with_the_same_seed(run):
    result = result_of(
        run,
        "fake.noise",
        {"value": [0.5, 0.5, 0.5]},
        [TENSOR],
        tolerance={"rtol": 0, "atol": 0.5, "reason": "uniform in [0, 1)"},
    )
    assert result["outcome"] == "passed"


def test_the_last_digit_of_a_function_that_is_not_deterministic_may_differ(run):
    assert result_of(run, "fake.scale_unevenly")["outcome"] == "passed"


def calls(*outputs):
    given = iter([*outputs])
    return lambda: [Leaf("float32", np.array(next(given), "float32"))]


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (([-0.0, 1.0],) * 3, "the sign of a zero"),
        (([0.0, 1.0000001],) * 3, "the later calls agree"),
        (([0.0, 2.0], [0.0, 3.0], [0.0, 4.0]), "the second call differs from the first"),
        (([0.0, 1.0, 2.0],) * 3, "became float32\\[3\\]"),
    ],
)
def test_what_differs_is_said(later, message):
    with pytest.raises(Unstable, match=message):
        check_same(calls([0.0, 1.0])(), calls(*later))


def test_an_error_at_a_later_call_is_unstable():
    with pytest.raises(Unstable, match="a later call raised StopIteration"):
        check_same(calls([1.0])(), calls())


def test_equal_calls_pass_and_nan_equals_itself():
    check_same(calls([np.nan, -0.0])(), calls([np.nan, -0.0]))
