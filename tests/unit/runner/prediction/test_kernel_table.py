"""Operations looked up in the kernels of a wheel; the lists that are kept, and how they are written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runners.core.errors import DeviceUnavailable
from runners.core.prediction import kernel_table


def table(**kernels: Any) -> kernel_table.Table:
    return kernel_table.Table({"version": "2.11.0", "wheel": {"name": "w"}, "kernels": kernels})


def test_a_kernel_takes_the_dtypes_of_all_its_attributes_together() -> None:
    found = table(Cast=[{"types": {"S": ["a"], "D": ["b"]}}, {"types": {"S": ["b"], "D": ["a"]}}])
    assert found.look_up("Cast", {"S": ["a"], "D": ["b"]}).verdict == "device"
    assert found.look_up("Cast", {"S": ["a"], "D": ["a"]}).verdict == "dtype"
    assert found.look_up("Cast", {"S": ["a"], "other": ["a"]}).verdict == "device"


def test_each_dtype_of_a_list_must_be_taken() -> None:
    found = table(Where=[{"types": {"T": ["float32", "int32"]}}])
    assert found.look_up("Where", {"T": ["float32", "int32"]}).verdict == "device"
    assert found.look_up("Where", {"T": ["float32", "string"]}).verdict == "dtype"


def test_a_kernel_in_host_memory_is_the_hosts_unless_another_computes_on_the_device() -> None:
    on_host = {"host": True, "types": {"T": ["int32"]}}
    assert table(Add=[on_host]).look_up("Add", {"T": ["int32"]}).verdict == "host"
    assert table(Add=[on_host, {"types": {}}]).look_up("Add", {"T": ["int32"]}).verdict == "device"


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ("Eig", "no GPU kernel for these dtypes: the operation Eig has T=complex64, its kernels take T=half|float32"),
        ("Gamma", "no GPU kernel: the operation Gamma (T=complex64) has none"),
    ],
)
def test_a_refusal_names_operation_dtype_and_the_dtypes_that_there_are(operation: str, said: str) -> None:
    found = table(Eig=[{"types": {"T": ["half", "float32"], "not_asked": ["int32"]}}])
    types = {"T": ["complex64"]}
    assert kernel_table.refusal(operation, types, found.look_up(operation, types)) == said


def test_merged_kernels_take_the_same_combinations_and_no_more() -> None:
    pairs = {("a", "a"), ("a", "b"), ("b", "a"), ("b", "b"), ("c", "a")}
    single = [{"types": {"S": [first], "D": [second]}} for first, second in sorted(pairs)]
    found = kernel_table.merged(json.loads(json.dumps(single)))
    assert len(found) < len(single)
    assert {(s, d) for each in found for s in each["types"]["S"] for d in each["types"]["D"]} == pairs


def test_kernels_of_the_host_stay_apart_when_merged() -> None:
    kernels = [{"types": {"T": ["int32"]}, "host": True}, {"types": {"T": ["float32"]}}, {"types": {}}]
    assert len(kernel_table.merged(kernels)) == 3


def test_the_text_is_the_document() -> None:
    head = {"schema": "portbench/kernels", "wheel": {"name": "w"}}
    kernels = {"Add": [{"types": {"T": ["int32"]}}], "Svd": [{"types": {}}]}
    assert json.loads(kernel_table.text(head, kernels)) == {**head, "kernels": kernels}


@pytest.mark.parametrize("version", kernel_table.versions("tensorflow"))
def test_the_lists_of_tensorflow_know_what_was_seen_on_gpus(version: str) -> None:
    found = kernel_table.of_version("tensorflow", version)
    assert found.version == version
    assert found.look_up("Svd", {"T": ["float32"]}).verdict == "device"
    assert found.look_up("Svd", {"T": ["complex64"]}).verdict == "dtype"
    assert found.look_up("RandomGamma", {"T": ["float32"], "S": ["int32"]}).verdict == "none"
    assert found.look_up("TensorSliceDataset", {}).verdict == "none"
    assert found.look_up("AddV2", {"T": ["int32"]}).verdict == "host"


def test_the_lists_of_pytorch_know_what_was_seen_on_gpus() -> None:
    old, new = (kernel_table.of_version("torch", version) for version in ("1.12.0", "2.9.0"))
    for found in (old, new):
        plain = {"layout": ["strided"], "self": ["float32"]}
        assert found.look_up("aten::histogram.bin_ct", plain).verdict == "none"
        assert found.look_up("aten::mm", {**plain, "mat2": ["float32"]}).verdict == "device"
        assert found.look_up("aten::cumsum", {**plain, "self": ["bool"]}).verdict == "device"
    half = {"layout": ["strided"], "self": ["bfloat16"], "target": ["bfloat16"]}
    assert old.look_up("aten::smooth_l1_loss", half).verdict == "dtype"
    assert new.look_up("aten::smooth_l1_loss", half).verdict == "device"


def test_there_are_lists_for_the_versions_that_there_are_targets_of() -> None:
    assert set(kernel_table.versions("tensorflow")) >= {"2.11.0", "2.21.0"}
    assert set(kernel_table.versions("torch")) >= {"1.12.0", "2.9.0", "2.15.0"}
    with pytest.raises(DeviceUnavailable) as refused:
        kernel_table.of_version("torch", "0.0.1")
    assert "kernels of torch 0.0.1, only of 1.12.0, 2.9.0, 2.15.0" in str(refused.value)
