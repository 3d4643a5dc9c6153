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
