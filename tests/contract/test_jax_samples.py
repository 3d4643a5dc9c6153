"""Samples for JAX: its own harnesses, and inputs for what NumPy and SciPy have under the same names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.collected import collect, collecting, parameters_of, results_of, try_portbench

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


@pytest.fixture(scope="module")
def manifest(environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests of a few functions."""
    environment_python("jax-0.12.0.1-cpu")
    path = tmp_path_factory.mktemp("samples") / "jax.json"
    collect("jax-0.12.0.1-cpu", "harnesses,numpy,scipy", path, *FUNCTIONS)
    return path


@pytest.fixture(scope="module")
def results(manifest: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """The results on a target by FUNCTION::TEST; more words select tests."""

    return lambda target, *words: results_of(target, manifest, tmp_path_factory.mktemp("results"), *words)


def test_tests_name_their_source_their_dtype_and_their_reference(manifest: Path) -> None:
    document = json.loads(manifest.read_text("utf-8"))
    tests = parameters_of(manifest)
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


def test_all_of_them_pass_on_the_cpu(results: Callable[..., dict[str, Any]]) -> None:
    found = results("jax-0.12.0.1-cpu")
    assert {result["outcome"] for result in found.values()} == {"passed"}
    assert len(found) > 40


def test_a_tpu_without_an_eigenvalue_solver_is_predicted_to_refuse_it(results: Callable[..., dict[str, Any]]) -> None:
    # Compiling all of them takes minutes.
    few = ("--function", "jax.numpy.add", "--function", "jax.numpy.linalg.eig")
    found = results("jax-0.12.0.1-tpu-v5e", *few, "--test", "numpy-float32")
    assert found["jax.numpy.linalg.eig::numpy-float32"]["category"] == "not_implemented"
    assert found["jax.numpy.add::numpy-float32"]["outcome"] == "passed"


def test_a_version_without_harnesses_is_said(environment_python: Callable[[str], Path], tmp_path: Path) -> None:
    environment_python("jax-0.4.13-cpu")
    path = tmp_path / "jax.json"
    done = try_portbench(*collecting("jax-0.4.13-cpu", "harnesses", path))
    assert (done.returncode, path.exists()) == (2, False)
    assert "a JAX whose wheel has its test harnesses" in done.stderr
    assert "Traceback" not in done.stderr


WRITTEN = ("jax.grad", "jax.lax.psum", "jax.nn.mish", "jax.random.normal", "jax.tree.map")


@pytest.mark.slow(minutes=2)
def test_written_calls(environment_python: Callable[[str], Path], tmp_path: Path) -> None:
    environment_python("jax-0.12.0.1-cpu")
    paths = [tmp_path / "first.json", tmp_path / "second.json"]
    for path in paths:
        collect("jax-0.12.0.1-cpu", "written", path, *WRITTEN)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    tests = parameters_of(paths[0])
    assert set(tests) == set(WRITTEN)
    # The law is that of SciPy, the draws of a key are those of the CPU.
    assert tests["jax.random.normal"]["written-law-float32"]["reference"] == "independent"
    assert "reference" not in tests["jax.random.normal"]["written-float32"]
    assert tests["jax.lax.psum"]["written-float32"]["reference"] == "independent"
    found = results_of("jax-0.12.0.1-cpu", paths[0], tmp_path / "results")
    assert {result["outcome"] for result in found.values()} == {"passed"}
