"""What the recorder keeps of whole programs, without a framework."""

from __future__ import annotations

import json
import sys

import pytest

from tests.paths import ROOT

sys.path.append(str(ROOT / "runners" / "recorder"))

from portbench_recorder import programs, stablehlo
from portbench_recorder.manifests import write_manifests
from portbench_recorder.recording import Recording

MODULE = """module @jit_step {
  func.func public @main(%arg0: tensor<4xf32> {jax.arg_info = "params['secret \\"name\\"']", tf.aliasing_output = 0 : i32}) -> (tensor<4xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<[0.123, 4.56, 7.0, 8.0]> : tensor<4xf32>
    %cst_0 = stablehlo.constant dense<"0x6F12833A"> : tensor<1x4xi8>
    %cst_1 = stablehlo.constant dense_resource<__elided__> : tensor<64x8xf32>
    %cst_2 = stablehlo.constant dense<[(0.5,0.25), (0.5,1.0)]> : tensor<2xcomplex<f32>>
    %cst_3 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %cst_4 = stablehlo.constant dense<1.000000e-01> : tensor<f32> loc(#loc7)
    %0 = stablehlo.custom_call @x(%arg0) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32> loc("XLA_Retvals")
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc7 = loc("/home/me/train.py":12:0)
"""  # noqa: E501


def test_no_element_of_a_constant_and_no_name_of_an_argument_is_kept():
    text = stablehlo.without_data(MODULE)
    assert not [
        word for word in ("0.123", "6F12", "elided", "0.25", "true", "secret", "result_info", "loc") if word in text
    ]
    assert "{tf.aliasing_output = 0 : i32}" in text
    assert "dense<[1, 0]> : tensor<2xindex>" in text
    assert "%cst_4 = stablehlo.constant dense<1.000000e-01> : tensor<f32>" in text
    for zero in (
        "%portbench_cst = stablehlo.constant dense<0.0> : tensor<4xf32>",
        "%cst = stablehlo.optimization_barrier %portbench_cst : tensor<4xf32>",
        "%portbench_cst_0 = stablehlo.constant dense<0> : tensor<1x4xi8>",
        "%portbench_cst_2 = stablehlo.constant dense<(0.0,0.0)> : tensor<2xcomplex<f32>>",
        "%portbench_cst_3 = stablehlo.constant dense<false> : tensor<2xi1>",
    ):
        assert zero in text


def test_a_program_with_a_large_attribute_is_not_kept():
    with pytest.raises(KeyError, match="an attribute"):
        stablehlo.without_data("stablehlo.reduce {groups = dense_resource<__elided__> : tensor<99xi64>}")


@pytest.fixture
def recorded(tmp_path):
    """The manifest of programs given as (name, number of operations, content)."""

    def record(*given):
        recording = Recording(tmp_path)
        for name, operations, content in given:
            if recording.programs.wants("jax", operations):
                modules = {"cpu": {"stablehlo": recording.programs.store(content)}}
                recording.programs.add("jax", name, operations, modules, ["train.py:3"])
        recording.end()
        (path,) = write_manifests(tmp_path)
        return json.loads(path.read_text("utf-8"))

    return record


def test_programs_are_tests_of_a_function_of_their_own(recorded, tmp_path):
    manifest = recorded(("<lambda>", 2, b"a"), ("step", 9, b"b"), ("step", 9, b"b"))
    (entry,) = manifest["functions"]
    assert entry["function"] == "jax.jit"
    assert [test["id"].rpartition("-")[0] for test in entry["tests"]] == ["step", "lambda"]
    assert entry["tests"][0]["case"] == "program"
    assert entry["tests"][0]["sites"] == ["train.py:3"]
    assert sorted(path.read_bytes() for path in (tmp_path / "programs").iterdir()) == [b"a", b"b"]


@pytest.mark.parametrize("order", [1, -1])
def test_only_the_largest_are_kept(recorded, tmp_path, order):
    many = [(f"f{size}", size, b"%d" % size) for size in range(1, programs.MOST + 4)][::order]
    manifest = recorded(*many)
    assert [test["operations"] for test in manifest["functions"][0]["tests"]] == list(range(programs.MOST + 3, 3, -1))
    assert manifest["recorded"]["other_programs"] == 3
    assert len(list((tmp_path / "programs").iterdir())) == programs.MOST
