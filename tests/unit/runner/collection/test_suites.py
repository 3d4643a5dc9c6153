"""Collecting tests from the test suite of an installed package."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

pytest.importorskip("numpy")

from tests.unit.runner.collection.test_collection import COLLECT
from tests.unit.runner.runner_cli import ROOT

CONFTEST = """
from portbench_recorder import hooks

hooks.RECORDERS["runners.fake.library"] = "runners.fake.recorder"
"""
SUITE = """
import runners.fake.library as fake

def test_scale():
    assert fake.scale(fake.Tensor([1.0, 2.0]), 3.0).values == [3.0, 6.0]

def test_that_fails():
    fake.noise(fake.Tensor([1.0]))
    raise ValueError("fails")
"""


@pytest.fixture
def packages(tmp_path):
    """A folder with a package that has tests, and one that has none."""
    folder = tmp_path / "packages"
    for name, files in (
        ("tested", {"conftest.py": CONFTEST, "scale_test.py": SUITE, "idle_test.py": "def test_nothing(): pass\n"}),
        ("untested", {"code.py": ""}),
    ):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("")
        for file, text in files.items():
            (folder / name / file).write_text(text)
    return folder


def collected(packages, out, source):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), str(ROOT)])}
    command = [*COLLECT, "--collect", source, "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout.splitlines()[-1]), out / "fake-1.0.0.collected.json"


def test_calls_of_a_suite_become_tests_that_name_its_files(packages, tmp_path):
    status, last, path = collected(packages, tmp_path, "pytest:tested")
    assert (status, last["event"]) == (0, "end"), last
    document = json.loads(path.read_text())
    (source,) = document["collected"]["sources"]
    assert (source["name"], source["package"], source["entries"]) == ("pytest-tested", "tested", 1)
    tests = {entry["function"]: entry["tests"] for entry in document["functions"]}
    assert set(tests) == {"fake.noise", "fake.scale", "fake.scale_"}
    params = tests["fake.scale"][0]["params"]
    assert (params["source"], params["entry"], params["position"]) == ("pytest-tested", "tested/scale_test.py", 0)
    assert "float16" in tests["fake.scale"][0]["grid"]["mutation"]
    assert collected(packages, tmp_path / "again", "pytest:tested")[2].read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("pytest:missing", "the package missing is not installed in this environment"),
        ("pytest:untested", "the installed package untested has no tests: pytest collected none"),
        ("pytest:tested.idle_test", "the tests of tested.idle_test make no call of fake that can be repeated"),
        ("pytest:tested.gone", "pytest ended with exit status 4 for tested.gone"),
        ("pytest:../tested", "the source 'pytest:../tested' names no package"),
    ],
)
def test_a_suite_that_cannot_be_recorded_says_why(packages, tmp_path, source, said):
    status, last, path = collected(packages, tmp_path / "out", source)
    assert (status, last["event"], path.exists()) == (2, "error", False)
    assert said in last["message"]


def test_without_pytest_the_message_names_it(packages, tmp_path):
    (packages / "sitecustomize.py").write_text(
        "import sys\nfrom importlib.machinery import PathFinder\n"
        "class Finder:\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        return None if name == 'pytest' else PathFinder.find_spec(name, path, target)\n"
        "sys.meta_path[:] = [each for each in sys.meta_path if each is not PathFinder] + [Finder]\n"
    )
    status, last, _ = collected(packages, tmp_path / "out", "pytest:tested")
    assert (status, last["event"]) == (2, "error")
    assert "the package pytest is not installed in this environment" in last["message"]
    assert "--backend current" in last["remedy"]
