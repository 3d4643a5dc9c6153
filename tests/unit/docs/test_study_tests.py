"""The generated tests of the study: the manifests are what docs/tools/study_tests.py makes of the properties."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

TOOL = Path("docs", "tools", "study_tests.py")
STUDY = Path("manifests", "study")
DTYPES = Path("schema", "floating-dtypes.json")


def run(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, root / TOOL, *options], capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the tool, what it reads and the study, which a test may change."""
    for path in (TOOL, DTYPES):
        (tmp_path / path).parent.mkdir(parents=True)
        shutil.copy(ROOT / path, tmp_path / path)
    shutil.copytree(ROOT / STUDY, tmp_path / STUDY)
    return tmp_path


def named_tests(root: Path, function: str) -> dict[str, Any]:
    entries = json.loads((root / STUDY / "torch.json").read_text("utf-8"))["functions"]
    return {test["id"]: test for entry in entries if entry["function"] == function for test in entry["tests"]}


def test_the_manifests_are_what_the_properties_make() -> None:
    done = run(ROOT, "--check")
    assert (done.returncode, done.stdout) == (0, ""), "run docs/tools/study_tests.py"


def test_a_changed_property_changes_only_generated_tests(copy: Path) -> None:
    table = copy / STUDY / "properties" / "torch.json"
    properties = json.loads(table.read_text("utf-8"))
    properties["torch.log1p"]["ranges"] = [[5, 6]]
    del properties["torch.round"]
    table.write_text(json.dumps(properties), "utf-8")
    before = named_tests(copy, "torch.log1p")
    stale = run(copy, "--check")
    assert (stale.returncode, stale.stdout) == (1, "manifests/study/torch.json: differs from its properties\n")
    assert named_tests(copy, "torch.log1p") == before
    assert run(copy).returncode == 0
    after = named_tests(copy, "torch.log1p")
    assert after["generated-range-1-float64"]["args"] == [
        {"tensor": {"shape": [641], "dtype": "float64", "seed": 1, "low": 5, "high": 6}}
    ]
    assert "generated-range-2-float32" in before and "generated-range-2-float32" not in after
    assert not any(name.startswith("generated-") for name in named_tests(copy, "torch.round"))
    written = {name: test for name, test in before.items() if not name.startswith("generated-")}
    assert {name: test for name, test in after.items() if not name.startswith("generated-")} == written
    assert run(copy, "--check").returncode == 0


def test_a_function_that_the_manifest_lacks_is_named(copy: Path) -> None:
    table = copy / STUDY / "properties" / "torch.json"
    table.write_text('{"torch.nowhere": {"kind": "bits", "expect": {"numpy": "invert"}}}', "utf-8")
    done = run(copy)
    assert done.returncode == 1
    assert "manifests/study/torch.json has no torch.nowhere, which its properties name" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_readme_and_the_page_on_the_paper_say_how_many_tests_there_are() -> None:
    count = 0
    for framework in ("torch", "tensorflow", "jax"):
        manifest = json.loads((ROOT / STUDY / f"{framework}.json").read_text("utf-8"))
        for entry in manifest["functions"]:
            for test in entry["tests"]:
                count += math.prod(len(values) for values in test.get("grid", {}).values())
    assert f"{count:,} tests of our own" in (ROOT / "README.md").read_text("utf-8")
    assert f"| {count:,} own tests" in (ROOT / "docs" / "paper.md").read_text("utf-8")
