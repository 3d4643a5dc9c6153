"""A function that is broken on purpose: who notices, and where breaking it changes nothing."""

from __future__ import annotations

import json
import random

import pytest

from runners.core.mutants.fine import DRAWS
from runners.core.mutants.mutant import Mutant
from runners.core.mutants.names import COARSE, FINE
from runners.fake import adapter, library
from runners.fake.library import Tensor
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


def outcomes(run, mutant, *tests, function="fake.scale"):
    """By test id; skipped where the mutant changes nothing."""
    finished = run([{"function": function, "tests": list(tests)}], "--runs", "1", "--mutant", mutant)
    found = {test["id"]: "skipped" for test in tests}
    for path in finished.out.glob("*.json"):
        document = json.loads(path.read_text())
        assert document["protocol"]["mutant"] in (None, mutant)
        if document["protocol"]["mutant"]:
            found.update((result["test"], result["outcome"]) for result in document["results"])
        else:
            assert {result["outcome"] for result in document["results"]} == {"passed"}
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
        ("last-element", product([1.0, 2.0], "float64"), "failed"),
        ("last-element", product([1.0, 1.0], "float64"), "skipped"),
        ("infinity-lost", product(["inf", 1.0], "float32"), "failed"),
        ("infinity-lost", product([2.0, 1.0], "float32"), "skipped"),
        ("overflow-early", product([1e30, 1.0], "float32"), "failed"),
        ("overflow-early", product([1e30, 1.0], "float64"), "skipped"),
        ("negative-lost", product([-1.0, 1.0], "float64"), "failed"),
        ("negative-lost", product([2.0, 1.0], "float64"), "skipped"),
        ("bfloat16-inside", product([0.1, 0.2], "float32"), "failed"),
        ("bfloat16-inside", product([0.1, 0.2], "float64"), "skipped"),
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


def draws(count=400):
    return Tensor([1.0] * count)


def test_mutants_of_draws_change_them_and_leave_other_outputs():
    values = library.noise(draws()).values
    for name in DRAWS:
        mutant = Mutant(name, "fake", adapter, "cpu")
        assert mutant.of(library.scale)(Tensor(values), 1.0).values == values and not mutant.differs, name
        mutant.of(library.noise)(draws())
        # Even draws have no tails.
        assert mutant.differs == (name != "tails-clipped"), name
    random.seed(1)
    repeated = Mutant("period-short", "fake", adapter, "cpu").of(library.noise)(draws()).values
    assert repeated[:200] == repeated[200:] and len(set(repeated)) == 200


def test_a_seed_is_ignored_and_draws_are_repeated():
    ignoring, repeating = Mutant("seed-ignored", "fake", adapter), Mutant("draws-repeated", "fake", adapter)
    drawn = []
    for mutant in (ignoring, repeating):
        noise = mutant.of(library.noise)
        for _ in range(2):
            random.seed(5)
            drawn.append(noise(draws(3)).values)
    assert drawn[0] != drawn[1] and ignoring.differs
    assert drawn[2] == drawn[3] and repeating.differs
    once = Mutant("draws-repeated", "fake", adapter)
    once.of(library.noise)(draws(3))
    assert not once.differs, "one call alone repeats nothing"


def test_a_second_output_is_stale_if_it_should_be_another():
    mutant = Mutant("second-stale", "fake", adapter)
    double = mutant.of(lambda x: 2 * x)
    assert (double(1), double(1), mutant.differs) == (2, 2, False)
    assert (double(3), mutant.differs) == (2, True)


def test_what_a_call_writes_is_lost():
    mutant = Mutant("state-lost", "fake", adapter)
    tensor = Tensor([1.0, 2.0])
    mutant.of(library.scale_and_overwrite)(tensor, 3.0)
    assert (tensor.values, mutant.differs) == ([1.0, 2.0], True)


def test_the_second_keyword_that_matters_is_ignored():
    mutant = Mutant("keyword-2-ignored", "fake", adapter)
    add = mutant.of(lambda x, y=0, z=0, unused=0: x + y + z)
    assert (add(1, y=2, unused=3), mutant.differs) == (3, False)
    assert (add(1, y=2, unused=3, z=5), mutant.differs) == (3, True)


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


@pytest.mark.parametrize("name", [name for name in COARSE if name not in ("nothing", "first-argument")])
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


def test_other_objects_are_compared_by_their_own_equality():
    mutant = Mutant("keyword-ignored", "fake", adapter)
    found = mutant.of(lambda unused=0: frozenset([1]))(unused=3)
    assert (found, mutant.differs) == (frozenset([1]), False)


def test_a_keyword_does_not_matter_if_the_outputs_cannot_be_compared():
    class Opaque:
        pass

    mutant = Mutant("keyword-ignored", "fake", adapter)
    make = mutant.of(lambda unused=0, value=0: {"made": [Opaque(), value]})
    assert (make(unused=3)["made"][1], mutant.differs) == (0, False)
    assert (make(unused=3, value=4)["made"][1], mutant.differs) == (0, True)
