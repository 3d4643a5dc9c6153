"""Written calls: what entries and samples a table makes."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy")

import numpy as np

from runners.core.testing import written
from runners.core.testing.written import Calls

KNOWN = {"root.double": lambda x: 2 * x, "root.inner.twice": lambda x: 2 * x}


def table(call):
    call("root.double", None, written.values(3), expect=lambda x: 2 * x, gradient=True)
    call("root.double", lambda f, x: f(f(x)), written.values(2), expect=lambda x: 4 * x)
    call("root.double", None, 3, expect=6, variant="number")
    call("root.inner.twice", None, [written.values(2), 1], unique=abs)
    call("root.gone", None, 1)


@pytest.fixture
def calls():
    return Calls([table], lambda value: value, lambda leaf: ("marked", leaf), KNOWN.get)


def test_a_function_that_the_version_has_is_an_entry_for_each_variant(calls):
    entries = {each.name: each for each in calls.entries()}
    assert list(entries) == ["root.double", "root.double.number", "root.inner.twice"]
    number = entries["root.double.number"]
    assert (number.functions, number.variant, number.differentiable) == (["root.double"], "number", ())
    assert entries["root.double"].differentiable == ("float32",)


def test_the_expected_result_is_computed_in_float64_or_is_given(calls):
    first, second = calls.samples("root.double", False)
    assert first.args[0].dtype == "float32"
    assert first.reference().dtype == "float64"
    np.testing.assert_array_equal(first.reference(), 2 * first.args[0].astype("float64"))
    np.testing.assert_array_equal(
        second.body(KNOWN["root.double"], second.args[0]), second.reference().astype("float32")
    )
    (number,) = calls.samples("root.double.number", False)
    assert number.reference() == 6


def test_without_an_expectation_there_is_no_reference(calls):
    (sample,) = calls.samples("root.inner.twice", False)
    assert (sample.reference, sample.unique(-3)) == (None, 3)


def test_gradients_are_of_the_calls_that_ask_for_them(calls):
    (sample,) = calls.samples("root.double", True)
    assert sample.args[0][0] == "marked"


def test_an_unknown_entry_is_a_key_error(calls):
    with pytest.raises(KeyError):
        calls.samples("root.none", False)


def test_values_are_the_same_in_each_process():
    np.testing.assert_array_equal(written.values(2, 3, seed=1), written.values(2, 3, seed=1))
    assert (written.values(100, low=0.5) >= 0.5).all()


def test_names_that_the_framework_has_not_or_does_not_show_are_not_found():
    find = written.public("fake")
    assert find("fake.scale").__name__ == "scale"
    assert (find("fake.nothing"), find("fake._note")) == (None, None)
