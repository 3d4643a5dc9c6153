"""A plain program writes out the edge values that the runner gives a test, and compares as the runner does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from portbench.explain.plain import plain_program
from runners.core.testing.arrays import carrier, edges, nearest


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


def checks(found: Any, expected: Any, reference: str, dtype: str, **more: Any) -> bool:
    """Whether the program of a test with a reference of NumPy accepts an output."""
    tensor = {"tensor": {"dtype": dtype, "values": [1.0]}}
    test = {"id": "t", "case": "call", "args": [tensor], "expect": {"numpy": reference, "dtype": dtype}, **more}
    manifest = {"framework": "torch", "functions": [{"function": "torch.clone", "tests": [test]}]}
    program = plain_program(manifest, "cpu")
    made: dict[str, Any] = {"np": np, "to_numpy": np.asarray}
    exec(program[program.index("def check") : program.index("\ncheck(output")], made)
    try:
        made["check"](found, expected)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_values_that_a_reference_moves_are_rounded_once(dtype: str) -> None:
    expected = np.random.RandomState(1).uniform(1, 2, 200)
    rounded = nearest(expected, dtype).astype(carrier(dtype))
    digits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[dtype]
    other = rounded + rounded.dtype.type(2.0**-digits)
    assert checks(rounded, expected, "concatenate", dtype)
    assert not checks(other, expected, "concatenate", dtype)
    assert checks(other, expected, "concatenate", dtype, tolerance={"rtol": 0.02, "atol": 0, "reason": "to show it"})
    # Half types are allowed one such step, and the expected values are not rounded.
    assert checks(other, expected if digits > 10 else rounded, "add", dtype)


def test_zeros_that_a_reference_moves_keep_their_signs() -> None:
    zeros = np.array([0.0, -0.0], np.float32)
    assert checks(zeros, [0.0, -0.0], "concatenate", "float32")
    assert not checks(zeros, [0.0, 0.0], "concatenate", "float32")
    assert checks(zeros, [0.0, 0.0], "max", "float32")
