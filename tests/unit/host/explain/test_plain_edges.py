"""A plain program writes out the edge values that the runner gives a test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from portbench.explain.plain import plain_program
from runners.core.testing.arrays import edges


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "complex64", "int8", "uint64", "bool"])
@pytest.mark.parametrize("form", ["row", "column", "square"])
@pytest.mark.parametrize("subnormal", [False, True])
def test_the_array_is_the_runners(dtype: str, form: str, subnormal: bool) -> None:
    values = {"edges": form, **({"subnormal": True} if subnormal else {})}
    test = {"id": "edges", "case": "call", "args": [{"tensor": {"dtype": dtype, "values": values}}]}
    test["expect"] = {"numpy": "asarray", "dtype": dtype}
    manifest = {"framework": "torch", "functions": [{"function": "torch.clone", "tests": [test]}]}
    (line,) = [line for line in plain_program(manifest, "cpu").splitlines() if line.startswith("array0 = ")]
    made: dict[str, Any] = {"np": np}
    exec(line, made)
    expected = edges(dtype, form, subnormal)
    assert made["array0"].dtype == expected.dtype
    np.testing.assert_array_equal(made["array0"], expected)
    np.testing.assert_array_equal(np.signbit(made["array0"].real), np.signbit(expected.real))


def test_words_for_numbers_in_an_expected_list_are_numbers() -> None:
    test = {"id": "logs", "case": "call", "args": [{"tensor": {"dtype": "float64", "values": [1, 0]}}]}
    test["expect"] = {"value": [0, "-inf"], "dtype": "float64"}
    manifest = {"framework": "torch", "functions": [{"function": "torch.log", "tests": [test]}]}
    assert "check(output, [0, float('-inf')])" in plain_program(manifest, "cpu")
