"""Inputs of recorded calls: made from a dtype, a shape and facts."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy")

import numpy as np

from runners.core.testing import arrays


def made(shape, dtype="float32", **facts):
    array = arrays.random(shape, dtype, facts.get("seed", 0), facts.get("low"), facts.get("high"))
    return arrays.with_facts(array, facts)


@pytest.mark.parametrize("dtype", ["key<fry>", "key<rbg>"])
def test_typed_keys_are_made_from_seeds(dtype):
    seeds = arrays.random((2, 3), dtype, seed=5)
    assert seeds.dtype == np.uint32 and seeds.shape == (2, 3)
    assert (seeds == arrays.random((2, 3), dtype, seed=5)).all()


@pytest.mark.parametrize(
    ("like", "holds"),
    [
        ("one_hot", lambda array: set(np.unique(array)) == {0, 1} and (array.sum(-1) == 1).all()),
        ("sorted", lambda array: (np.diff(array) >= 0).all()),
        ("symmetric", lambda array: (array == array.T).all()),
        ("positive_definite", lambda array: (np.linalg.eigvalsh(array) > 0).all()),
        ("distribution", lambda array: np.allclose(array.sum(-1), 1, atol=1e-5) and (array > 0).all()),
    ],
)
def test_values_are_like_the_recorded_ones(like, holds):
    assert holds(made((6, 6), low=-1.0, high=1.0, like=like, seed=3))


def test_whole_numbers_zeros_and_special_values():
    assert (made((50,), low=0.0, high=9.0, integers=True) % 1 == 0).all()
    assert 0.3 < (made((1000,), zeros=0.5) == 0).mean() < 0.7
    special = made((10,), special=["nan", "-inf"])
    assert np.isnan(special).sum() == 1 and np.isneginf(special).sum() == 1


def test_only_a_named_tuple_is_made_by_its_class(run):
    """A manifest must not create whatever a framework has."""
    argument = {"instance": {"class": "fake.Tensor", "kwargs": {"values": [1.0]}}}
    test = {"id": "t", "case": "replay", "args": [argument]}
    (result,) = run([{"function": "fake.identity", "tests": [test]}], "--runs", "1").document["results"]
    assert result["outcome"] == "error"
    assert "fake.Tensor is no named tuple" in result["error"]["message"]
