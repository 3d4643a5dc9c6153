"""PyTorch's own samples: collected from its wheel, they pass on the CPU and find what is known of devices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.collected import collect, parameters_of, portbench, results_of

pytestmark = [pytest.mark.frameworks, pytest.mark.xdist_group("samples of torch")]

FUNCTIONS = (
    "torch.linalg.eig",
    "torch.linalg.det",
    "torch.angle",
    "torch.addmm",
    "torch.nn.functional.gelu",
    "torch.nn.AvgPool2d",
)


@pytest.fixture(scope="module")
def manifest(environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests of a few functions."""
    environment_python("torch-2.9.0-cpu")
    path = tmp_path_factory.mktemp("samples") / "torch.json"
    collect("torch-2.9.0-cpu", "opinfo,modules", path, *FUNCTIONS)
    return path


@pytest.fixture(scope="module")
def results(manifest: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """The results on a target by FUNCTION::TEST, of all functions or of those that are named."""

    def run(target: str, *functions: str) -> dict[str, Any]:
        only = [word for name in functions for word in ("--function", name)]
        return results_of(target, manifest, tmp_path_factory.mktemp("results"), *only)

    return run


def test_entries_become_tests_of_every_dtype_with_references_and_gradients(manifest: Path) -> None:
    tests = parameters_of(manifest)
    # An alias takes the samples of its entry, too.
    assert set(tests) == {*FUNCTIONS}
    assert {f"opinfo-{dtype}" for dtype in ("float32", "float64", "complex64")} <= set(tests["torch.linalg.eig"])
    assert tests["torch.linalg.eig"]["opinfo-float32-gradient"]["gradient"] is True
    assert "opinfo-decomposed-float32" in tests["torch.addmm"]
    assert tests["torch.angle"]["opinfo-float32"]["reference"] == "independent"
    assert "reference" not in tests["torch.linalg.eig"]["opinfo-float32"]
    assert tests["torch.nn.AvgPool2d"]["modules-float32"]["entry"] == "nn.AvgPool2d"


def test_all_of_them_pass_on_the_cpu(results: Callable[..., dict[str, Any]]) -> None:
    found = results("torch-2.9.0-cpu")
    assert {result["outcome"] for result in found.values()} == {"passed"}
    assert len(found) > 50


def test_a_gpu_without_a_kernel_is_predicted_to_refuse_them(results: Callable[..., dict[str, Any]]) -> None:
    found = results("torch-2.9.0-gpu-predicted", "torch.addmm")
    refused = found["torch.addmm::opinfo-int32"]
    assert (refused["outcome"], refused["category"]) == ("failed", "type")
    assert "aten::addmm" in refused["error"]["message"]
    assert found["torch.addmm::opinfo-float32"]["outcome"] == "passed"


@pytest.mark.slow(minutes=2)
def test_wrong_values_on_an_accelerator_are_found(results: Callable[..., dict[str, Any]]) -> None:
    found = results("torch-2.9.0-xla", "torch.angle", "torch.nn.AvgPool2d", "torch.linalg.eig")
    wrong = found["torch.angle::opinfo-complex128"]
    assert (wrong["outcome"], wrong["value_verdict"], wrong["cpu_control"]["outcome"]) == ("failed", "wrong", "passed")
    assert found["torch.angle::opinfo-float32"]["outcome"] == "passed"
    pooled = found["torch.nn.AvgPool2d::modules-float32"]
    assert (pooled["outcome"], pooled["value_verdict"]) == ("failed", "wrong")
    assert found["torch.linalg.eig::opinfo-float32"]["placement"]["verdict"] in ("host", "mixed")


@pytest.mark.slow
def test_functions_of_lists_of_tensors(
    environment_python: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # PyTorch 2.15 is in the environment of its predicted TPU, too.
    monkeypatch.setenv("PORTBENCH_PYTHON", str(environment_python("torch-2.15.0-tpu-v5e")))
    names = ("torch.foreach.exp", "torch.foreach.add_", "torch.foreach.zero_", "torch.foreach.norm")
    path = tmp_path / "lists.json"
    collect("torch-2.15.0-cpu", "opinfo", path, *names, backend="current")
    tests = parameters_of(path)
    assert set(tests) == set(names)
    assert {"opinfo-float32", "opinfo-float32-gradient", "opinfo-int64"} <= set(tests["torch.foreach.exp"])
    assert "opinfo-in-place-float32" in tests["torch.foreach.add_"]
    found = results_of("torch-2.15.0-cpu", path, tmp_path / "results", "--backend", "current")
    assert {result["outcome"] for result in found.values()} == {"passed"}


HAND = ("torch.gather", "torch.is_tensor", "torch.distributions.Normal", "torch.nn.BatchNorm1d", "torch.nn.init.eye_")
OPTIMIZER = "torch.optim.Adagrad"


@pytest.mark.slow(minutes=2)
def test_errors_optimizers_and_written_calls(environment_python: Callable[[str], Path], tmp_path: Path) -> None:
    environment_python("torch-2.9.0-cpu")
    paths = [tmp_path / "first.json", tmp_path / "second.json"]
    for path in paths:
        collect("torch-2.9.0-cpu", "errors,modules,optimizers,written", path, *HAND, OPTIMIZER)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    tests = parameters_of(paths[0])
    assert set(tests) == {*HAND, OPTIMIZER}
    assert "reference" not in tests["torch.gather"]["errors-mixed"]
    assert tests["torch.is_tensor"]["written-float32"]["reference"] == "independent"
    assert {"written-float32", "written-moments-float32"} <= set(tests["torch.distributions.Normal"])
    assert tests["torch.nn.BatchNorm1d"]["modules-training-float32-gradient"]["gradient"] is True
    assert {"optimizers-float32", "optimizers-float64", "optimizers-errors-float32"} <= set(tests[OPTIMIZER])
    assert {result["outcome"] for result in results_of("torch-2.9.0-cpu", paths[0], tmp_path / "results").values()} == {
        "passed"
    }


@pytest.mark.slow
def test_samples_made_from_a_set_are_the_same_under_each_hash_seed(
    environment_python: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment_python("torch-2.9.0-cpu")
    paths = {seed: tmp_path / f"{seed}.json" for seed in ("1", "2")}
    for seed, path in paths.items():
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        # OpInfo goes through a set of shapes for it.
        collect("torch-2.9.0-cpu", "opinfo", path, "torch.meshgrid")
    assert paths["1"].read_bytes() == paths["2"].read_bytes()
    found = results_of("torch-2.9.0-cpu", paths["1"], tmp_path / "results")
    assert {result["outcome"] for result in found.values()} == {"passed"}
    assert len(found) > 20


@pytest.mark.slow
def test_merged_shards_of_collected_tests_are_the_study_of_one_run(
    environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    environment_python("torch-2.9.0-cpu")
    manifest = tmp_path / "torch.json"
    collect("torch-2.9.0-cpu", "opinfo", manifest, "torch.angle", "torch.addmm", "torch.linalg.det")
    # Predicted, some tests are refused: outcomes differ.
    target = "torch-2.9.0-gpu-predicted"
    results = {"whole": results_of(target, manifest, tmp_path / "whole")}
    shards = [results_of(target, manifest, tmp_path / f"part-{part}", "--shard", f"{part}/2") for part in (1, 2)]
    assert all(shards) and not shards[0].keys() & shards[1].keys()
    results["parts"] = {**shards[0], **shards[1]}
    outcomes = [
        {name: (each["outcome"], each["category"], each["placement"]) for name, each in found.items()}
        for found in results.values()
    ]
    assert outcomes[0] == outcomes[1]
    assert {outcome for outcome, _, _ in outcomes[0].values()} == {"passed", "failed"}
    portbench("merge", str(tmp_path / "whole"), "-o", str(tmp_path / "study-whole"))
    portbench("merge", *(str(tmp_path / f"part-{part}") for part in (1, 2)), "-o", str(tmp_path / "study-parts"))
    tables = [tables_of(tmp_path / f"study-{name}", tmp_path / f"report-{name}") for name in results]
    assert tables[0] and tables[0] == tables[1]


def tables_of(study: Path, report: Path) -> dict[str, str]:
    """The tables of a study's report but those of times, by their names."""
    portbench("report", str(study), "-o", str(report))
    return {
        path.name: path.read_text("utf-8") for path in (report / "tables").glob("*.csv") if "latency" not in path.name
    }
