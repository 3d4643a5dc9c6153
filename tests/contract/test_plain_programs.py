"""The plain programs of a bundle (reproduce.py), run in the framework's own environment without portbench.

All tests of the study's manifests that can be written so pass on the CPU, as they do under portbench, and one whose
expected value was changed does not. Of JAX, which compiles each, all are written and half of them run.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from portbench.explain.plain import NotPlain, plain_program
from runners.core.selection import Selection
from tests.contract.contracts import known_failures
from tests.paths import ROOT

pytestmark = pytest.mark.frameworks

TARGETS = {"torch": "torch-1.12.0-cpu", "tensorflow": "tensorflow-2.11.0-cpu", "jax": "jax-0.4.13-cpu"}
PART = {"torch": None, "tensorflow": None, "jax": (1, 2)}
FEWEST = {"torch": 200, "tensorflow": 150, "jax": 450}

RUN_ALL = """
import sys, traceback
from pathlib import Path
failed = []
for path in sorted(Path(sys.argv[1]).glob("*.py")):
    if "jax" in sys.modules:
        # Some programs turn 64 bits on, for all that follows.
        sys.modules["jax"].config.update("jax_enable_x64", False)
    try:
        exec(compile(path.read_text(), str(path), "exec"), {})
    except Exception:
        failed.append(path.read_text() + traceback.format_exc())
sys.exit("\\n".join(failed) or 0)
"""


def manifests(framework: str) -> Iterator[dict[str, Any]]:
    """A manifest with a single test for each of the study that is data."""
    manifest = json.loads((ROOT / "manifests" / "study" / f"{framework}.json").read_text())
    for entry in manifest["functions"]:
        for test in entry["tests"]:
            grid = test.get("grid", {})
            for values in itertools.product(*grid.values()) if test["case"] == "call" else ():
                single = {key: [value] for key, value in zip(grid, values, strict=True)}
                one = {**test, "grid": single} if grid else test
                yield {**manifest, "functions": [{**entry, "tests": [one]}]}


def _key(manifest: dict[str, Any]) -> tuple[str, str]:
    """The function and the test's name."""
    (entry,) = manifest["functions"]
    (test,) = entry["tests"]
    values = [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, (value,) in test.get("grid", {}).items()
    ]
    return entry["function"], test["id"] + (f"[{','.join(values)}]" if values else "")


@pytest.mark.parametrize("framework", TARGETS)
def test_plain_programs_pass_where_the_tests_do(
    framework: str, environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    written = 0
    part = Selection(shard=PART[framework])
    known = known_failures(framework, TARGETS[framework].split("-")[1])
    for manifest in manifests(framework):
        if _key(manifest) in known:
            continue
        try:
            program = plain_program(manifest, "cpu")
        except NotPlain as error:
            assert "no plain form" in str(error)
        else:
            written += 1
            if part.has_in_shard("::".join(_key(manifest))):
                (tmp_path / f"{written:04}.py").write_text(program)
    assert written > FEWEST[framework]
    done = subprocess.run(
        [environment_python(TARGETS[framework]), "-c", RUN_ALL, tmp_path], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("framework", TARGETS)
def test_a_plain_program_fails_on_another_value(
    framework: str, environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    manifest = next(each for each in manifests(framework) if "numpy" in each["functions"][0]["tests"][0]["expect"])
    program = plain_program(manifest, "cpu")
    wrong = program.replace("check(output, ", "check(output, np.full(7777, 1234.5) if True else ")
    for text, status in ((program, 0), (wrong, 1)):
        path = tmp_path / "reproduce.py"
        path.write_text(text)
        done = subprocess.run(
            [environment_python(TARGETS[framework]), path], capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == status, done.stderr
        assert ("as expected" in done.stdout) == (status == 0)
        assert ("AssertionError" in done.stderr) == (status == 1)
