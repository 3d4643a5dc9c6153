"""Calls that examples in docstrings make, as collected tests: in every framework they pass on the CPU again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.collected import collect, results_of

pytestmark = [pytest.mark.frameworks, pytest.mark.slow(minutes=2), pytest.mark.xdist_group("calls of docstrings")]

FUNCTIONS = {
    "torch-2.9.0-cpu": ("torch.addmm", "torch.gather", "torch.abs", "torch.abs_", "torch.hub.load"),
    "jax-0.12.0.1-cpu": ("jax.numpy.add", "jax.numpy.argmax", "jax.nn.relu"),
    "tensorflow-2.21.0-cpu": ("tf.math.add", "tf.gather", "tf.io.gfile.GFile"),
}


@pytest.fixture(scope="module", params=sorted(FUNCTIONS))
def collected(
    request: pytest.FixtureRequest, environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """A target, and a manifest of a few of its functions."""
    target = str(request.param)
    environment_python(target)
    path = tmp_path_factory.mktemp("docs") / "docs.json"
    collect(target, "docs", path, *FUNCTIONS[target])
    return target, path


def test_calls_and_their_mutations_pass_on_the_cpu(collected: tuple[str, Path], tmp_path: Path) -> None:
    target, path = collected
    document = json.loads(path.read_text("utf-8"))
    tests: dict[str, list[Any]] = {entry["function"]: entry["tests"] for entry in document["functions"]}
    expected = [name for name in FUNCTIONS[target] if name not in ("torch.hub.load", "tf.io.gfile.GFile")]
    assert set(expected) <= set(tests)
    for name in expected:
        mutations = [mutation for test in tests[name] for mutation in test["grid"]["mutation"]]
        assert {"none", "empty"} <= set(mutations), name
        assert tests[name][0]["params"]["args"], name
    found = results_of(target, path, tmp_path / "results")
    assert len(found) > 20
    assert [name for name, result in found.items() if result["outcome"] != "passed"] == []
