"""Samples for JAX: its own harnesses, and inputs for what NumPy and SciPy have under the same names."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

pytestmark = [pytest.mark.frameworks, pytest.mark.xdist_group("samples of jax")]

FUNCTIONS = (
    "jax.lax.scatter_add",
    "jax.lax.sin",
    "jax.numpy.add",
    "jax.numpy.argmax",
    "jax.numpy.linalg.eig",
    "jax.scipy.special.gammaln",
    "jax.scipy.stats.norm.cdf",
)


def portbench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "portbench", *words], cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(scope="module")
def manifest(environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests of a few functions."""
    environment_python("jax-0.12.0.1-cpu")
    path = tmp_path_factory.mktemp("samples") / "jax.json"
    only = [word for name in FUNCTIONS for word in ("--function", name)]
    asked = ("--from", "harnesses,numpy,scipy", "--backend", "venv", "-o", str(path))
    done = portbench("collect", "jax-0.12.0.1-cpu", *asked, *only)
    assert done.returncode == 0, done.stderr[-3000:]
    return path


@pytest.fixture(scope="module")
def results(manifest: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    """The results on a target by FUNCTION::TEST."""

    def run(target: str) -> dict[str, Any]:
        out = tmp_path_factory.mktemp("results")
        options = ("--runs", "1", "--protocol", "cold", "--backend", "venv", "--out", str(out))
        done = portbench("run", target, "--manifest", str(manifest), *options)
        assert done.returncode == 0, done.stderr[-3000:]
        document = json.loads(next(out.glob("*.json")).read_text("utf-8"))
        return {f"{each['function']}::{each['test']}": each for each in document["results"]}

    return run


def test_tests_name_their_source_their_dtype_and_their_reference(manifest: Path) -> None:
    document = json.loads(manifest.read_text("utf-8"))
    tests = {
        entry["function"]: {test["id"]: test["params"] for test in entry["tests"]} for entry in document["functions"]
    }
    assert set(tests) == set(FUNCTIONS)
    assert {f"harnesses-{dtype}" for dtype in ("bfloat16", "float32", "int8")} <= set(tests["jax.lax.scatter_add"])
    assert "harnesses-float32-gradient" in tests["jax.lax.scatter_add"]
    # A harness that binds the primitive is one of the function that makes the same.
    assert "harnesses-complex64" in tests["jax.lax.sin"]
    assert tests["jax.numpy.add"]["numpy-float32"]["reference"] == "independent"
    assert tests["jax.scipy.special.gammaln"]["scipy-float32"]["reference"] == "independent"
    assert "numpy-float32-gradient" in tests["jax.numpy.add"]
    # An index has no gradient.
    assert "numpy-float32-gradient" not in tests["jax.numpy.argmax"]
    packages = {source["name"]: source["package"] for source in document["collected"]["sources"]}
    assert packages == {"harnesses": "jax", "numpy": "numpy", "scipy": "scipy"}


def test_all_of_them_pass_on_the_cpu(results: Callable[[str], dict[str, Any]]) -> None:
    found = results("jax-0.12.0.1-cpu")
    assert {result["outcome"] for result in found.values()} == {"passed"}
    assert len(found) > 40


def test_a_tpu_without_an_eigenvalue_solver_is_predicted_to_refuse_it(results: Callable[[str], dict[str, Any]]) -> None:
    found = results("jax-0.12.0.1-tpu-v5e")
    assert found["jax.numpy.linalg.eig::numpy-float32"]["category"] == "not_implemented"
    assert found["jax.numpy.add::numpy-float32"]["outcome"] == "passed"


def test_a_version_without_harnesses_is_said(environment_python: Callable[[str], Path], tmp_path: Path) -> None:
    environment_python("jax-0.4.13-cpu")
    path = tmp_path / "jax.json"
    done = portbench("collect", "jax-0.4.13-cpu", "--from", "harnesses", "--backend", "venv", "-o", str(path))
    assert (done.returncode, path.exists()) == (2, False)
    assert "a JAX whose wheel has its test harnesses" in done.stderr
    assert "Traceback" not in done.stderr


WRITTEN = ("jax.grad", "jax.lax.psum", "jax.nn.mish", "jax.random.normal", "jax.tree.map")


@pytest.mark.slow(minutes=2)
def test_written_calls(environment_python: Callable[[str], Path], tmp_path: Path) -> None:
    environment_python("jax-0.12.0.1-cpu")
    only = [word for name in WRITTEN for word in ("--function", name)]
    paths = [tmp_path / "first.json", tmp_path / "second.json"]
    for path in paths:
        asked = ("collect", "jax-0.12.0.1-cpu", "--from", "written", "--backend", "venv", "-o", str(path), *only)
        done = portbench(*asked)
        assert done.returncode == 0, done.stderr[-3000:]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    document = json.loads(paths[0].read_text("utf-8"))
    tests = {
        entry["function"]: {test["id"]: test["params"] for test in entry["tests"]} for entry in document["functions"]
    }
    assert set(tests) == set(WRITTEN)
    # The law is that of SciPy, the draws of a key are those of the CPU.
    assert tests["jax.random.normal"]["written-law-float32"]["reference"] == "independent"
    assert "reference" not in tests["jax.random.normal"]["written-float32"]
    assert tests["jax.lax.psum"]["written-float32"]["reference"] == "independent"
    options = ("--runs", "1", "--protocol", "cold", "--backend", "venv", "--out", str(tmp_path / "results"))
    done = portbench("run", "jax-0.12.0.1-cpu", "--manifest", str(paths[0]), *options)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(next((tmp_path / "results").glob("*.json")).read_text("utf-8"))["results"]
    assert {result["outcome"] for result in found} == {"passed"}
