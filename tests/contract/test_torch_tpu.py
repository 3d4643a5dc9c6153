"""PyTorch on TorchTPU, on its stand-in and predicted for TPUs that are not there. Its environment takes 6 GB."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.contracts import ROOT

pytestmark = [pytest.mark.frameworks, pytest.mark.slow(minutes=2), pytest.mark.xdist_group("TorchTPU")]

VERSION = "2.15.0"
TARGET = f"torch-{VERSION}-tpu-v5e"

CHECKS = [
    "a_late_error_is_raised_by_the_wait_for_its_own_output",
    "nothing_falls_back_to_the_host",
    "a_trace_says_where_operations_run",
    "counters_tell_what_a_call_cost",
    "a_seed_fixes_what_is_drawn",
    "full_precision_reaches_the_program",
    "a_machine_without_a_tpu_is_refused_before_any_computation",
    "the_error_for_a_held_tpu_names_the_holder",
    "a_private_name_that_is_gone_is_one_sentence",
]

Results = dict[str, dict[str, Any]]


def tensor(dtype: str, *shape: int) -> dict[str, Any]:
    return {"tensor": {"shape": shape, "dtype": dtype, "seed": 1}}


def entry(function: str, *args: Any, expect: str = "", **test: Any) -> dict[str, Any]:
    numpy = expect or function.removeprefix("torch.")
    return {"function": function, "tests": [{"id": function, "case": "call", "args": args, "expect": {"numpy": numpy}}]}


OUTER = entry("torch.matmul", tensor("float32", 100_000, 1), tensor("float32", 1, 100_000))
"""A 100,000 by 100,000 product: 37 GiB."""

FACTS = [
    entry("torch.linalg.eig", tensor("float32", 8, 8)),
    entry("torch.mm", tensor("int64", 8, 8), tensor("int64", 8, 8), expect="matmul"),
    # What XLA's CPU compiler lacks.
    entry("torch.cumsum", tensor("float32", 8, 8), 0),
    entry("torch.linalg.inv", tensor("float32", 8, 8)),
    entry("torch.Tensor.unique", tensor("float32", 100), expect="unique"),
    entry("torch.cos", tensor("float32", 8, 8)),
    OUTER,
]


@pytest.fixture
def predict(run_manifest: Callable[..., dict[str, Any]], tmp_path: Path) -> Callable[..., Results]:
    """Return the results of the functions' tests on a device, by function."""

    def of(device: str, *functions: dict[str, Any]) -> Results:
        head = {"schema": "portbench/manifest", "schema_version": 1, "name": "facts", "framework": "torch"}
        path = tmp_path / "manifest.json"
        path.write_text(json.dumps({**head, "functions": functions}), "utf-8")
        document = run_manifest("torch", VERSION, path, device=device, runs=1)
        assert document["prediction"]["compiler"].startswith("libtpu ")
        facts = document["environment"]["device"]
        assert facts["torch_tpu"] and facts["stand_in"].startswith("fastatomstruct-xla-cpu ")
        assert not any(result["calls"] for result in document["results"])
        return {result["function"]: result for result in document["results"]}

    return of


def test_the_adapter_keeps_its_promises(environment_python: Callable[[str], Path]) -> None:
    command = [str(environment_python(TARGET)), "-m", "tests.contract.adapter_checks", "torch", VERSION, "xla"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("check", CHECKS)
def test_the_stand_in_is_like_a_tpu(check_device: Callable[..., None], check: str) -> None:
    check_device("torch_tpu_checks", TARGET, ["xla", *CHECKS], check)


def test_placement_and_the_synchronization_check_work_on_the_stand_in(
    environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    command = [
        str(environment_python(TARGET)),
        "-m",
        "runners",
        "--framework",
        "torch",
        "--device",
        "xla",
        "--runs",
        "1",
    ]
    command += ["--manifest", "manifests/placement/torch.json", "--protocol", "cold", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    (path,) = tmp_path.glob("*.json")
    results = json.loads(path.read_text("utf-8"))["results"]
    found = {result["test"]: result["placement"]["verdict"] for result in results}
    assert found == {"on-device": "device", "on-host": "host", "on-both": "mixed"}
    assert {result["sync_check"]["passed"] for result in results if result["sync_check"]} == {True}


def test_a_missing_kernel_is_refused_in_torchtpus_words(predict: Callable[..., Results]) -> None:
    refused = predict("tpu-v5e", *FACTS)["torch.linalg.eig"]
    assert (refused["outcome"], refused["category"], refused["phase"]) == ("failed", "not_implemented", "call")
    assert refused["error"]["message"].startswith("operator 'aten::linalg_eig' is not implemented for TPU")


def test_a_missing_dtype_is_a_failure_of_the_type(predict: Callable[..., Results]) -> None:
    refused = predict("tpu-v5e", *FACTS)["torch.mm"]
    assert (refused["category"], refused["cpu_control"]["outcome"]) == ("type", "passed")


@pytest.mark.parametrize("function", ["torch.cumsum", "torch.linalg.inv", "torch.cos"])
def test_a_program_is_compiled_whether_the_stand_in_can_compute_it_or_not(
    predict: Callable[..., Results], function: str
) -> None:
    found = predict("tpu-v5e", *FACTS)[function]
    assert (found["outcome"], found["placement"]["verdict"]) == ("passed", "device")
    assert found["prediction"]["memory_bytes"] > 0


def test_a_program_that_is_in_the_cache_of_torchtpu_has_its_own_figures(
    run_manifest: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    sizes, addends = (8, 256), (1, 1, 2)
    tests = [
        {"id": f"{number}-{size}", "case": "call", "args": [tensor("float32", size, size), addend]}
        for number, addend in enumerate(addends)
        for size in sizes
    ]
    tests = [{**test, "expect": {"numpy": "add"}} for test in tests]
    head = {"schema": "portbench/manifest", "schema_version": 1, "name": "cache", "framework": "torch"}
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({**head, "functions": [{"function": "torch.add", "tests": tests}]}), "utf-8")
    results = run_manifest("torch", VERSION, path, device="tpu-v5e", runs=1)["results"]
    figures = {result["test"]: (result["prediction"]["flops"], result["prediction"]["bytes"]) for result in results}
    for size in sizes:
        assert len({figures[f"{number}-{size}"] for number in range(len(addends))}) == 1, figures
    assert 0 < figures["0-8"][0] < figures["0-256"][0]
    assert None not in figures["0-8"]


def test_a_crash_of_the_stand_in_says_nothing_about_a_tpu(predict: Callable[..., Results]) -> None:
    found = predict("tpu-v5e", *FACTS)["torch.Tensor.unique"]
    assert (found["outcome"], found["prediction"]["verdict"]) == ("skipped", "unknown")


def test_a_product_of_37_gib_does_not_fit_into_a_v5e_but_into_a_tpu7x(predict: Callable[..., Results]) -> None:
    refused = predict("tpu-v5e", *FACTS)["torch.matmul"]
    assert (refused["category"], refused["phase"]) == ("memory", "call")
    accepted = predict("tpu7x", OUTER)["torch.matmul"]
    assert accepted["outcome"] == "passed"
    assert accepted["prediction"]["memory_bytes"] >= 37 << 30
