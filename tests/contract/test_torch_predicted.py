"""What libtpu predicts for PyTorch's calls on TPUs that are not there: facts that are known of real TPUs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.targets.catalog import TPU_COMPILER
from runners.core.prediction.compiling import PYTHON
from tests.contract.contracts import ROOT

pytestmark = pytest.mark.frameworks
on_one_v3 = pytest.mark.xdist_group("torch for tpu-v3")
on_one_v5e = pytest.mark.xdist_group("torch for tpu-v5e")

Results = dict[str, dict[str, Any]]


def tensor(dtype: str, *shape: int) -> dict[str, Any]:
    return {"tensor": {"shape": shape, "dtype": dtype, "seed": 1}}


def entry(function: str, *args: Any, **test: Any) -> dict[str, Any]:
    return {"function": function, "tests": [{"id": function, "case": "call", "args": args, **test}]}


def case_entry(function: str, case: str, **tests: dict[str, Any]) -> dict[str, Any]:
    """Return tests of one case: ids with parameters."""
    return {"function": function, "tests": [{"id": test, "case": case, "params": tests[test]} for test in tests]}


SEVENTEEN_GIB = entry("torch.zeros", 65536, 69632, kwargs={"device": {"device": "target"}}, expect={"numpy": "zeros"})

DOUBLED = {"scale_factor": 2, "mode": "bilinear"}
ONES = {"numpy": "ones", "args": [[1, 1, 8, 8]]}


@pytest.fixture(scope="module")
def predict(
    environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Results]:
    """Return the results of the functions' tests on a device, by test id."""

    def of(device: str, *functions: dict[str, Any]) -> Results:
        folder = tmp_path_factory.mktemp("predicted")
        head = {"schema": "portbench/manifest", "schema_version": 1, "name": "facts", "framework": "torch"}
        (folder / "manifest.json").write_text(json.dumps({**head, "functions": functions}), "utf-8")
        command = [str(environment_python("torch-2.9.0-xla")), "-m", "runners", "--framework", "torch", "--runs", "1"]
        command += ["--device", device, "--manifest", str(folder / "manifest.json"), "--out", str(folder / "out")]
        env = {**os.environ, PYTHON: str(environment_python(TPU_COMPILER))}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        (path,) = (folder / "out").glob("*.json")
        document = json.loads(path.read_text("utf-8"))
        assert document["prediction"]["compiler"].startswith("libtpu ")
        assert not any(result["calls"] for result in document["results"])
        return {result["test"]: result for result in document["results"]}

    return of


@pytest.fixture(scope="module")
def on_v3(predict: Callable[..., Results]) -> Results:
    return predict(
        "tpu-v3",
        entry("torch.matmul", tensor("int64", 8, 8), tensor("int64", 8, 8), expect={"numpy": "matmul"}),
        entry("torch.dot", tensor("int64", 8), tensor("int64", 8), expect={"numpy": "dot"}),
        entry("torch.fft.fft", tensor("complex128", 16), expect={"numpy": "fft.fft"}),
        entry("torch.linalg.eigvals", tensor("float32", 8, 8), expect={"numpy": "linalg.eigvals"}),
        case_entry(
            "torch.linalg.matrix_rank",
            "torch.linalg:rank_of_product",
            **{"torch.linalg.matrix_rank": {"shape": [12, 9], "ranks": [5], "dtype": "complex64"}},
        ),
        entry("torch.argwhere", tensor("bool", 8, 8), expect={"numpy": "argwhere"}),
        entry("torch.cos", tensor("float32", 8, 8), expect={"numpy": "cos"}),
        entry("torch.nn.functional.interpolate", tensor("float32", 1, 1, 4, 4), kwargs=DOUBLED, expect=ONES),
        SEVENTEEN_GIB,
        # The last one: its late error also reaches the next test of the same worker.
        entry("torch.abs", tensor("complex128", 8), expect={"numpy": "abs"}),
    )


@on_one_v3
def test_an_error_of_the_compiler_is_recorded_with_its_message(on_v3: Results) -> None:
    refused = on_v3["torch.matmul"]
    assert (refused["outcome"], refused["category"], refused["phase"]) == ("failed", "type", "call")
    assert refused["error"]["message"].startswith("UNIMPLEMENTED: While rewriting computation to not contain X{64|128}")
    assert refused["cpu_control"]["outcome"] == "passed"


