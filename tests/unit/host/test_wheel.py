"""The wheel, installed into an environment of its own and used in an empty folder, as by a user without a clone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.paths import ROOT

pytestmark = [pytest.mark.slow(minutes=1), pytest.mark.xdist_group("wheel")]

TESTS = [{"id": id, "case": f"fake.behaviours:{id}"} for id in ("passes", "fails")]
HEAD = {"schema": "portbench/manifest", "schema_version": 1, "name": "small", "framework": "fake"}
MANIFEST = {**HEAD, "functions": [{"function": "fake.identity", "tests": TESTS}]}


class Installed:
    """An environment with the wheel; ``portbench`` runs in the empty folder ``folder``."""

    def __init__(self, environment: Path, folder: Path) -> None:
        self.python = environment / "bin" / "python"
        self.folder = folder

    def portbench(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(self.python.with_name("portbench")), *map(str, arguments)]
        env = {**os.environ, "PORTBENCH_PYTHON": str(self.python), "PYTHONPATH": ""}
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=300)

    def done(self, *arguments: object) -> str:
        """The output of a command that must succeed."""
        done = self.portbench(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    environment, uv = folder / "environment", find_uv_bin()
    for command in (
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        [uv, "venv", "--quiet", "--python", sys.executable, environment],
    ):
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    install = [uv, "pip", "install", "--quiet", "--python", environment / "bin" / "python"]
    subprocess.run([*install, "--require-hashes", "--requirements", ROOT / "scripts" / "host.lock"], check=True)
    subprocess.run([*install, "--no-deps", wheel], check=True)
    empty = folder / "empty"
    empty.mkdir()
    return Installed(environment, empty)


@pytest.fixture(scope="module")
def study(installed: Installed) -> Path:
    """The study of a run that the installed portbench made."""
    (installed.folder / "small.json").write_text(json.dumps(MANIFEST))
    run = ["run", "fake-cpu", "--backend", "current", "--manifest", "small.json", "--runs", "1", "--json"]
    (target,) = json.loads(installed.done(*run))["targets"]
    assert target["outcomes"] == {"passed": 1, "failed": 1}
    installed.done("validate", "small.json", target["run_file"])
    installed.done("merge", "results", "-o", "study")
    return installed.folder / "study"


def test_report_writes_the_page_tables_and_figures(installed: Installed, study: Path) -> None:
    installed.done("report", study, "-o", "report")
    report = installed.folder / "report"
    assert "fake.identity" in (report / "report.md").read_text()
    assert "</html>" in (report / "index.html").read_text()


def test_explain_writes_a_bundle(installed: Installed, study: Path) -> None:
    explained = installed.done("explain", study, "fake.identity", "--manifest", "small.json", "--bundle", "bundle")
    assert "expected 2, got 1" in explained
    assert json.loads((installed.folder / "bundle" / "manifest.json").read_text())["functions"][0]["tests"]


def test_compare_finds_no_change_in_the_same_results(installed: Installed, study: Path) -> None:
    compared = json.loads(installed.done("compare", study, "results", "--json"))
    assert compared["schema"] == "portbench/comparison"


def test_the_papers_results_are_imported(installed: Installed) -> None:
    installed.done("import-study-2023", "-o", "paper")
    assert len(list((installed.folder / "paper").glob("study-2023-jax-*.json"))) == 4


def test_the_catalogue_of_targets_is_in_the_package(installed: Installed) -> None:
    listed = json.loads(installed.done("targets", "--json"))["targets"]
    assert {"torch-1.12.0-cpu", "jax-0.10.2-tpu-v5e"} <= {row["target"] for row in listed}


@pytest.mark.parametrize(
    "arguments",
    [["lock"], ["images", "list"], ["add-version", "torch", "9.9.9"], ["run", "fake-cpu", "--backend", "docker"]],
)
def test_what_needs_a_clone_says_so(installed: Installed, arguments: list[str]) -> None:
    (installed.folder / "small.json").write_text(json.dumps(MANIFEST))
    manifest = ["--manifest", "small.json"] if arguments[0] == "run" else []
    done = installed.portbench(*arguments, *manifest)
    assert done.returncode in (2, 3)
    assert done.stderr.count("error:") == 1
    assert "clone" in done.stderr and "git clone" in done.stderr


def test_the_recorder_in_the_package_can_be_installed_as_a_plugin_of_pytest(installed: Installed) -> None:
    (recorder,) = installed.python.parents[1].glob("lib/python*/site-packages/portbench/repository/runners/recorder")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", installed.folder]
    subprocess.run(build, cwd=recorder, check=True, capture_output=True)
    (wheel,) = installed.folder.glob("portbench_recorder-*.whl")
    install = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--python", installed.python, wheel]
    subprocess.run(install, check=True)
    (installed.folder / "test_it.py").write_text("def test_it(): pass\n")
    command = [installed.python, "-m", "pytest", "--portbench-record=rec", "test_it.py"]
    done = subprocess.run(command, cwd=installed.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no call of a framework was recorded" in done.stdout
