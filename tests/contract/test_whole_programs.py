"""Whole programs: recorded in the user's version, compiled for devices that are not there."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.frameworks

RECORDED_IN = ["jax-0.12.0.1-cpu", pytest.param("jax-0.10.2-cpu", marks=pytest.mark.slow)]


def record(python: Path, program: str, folder: Path) -> Path:
    """Records a program of this folder with a Python; returns the recording."""
    started = [str(python), str(ROOT / "tests" / "contract" / program)]
    command = [sys.executable, "-m", "portbench", "record", "-o", str(folder / "recording"), "--", *started]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "recording"


def results(manifest: Path, target: str, function: str) -> dict[str, dict[str, Any]]:
    """The results of the programs in a manifest, by their names."""
    out = manifest.parent / "results" / target
    options = ["--function", function, "--runs", "1", "--protocol", "cold", "--backend", "venv", "--out", str(out)]
    command = [sys.executable, "-m", "portbench", "run", target, "--manifest", str(manifest)]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True)
    found = [json.loads(path.read_text("utf-8")) for path in out.glob("*.json")]
    assert len(found) == 1, done.stderr[-3000:]
    return {result["test"].rpartition("-")[0]: result for result in found[0]["results"]}


@pytest.fixture(scope="module", params=RECORDED_IN)
def recorded(
    request: pytest.FixtureRequest, environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The recording of jax_programs.py."""
    return record(environment_python(request.param), "jax_programs.py", tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def recorded_torch(environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of torch_programs.py."""
    return record(environment_python("torch-2.9.0-cpu"), "torch_programs.py", tmp_path_factory.mktemp("recorded"))


def test_nothing_of_the_user_is_stored(recorded: Path) -> None:
    files = list((recorded / "programs").iterdir())
    # The training step and the spectrum are not the same for each platform; no rule takes a spectrum to a TPU.
    assert len(files) >= 4
    stored = b"".join(path.read_bytes() for path in files)
    for part in (b"secret name", b"jax_programs.py", b"0.8675309", struct.pack("<f", 0.8675309)):
        assert part not in stored


def test_a_tpu_compiles_each_program_or_says_why_not(recorded: Path) -> None:
    found = results(recorded / "jax.json", "jax-0.12.0.1-tpu-v5e", "jax.jit")
    step, spectrum, large = found["train_step"], found["spectrum"], found["too_large"]
    assert step["prediction"]["verdict"] == "accepted"
    # The inputs, and the weights once, because their memory is given to the results.
    assert step["prediction"]["memory_bytes"] > 4 * (16 * 64 + 64 * 4)
    assert step["prediction"]["flops"] > 4 * 16 * 64 * 4
    assert (spectrum["category"], spectrum["prediction"]["verdict"]) == ("not_implemented", "refused")
    assert "eig" in spectrum["prediction"]["reason"]
    assert (large["category"], large["prediction"]["verdict"]) == ("memory", "refused")


def test_a_gpu_compiles_them_and_names_what_it_needs(recorded: Path) -> None:
    found = results(recorded / "jax.json", "jax-0.12.0.1-gpu-h100", "jax.jit")
    assert {result["prediction"]["verdict"] for result in found.values()} == {"accepted"}
    assert found["too_large"]["prediction"]["memory_bytes"] >= 4 * 50_000 * 100_000
    assert "cuSOLVER" in found["spectrum"]["prediction"]["reason"]


def test_the_cpu_compiles_them(recorded: Path) -> None:
    assert {result["outcome"] for result in results(recorded / "jax.json", "jax-0.12.0.1-cpu", "jax.jit").values()} == {
        "passed"
    }


def test_a_step_of_pytorch_is_forward_backward_and_update(recorded_torch: Path) -> None:
    (step,) = [
        json.loads((recorded_torch / "programs" / test["modules"]["any"]["aten"]).read_bytes())
        for entry in json.loads((recorded_torch / "torch.json").read_bytes())["functions"]
        for test in entry["tests"]
        if test["id"].startswith("Net.step-")
    ]
    names = [operation[0] for operation in step["operations"]]
    assert {"aten::embedding", "aten::embedding_dense_backward", "aten::nll_loss_backward"} <= set(names)
    assert any(name.startswith(("aten::addcdiv", "aten::_foreach_addcdiv")) for name in names)
    layers = dict.fromkeys(layer for layer, _ in step["layers"])
    assert (list(layers), sum(count for _, count in step["layers"])) == (["forward", "backward", "update"], len(names))
    backward = slice(step["layers"][0][1], step["layers"][0][1] + step["layers"][1][1])
    assert {"aten::embedding_dense_backward", "aten::nll_loss_backward"} <= set(names[backward])
    assert "aten::embedding" not in names[backward]
    # Parameters, moments, buffers, the batch; and nothing but shapes of them.
    assert [96, 32] in [each["shape"] for each in step["inputs"]]
    assert {key for each in step["inputs"] for key in each} <= {"value", "dtype", "shape", "order"}


def test_what_replaces_attention_for_cpus_computes_the_same(environment_python: Callable[[str], Path]) -> None:
    command = [str(environment_python("torch-2.9.0-cpu")), "-m", "tests.contract.torch_attention_checks"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def test_kernels_of_cuda_are_looked_up_for_each_operation_of_a_program(recorded_torch: Path) -> None:
    found = results(recorded_torch / "torch.json", "torch-2.9.0-gpu-predicted", "torch.nn.Module")
    assert {name: result["prediction"]["verdict"] for name, result in found.items()} == dict.fromkeys(
        ("Net.step", "Net.call", "Spectrum.call"), "accepted"
    )
    assert "without aten::index.Tensor (1x)" in found["Spectrum.call"]["prediction"]["reason"]
    assert re.search(r"\d+ forward, \d+ backward, \d+ update", found["Net.step"]["prediction"]["reason"])


@pytest.mark.slow
def test_torch_xla_makes_one_program_of_a_step(recorded_torch: Path) -> None:
    found = results(recorded_torch / "torch.json", "torch-2.9.0-tpu-v5e", "torch.nn.Module")
    step = found["Net.step"]
    assert step["prediction"]["verdict"] == "accepted"
    assert step["placement"]["verdict"] == "device"
    # Weights, gradients and both moments.
    assert step["prediction"]["memory_bytes"] > 4 * 4 * (100 * 32 + 32 * 96)
    assert found["Spectrum.call"]["placement"]["host_operations"] == ["aten::linalg_eig"]


@pytest.mark.slow
def test_a_step_of_tensorflow_is_compiled_although_its_loop_cannot_be(
    environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    recorded = record(environment_python("tensorflow-2.21.0-cpu"), "tensorflow_programs.py", tmp_path)
    (stored,) = (path.read_text("utf-8") for path in (recorded / "programs").iterdir())
    for part in ("0.867", "tensorflow_programs.py", struct.pack("<f", 0.8675309).hex().upper()):
        assert part not in stored
    found = results(recorded / "tensorflow.json", "tensorflow-2.21.0-tpu-v5e", "tf.function")
    assert {name: result["prediction"]["verdict"] for name, result in found.items()} == {"step": "accepted"}
    assert found["step"]["prediction"]["memory_bytes"] > 2 * 4 * 8 * 4