@on_one_v3
def test_what_the_stand_in_cannot_compute_is_unknown(on_v3: Results) -> None:
    # libtpu accepts the program, but torch_xla gives XLA's CPU device an array of complex64.
    found = on_v3["torch.abs"]
    assert (found["outcome"], found["category"]) == ("skipped", None)
    assert "the test does not pass on the stand-in xla" in found["reason"]
    passed = on_v3["torch.cos"]
    assert (passed["outcome"], passed["placement"]["verdict"]) == ("passed", "device")
    assert passed["prediction"]["memory_bytes"] > 0
    assert passed["prediction"]["roofline_ns"] > 0


@on_one_v3
@pytest.mark.parametrize(
    ("function", "operation"),
    [
        ("torch.fft.fft", "aten::_fft_c2c"),
        ("torch.linalg.eigvals", "aten::linalg_eig"),
        ("torch.argwhere", "aten::nonzero"),
        # Only for TPUs do products of long integers fall back to the host.
        ("torch.dot", "aten::dot"),
    ],
)
def test_operations_that_fall_back_to_the_host_are_listed(on_v3: Results, function: str, operation: str) -> None:
    assert on_v3[function]["outcome"] == "passed"
    assert on_v3[function]["placement"]["verdict"] == "host"
    assert on_v3[function]["placement"]["host_operations"] == [operation]


@on_one_v3
def test_an_operation_without_lowering_fails_and_the_next_test_passes(on_v3: Results) -> None:
    refused, following = on_v3["torch.linalg.matrix_rank"], on_v3["torch.argwhere"]
    assert (refused["category"], refused["cpu_control"]["outcome"]) == ("type", "passed")
    assert "Error while lowering: [] aten::svd" in refused["error"]["message"]
    assert (following["worker"], following["outcome"]) == (refused["worker"], "passed")


@on_one_v3
def test_a_lowering_for_tpus_only_is_compiled(on_v3: Results) -> None:
    found = on_v3["torch.nn.functional.interpolate"]
    assert (found["outcome"], found["placement"]["verdict"]) == ("passed", "device")
    assert found["prediction"]["bytes"] > 0


@pytest.mark.slow
@on_one_v3
def test_seventeen_gigabytes_do_not_fit_into_a_v3_but_into_a_v5p(
    on_v3: Results, predict: Callable[..., Results]
) -> None:
    refused = on_v3["torch.zeros"]
    assert (refused["category"], refused["cpu_control"]) == ("memory", None)
    assert "exceeds available HBM" in refused["error"]["message"]
    accepted = predict("tpu-v5p", SEVENTEEN_GIB)["torch.zeros"]
    assert accepted["outcome"] == "passed"
    assert accepted["prediction"]["memory_bytes"] >= 17 << 30


@pytest.fixture(scope="module")
def on_v5e(predict: Callable[..., Results]) -> Results:
    common = {"dtype": "float32", "lr": 0.3}
    steps = {"steps-1": {"iterations": 1, **common}, "steps-4": {"iterations": 4, **common}}
    return predict(
        "tpu-v5e",
        case_entry("torch.optim.LBFGS", "torch.lbfgs:lbfgs_iterations", **steps),
        case_entry("torch.saddmm", "torch.solve:saddmm", sparse={"sizes": [5, 4, 6], "dtype": "float32"}),
        case_entry(
            "torch.randperm", "torch.creation:randperm_uniform", shuffle={"length": 8}, long={"length": 200_000}
        ),
    )


@pytest.mark.slow
@on_one_v5e
def test_reading_a_value_ends_a_program_and_later_programs_do_not_repeat_it(on_v5e: Results) -> None:
    one, four = on_v5e["steps-1"], on_v5e["steps-4"]
    assert one["outcome"] == four["outcome"] == "passed"
    # The loss and its gradient, each with an 8 by 8 product, are computed before the step's last value is read.
    assert one["prediction"]["flops"] > 2 * 2 * 8 * 8
    # Four times as much, plus the history of more steps; computing all again at each value would be 19 times.
    assert four["prediction"]["flops"] < 8 * one["prediction"]["flops"]


@pytest.mark.slow
@on_one_v5e
def test_inputs_that_torch_xla_cannot_create_fail(on_v5e: Results) -> None:
    found = on_v5e["sparse"]
    assert (found["outcome"], found["category"]) == ("failed", "not_implemented")
    assert "'SparseXLA' backend" in found["error"]["message"]


@pytest.mark.slow
@on_one_v5e
@pytest.mark.parametrize("test", ["shuffle", "long"])
def test_a_slice_with_an_array_as_start_reaches_the_compiler(on_v5e: Results, test: str) -> None:
    message = on_v5e[test]["error"]["message"]
    assert message.startswith("UNIMPLEMENTED: While rewriting computation to not contain X{64|128}")
    assert "rng" in message
