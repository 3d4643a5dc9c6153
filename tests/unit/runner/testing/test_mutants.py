"""A function that is broken on purpose: who notices, and where breaking it changes nothing."""

from __future__ import annotations

import pytest

from runners.core.testing.mutants import ALTERATIONS, COARSE, FINE, Mutant
from runners.fake import adapter
from tests.unit.runner.runner_cli import ROOT

FAULTS = ROOT / "manifests" / "faults" / "fake.json"

TENSOR = {"tensor": {"values": [1.0, 2.0, 4.0], "dtype": "float64"}}
GOOD = {"id": "good", "case": "call", "args": [TENSOR, 3.0], "expect": {"numpy": "multiply", "dtype": "float64"}}
BY_ONE = {"id": "by-one", "case": "call", "args": [TENSOR, 1.0], "expect": {"numpy": "multiply", "dtype": "float64"}}
ZEROS = {
    "id": "zeros",
    "case": "call",
    "args": [{"tensor": {"values": [0.0, 0.0], "dtype": "float64"}}, 3.0],
    "expect": {"value": [0.0, 0.0], "dtype": "float64"},
}
BLIND = {"id": "blind", "case": "call", "args": [TENSOR, 3.0], "expect": {"value": 12.0, "output": [2]}}


def outcomes(run, mutant, *tests):
    """By test id."""
    finished = run([{"function": "fake.scale", "tests": list(tests)}], "--runs", "1", "--mutant", mutant)
    assert finished.document["protocol"]["mutant"] == mutant
    found = {test: result["outcome"] for test, result in finished.results.items()}
    for path in finished.out.glob("*.json"):
        path.unlink()
    return found


@pytest.mark.parametrize("mutant", COARSE)
def test_a_good_test_notices_every_mutant(run, mutant):
    assert outcomes(run, mutant, GOOD) == {"good": "failed"}


def product(values, dtype, **more):
    tensor = {"tensor": {"values": values, "dtype": dtype}}
    return {"id": "t", "case": "call", "args": [tensor, 3.0], "expect": {"numpy": "multiply"}, **more}


LOOSE = {"tolerance": {"rtol": 0.1, "atol": 0, "reason": "to miss it"}}
SIGNED = {"numpy": "multiply", "zeros": "signed"}
NINE = [0.5, 0.25, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
REFUSED = {"id": "t", "case": "call", "args": [{"tensor": {"values": [1.0], "dtype": "float64"}}, [1]]}


@pytest.mark.parametrize(
    ("mutant", "test", "outcome"),
    [
        ("float32", product([0.1, 0.2], "float64"), "failed"),
        ("float32", product([0.1, 0.2], "float64", **LOOSE), "passed"),
        ("float32", product([0.1, 0.2], "float32"), "skipped"),
        ("bfloat16", product([0.1, 0.2], "float32"), "failed"),
        ("bfloat16", product([0.5, 0.25], "float32"), "skipped"),
        ("tile-end", product(NINE, "float32"), "failed"),
        ("tile-end", product(NINE[:8], "float32"), "skipped"),
        ("nan-swallowed", product(["nan", 1.0], "float32"), "failed"),
        ("nan-swallowed", product([2.0, 1.0], "float32"), "skipped"),
        ("zero-sign", product([0.0, 1.0], "float64"), "passed"),
        ("zero-sign", {**product([0.0, 1.0], "float64"), "expect": SIGNED}, "failed"),
        ("zero-sign", product([2.0, 1.0], "float64"), "skipped"),
        ("second-call", product([1.0, 2.0], "float32"), "failed"),
        ("second-call", product([0.0, 0.0], "float32"), "skipped"),
        ("overwritten", product([1.0, 2.0], "float32"), "failed"),
        ("overwritten", product([1.0, 2.0], "float32", writes=[0]), "passed"),
        ("accepted", {**REFUSED, "expect": {"raises": {"class": "TypeError", "message": "can't"}}}, "failed"),
        ("accepted", product([1.0, 2.0], "float32"), "skipped"),
    ],
)
def test_a_fine_mutant_is_noticed_where_it_changes_something(run, mutant, test, outcome):
    assert outcomes(run, mutant, test) == {"t": outcome}


def test_a_keyword_argument_is_ignored_if_that_changes_the_output():
    mutant = Mutant("keyword-ignored", "fake", adapter)
    add = mutant.of(lambda x, y=0, unused=0: x + y)
    assert (add(1, unused=3), mutant.differs) == (1, False)
    assert (add(1, unused=3, y=2), mutant.differs) == (1, True)


@pytest.mark.parametrize("name", FINE)
def test_a_fine_mutant_leaves_opaque_objects_alone(name):
    thing = object()
    assert mutated(name, lambda: thing) == (thing, False)


def test_a_mutant_that_changes_nothing_is_skipped(run):
    for mutant in ("scaled", "shifted", "zeroed"):
        assert outcomes(run, mutant, ZEROS) == {"zeros": "skipped"}
    assert outcomes(run, "first-argument", BY_ONE, GOOD) == {"by-one": "skipped", "good": "failed"}


def test_a_blind_test_lets_a_mutant_pass(run):
    assert outcomes(run, "wrong-dtype", BLIND) == {"blind": "passed"}


def test_a_skipped_test_stays_skipped(run):
    finished = run(
        [{"function": "fake.identity", "tests": [{"id": "s", "case": "fake.behaviours:skips"}]}],
        "--mutant",
        "nothing",
        "--runs",
        "1",
    )
    assert finished.results["s"]["outcome"] == "skipped"


def mutated(name, function, *args):
    mutant = Mutant(name, "fake", adapter)
    return mutant.of(function)(*args), mutant.differs


def test_plain_values_are_altered_too():
    assert mutated("scaled", lambda: (True, 3, [1.5])) == ((False, 6, [3.0]), True)
    assert mutated("zeroed", lambda: {"a": "text", "b": 0}) == ({"a": "", "b": 0}, True)
    assert mutated("shifted", lambda: (1, 2, 3)) == ((3, 1, 2), True)
    assert mutated("wrong-dtype", lambda: 3) == ("3", True)
    assert mutated("wrong-shape", lambda: 3) == ([3], True)
    assert mutated("scaled", lambda: 0) == (0, False)
    assert mutated("nothing", lambda: 3) == (None, True)
    assert mutated("first-argument", lambda x: x + 1, 2) == (2, True)
    assert mutated("first-argument", lambda: 3) == (3, False)


def test_a_function_that_is_returned_is_broken_when_it_is_called():
    mutant = Mutant("scaled", "fake", adapter)
    inner = mutant.of(lambda: lambda x: x + 1)()
    assert not mutant.differs
    assert inner(1) == 4
    assert mutant.differs


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_opaque_object_stays_as_it_is(name):
    thing = object()
    assert mutated(name, lambda: thing) == (thing, False)


def test_the_order_of_a_shuffle_is_that_of_its_seed(run, tmp_path):
    def order(*options):
        finished = run(FAULTS, "--function", "fake.scale", "--runs", "2", *options)
        document = finished.document
        for path in finished.out.glob("*.json"):
            path.unlink()
        return document["protocol"]["shuffle"], [(r["run"], r["test"]) for r in document["results"]]

    assert order()[0] is None
    first, again, other = order("--shuffle", "1"), order("--shuffle", "1"), order("--shuffle", "5")
    assert first == again
    assert sorted(first[1]) == sorted(other[1]) == sorted(order()[1])
    assert len({tuple(found[1]) for found in (first, other, order())}) > 1
