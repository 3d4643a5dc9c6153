"""Samples for TensorFlow: for its operations, its functions, Keras's classes, and what NumPy and SciPy have too."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.collected import collect, collecting, parameters_of, results_of, try_portbench
from tests.paths import ROOT

pytestmark = [pytest.mark.frameworks, pytest.mark.xdist_group("samples of tensorflow")]

FUNCTIONS = (
    "tf.add",
    "tf.Variable",
    "tf.argmax",
    "tf.assert_equal",
    "tf.compat.v1.metrics.auc",
    "tf.data.experimental.scan",
    "tf.image.flip_left_right",
    "tf.keras.layers.Conv2D",
    "tf.keras.layers.Embedding",
    "tf.keras.layers.LSTM",
    "tf.keras.ops.matmul",
    "tf.linalg.LinearOperatorKronecker",
    "tf.linalg.eigh",
    "tf.losses.Huber",
    "tf.math.lgamma",
    "tf.metrics.Mean",
    "tf.nn.conv2d",
    "tf.optimizers.Adam",
    "tf.random.stateless_normal",
    "tf.raw_ops.Conv2D",
    "tf.raw_ops.MapDataset",
    "tf.raw_ops.QueueSizeV2",
    "tf.raw_ops.ResourceApplyAdam",
    "tf.raw_ops.ScatterSub",
    "tf.raw_ops.StringUpper",
    "tf.reduce_sum",
    "tf.strings.split",
)
ON_XLA = (
    "tf.raw_ops.StringUpper::raw-float32",
    "tf.keras.layers.LSTM::keras-float32",
    "tf.nn.conv2d::signatures-float32",
    "tf.add::numpy-float32",
    "tf.raw_ops.ScatterSub::programs-float32",
)
"""What runs through XLA, too: compiling all of them takes minutes."""

SOURCES = "raw,signatures,keras,operators,assertions,programs,numpy,scipy"


@pytest.fixture(scope="module")
def manifest(environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests of a few functions."""
    environment_python("tensorflow-2.21.0-cpu")
    path = tmp_path_factory.mktemp("samples") / "tensorflow.json"
    collect("tensorflow-2.21.0-cpu", SOURCES, path, *FUNCTIONS)
    return path


@pytest.fixture(scope="module")
def results(manifest: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """The results of all tests, or of those that are named, on a target by FUNCTION::TEST. Each target runs once."""

    def run(target: str, *tests: str) -> dict[str, Any]:
        only = [word for test in tests for word in ("--test", test)]
        return results_of(target, manifest, tmp_path_factory.mktemp("results"), *only)

    return functools.cache(run)


def test_tests_name_their_source_their_dtype_and_their_reference(manifest: Path) -> None:
    document = json.loads(manifest.read_text("utf-8"))
    tests = parameters_of(manifest)
    assert set(tests) == set(FUNCTIONS)
    assert tests["tf.add"]["numpy-float32"]["reference"] == "independent"
    assert tests["tf.keras.ops.matmul"]["numpy-float32"]["reference"] == "independent"
    assert tests["tf.math.lgamma"]["scipy-float32"]["reference"] == "independent"
    assert tests["tf.reduce_sum"]["numpy-float32"]["reference"] == "independent"
    assert "numpy-float32-gradient" in tests["tf.add"]
    # An index has no gradient.
    assert "numpy-float32-gradient" not in tests["tf.argmax"]
    for name in ("tf.nn.conv2d", "tf.raw_ops.Conv2D"):
        source = "signatures" if name == "tf.nn.conv2d" else "raw"
        assert {f"{source}-{dtype}" for dtype in ("bfloat16", "float32", "float32-gradient")} <= set(tests[name])
    # The parameters of a layer are numbers with a fraction.
    assert set(tests["tf.keras.layers.Conv2D"]) == {
        *("keras-bfloat16", "keras-float16", "keras-float32", "keras-float32-gradient")
    }
    # Its inputs are whole numbers: the gradients are those of its weights.
    assert "keras-float32-gradient" in tests["tf.keras.layers.Embedding"]
    assert set(tests["tf.optimizers.Adam"]) == {"keras-float32"}
    assert "operators-float32-gradient" in tests["tf.linalg.LinearOperatorKronecker"]
    packages = {source["name"]: source["package"] for source in document["collected"]["sources"]}
    assert (packages["raw"], packages["keras"], packages["numpy"]) == ("tensorflow", "keras", "numpy")


def test_the_same_environment_gives_the_same_bytes(manifest: Path, tmp_path: Path) -> None:
    path = tmp_path / "again.json"
    collect("tensorflow-2.21.0-cpu", SOURCES, path, *FUNCTIONS)
    assert path.read_bytes() == manifest.read_bytes()


def test_all_of_them_pass_on_the_cpu(results: Callable[..., dict[str, Any]]) -> None:
    found = results("tensorflow-2.21.0-cpu")
    assert {result["outcome"] for result in found.values()} == {"passed"}
    assert len(found) > 60


def test_xla_on_the_cpu_has_no_kernel_for_texts(results: Callable[..., dict[str, Any]]) -> None:
    found = results("tensorflow-2.21.0-xla", *ON_XLA)
    assert found["tf.raw_ops.StringUpper::raw-float32"]["outcome"] == "failed"
    for name in ("tf.keras.layers.LSTM::keras-float32", "tf.nn.conv2d::signatures-float32", "tf.add::numpy-float32"):
        assert found[name]["outcome"] == "passed", found[name]


def test_the_host_makes_the_samples_of_graphs_of_version_1_on_every_target(
    results: Callable[..., dict[str, Any]],
) -> None:
    # No variable of such a graph can be on XLA_CPU, where a session of the target places all that it computes.
    found = results("tensorflow-2.21.0-xla", *ON_XLA)["tf.raw_ops.ScatterSub::programs-float32"]
    assert (found["outcome"], found["category"]) == ("failed", "not_implemented")


def test_an_unknown_source_is_said(environment_python: Callable[[str], Path], tmp_path: Path) -> None:
    environment_python("tensorflow-2.21.0-cpu")
    path = tmp_path / "tensorflow.json"
    done = try_portbench(*collecting("tensorflow-2.21.0-cpu", "opinfo", path))
    assert (done.returncode, path.exists()) == (2, False)
    assert "there is no source 'opinfo' of samples: tensorflow has " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_an_older_version_has_samples_of_its_own(environment_python: Callable[[str], Path], tmp_path: Path) -> None:
    environment_python("tensorflow-2.11.0-cpu")
    path = tmp_path / "tensorflow.json"
    functions = ("tf.keras.layers.Dense", "tf.nn.conv2d", "tf.raw_ops.Conv2D", "tf.add")
    collect("tensorflow-2.11.0-cpu", SOURCES, path, *functions)
    assert set(parameters_of(path)) == set(functions)


def test_the_source_scipy_needs_scipy(environment_python: Callable[[str], Path]) -> None:
    python = environment_python("tensorflow-2.21.0-cpu")
    code = "import sys; sys.modules['scipy'] = None; from runners.tensorflow.samples import scipy; scipy.prepare()"
    done = subprocess.run([python, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("ModuleNotFoundError: import of scipy halted")
