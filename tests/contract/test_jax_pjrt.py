"""A vendor's device by its PJRT plugin. The XLA:CPU plugin under another name stands in for a vendor's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

from portbench.targets.environments import environments_folder
from tests.contract.vendors import results_of
from tests.paths import ROOT

pytestmark = pytest.mark.frameworks

TARGET = "jax-0.10.2-pjrt"
STAND_IN = "fastatomstruct-xla-cpu==2026.6.23"
"""A package of the index with an XLA:CPU plugin; 274 MB."""


def run(out: Path, plugin: Path | str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PORTBENCH_PJRT_PLUGIN"}
    if plugin is not None:
        environment["PORTBENCH_PJRT_PLUGIN"] = str(plugin)
    command = [sys.executable, "-m", "portbench", "run", TARGET, "--backend", "venv", "--manifest", "placement"]
    command += ["--runs", "1", "--out", str(out), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (None, "PORTBENCH_PJRT_PLUGIN is not set"),
        ("plugin.so", "PORTBENCH_PJRT_PLUGIN=plugin.so: expected the absolute path of a file"),
        (ROOT / "README.md", "cannot open the device"),
    ],
)
def test_a_plugin_that_is_none_gives_one_sentence_and_no_file(plugin: str | None, said: str, tmp_path: Path) -> None:
    done = run(tmp_path, plugin)
    assert done.returncode == 3
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in's library under a vendor's name."""
    packages = environments_folder().parent / "test-packages" / STAND_IN
    library = packages / "fastatomstruct_xla_cpu" / "libpjrt_cpu.so"
    if not library.is_file():
        subprocess.run([find_uv_bin(), "pip", "install", "--quiet", "--target", packages, STAND_IN], check=True)
    named = tmp_path_factory.mktemp("vendor") / "libpjrt_vendor.so"
    shutil.copyfile(library, named)
    return named


@pytest.mark.slow
def test_placement_and_waiting_of_a_vendors_device_are_recognized(plugin: Path, tmp_path: Path) -> None:
    results, document = results_of(run(tmp_path, plugin, "--json"))
    verdicts = {test: result["placement"]["verdict"] for test, result in results.items()}
    assert verdicts == {
        "on-device": "device",
        "on-host": "host",
        "on-both": "mixed",
        "in-numpy": "mixed",
        "in-callback": "unknown",
    }
    # Its platform is called cpu, as the host's, and yet it is not the host.
    assert "output on pjrt:0" in results["on-device"]["placement"]["evidence"]
    assert document["environment"]["device"]["platform"] == "cpu"
    assert document["environment"]["device"]["plugin"] == "libpjrt_vendor.so"
    assert "callback" in results["in-callback"]["error"]["message"]
    assert all(result["sync_check"]["passed"] for result in results.values())
