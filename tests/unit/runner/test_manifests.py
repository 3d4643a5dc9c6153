"""The runner accepts and refuses the same manifests as the host: tests/examples holds them."""

from __future__ import annotations

import json

import pytest

from runners.core import manifest
from runners.core.errors import BadInput
from tests.unit.runner.runner_cli import ROOT

EXAMPLES = ROOT / "tests" / "examples" / "manifest"


def examples(kind):
    return [pytest.param(path, id=path.stem) for path in sorted((EXAMPLES / kind).glob("*.json"))]


@pytest.mark.parametrize("path", examples("valid"))
def test_valid(path):
    framework = json.loads(path.read_text("utf-8"))["framework"]
    assert manifest.read(path, framework).tests


# Whether a name is public, the runner asks the framework.
WITHOUT_FRAMEWORK = [example for example in examples("invalid") if example.id != "private_name"]


@pytest.mark.parametrize("path", WITHOUT_FRAMEWORK)
def test_invalid(path):
    with pytest.raises(BadInput) as refused:
        manifest.read(path, "torch")
    assert str(path) in str(refused.value)


def test_a_sweep_may_have_any_number_of_tests_that_are_written_out(tmp_path):
    entry = {"id": "t", "case": "fake.behaviours:passes"}
    tests = [{**entry, "id": f"t{number}"} for number in range(20_001)]
    tests.append({**entry, "id": "g", "params": {"x": "$x"}, "grid": {"x": [1, 2]}})
    document = {"schema": "portbench/manifest", "schema_version": 1, "name": "sweep", "framework": "fake"}
    path = tmp_path / "m.json"
    path.write_text(json.dumps({**document, "functions": [{"function": "fake.identity", "tests": tests}]}))
    assert len(manifest.read(path, "fake").tests) == 20_003
