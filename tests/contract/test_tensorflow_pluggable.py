"""A vendor's pluggable device of TensorFlow. ``vendors/tensorflow_vendor`` stands in for a vendor's plugin: its device
computes later than its calls return, in memory of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.vendors import compiled, results_of
from tests.paths import ROOT

pytestmark = [pytest.mark.frameworks, pytest.mark.xdist_group("pluggable")]

VERSION = "2.21.0"
PLUGIN = "PORTBENCH_TENSORFLOW_PLUGIN"
PACKAGE = ROOT / "tests" / "contract" / "vendors" / "tensorflow_vendor"
OPTIONS = [
    *("-std=c++17", "-O3", "-isystem", "{}/include"),
    *("-L{}", "-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"),
]


@pytest.fixture(scope="module")
def library(environment_python: Callable[[str], Path]) -> Path:
    python = environment_python(f"tensorflow-{VERSION}-cpu")
    return compiled(PACKAGE / "plugin.cpp", python, "tensorflow", OPTIONS)


def run(manifest: Path | str, out: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "portbench", "run", f"tensorflow-{VERSION}-pluggable", "--backend", "venv"]
    command += ["--manifest", str(manifest), "--runs", "1", "--out", str(out), *arguments]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True)


def test_placement_and_waiting_of_a_pluggable_device_are_recognized(library: Path, tmp_path: Path) -> None:
    results, document = results_of(run("placement", tmp_path, "--json", **{PLUGIN: str(library)}))
    verdicts = {test: result["placement"]["verdict"] for test, result in results.items()}
    assert verdicts == {
        "on-device": "device",
        "on-device-function": "device",
        "on-device-session": "device",
        "on-host": "host",
        "on-host-function": "host",
        "on-host-session": "host",
        "on-both": "mixed",
        "on-both-numpy": "mixed",
    }
    assert {result["outcome"] for result in results.values()} == {"passed"}
    assert results["on-device"]["placement"]["evidence"] == ["output on VENDOR:0", "AddV2 on VENDOR:0"]
    assert all(result["sync_check"]["passed"] for result in results.values())
    device = document["environment"]["device"]
    assert [device[key] for key in ("kind", "device_type", "plugin")] == ["pluggable", "VENDOR", library.name]


def test_an_operation_without_a_kernel_is_refused_and_not_left_to_the_host(library: Path, tmp_path: Path) -> None:
    args = [{"tensor": {"shape": [8, 8], "dtype": "float32", "seed": 1}}]
    calls = [
        {
            "function": f"tf.math.{name}",
            "tests": [{"id": name, "case": "call", "args": args * most, "expect": expected}],
        }
        for name, most, expected in [("cosh", 1, {"numpy": "cosh"}), ("multiply", 2, {"numpy": "multiply"})]
    ]
    head = {"schema": "portbench/manifest", "schema_version": 2, "framework": "tensorflow", "written_for": VERSION}
    manifest = tmp_path / "manifest.json"
    text = {"name": "vendor", "description": "One operation without a kernel, and one with.", "functions": calls}
    manifest.write_text(json.dumps({**head, **text}))
    results, _ = results_of(run(manifest, tmp_path / "out", "--protocol", "cold", "--json", **{PLUGIN: str(library)}))
    assert {test: result["outcome"] for test, result in results.items()} == {"cosh": "failed", "multiply": "passed"}
    assert "Could not satisfy device specification" in results["cosh"]["error"]["message"]
    assert results["multiply"]["placement"]["verdict"] == "device"


def test_a_wait_that_does_not_wait_is_noticed(library: Path, tmp_path: Path) -> None:
    variables = {PLUGIN: str(library), "VENDOR_FAULT": "early synchronize"}
    results, _ = results_of(run("placement", tmp_path, "--test", "on-device", "--json", **variables))
    assert results["on-device"]["sync_check"]["passed"] is False


def test_a_module_that_loads_its_plugin_is_a_device_too(library: Path, tmp_path: Path) -> None:
    variables = {PLUGIN: str(PACKAGE), "VENDOR_LIBRARY": str(library)}
    results, document = results_of(run("placement", tmp_path, "--test", "on-device", "--json", **variables))
    assert results["on-device"]["placement"]["verdict"] == "device"
    device = document["environment"]["device"]
    assert [device[key] for key in ("plugin", "plugin_version")] == ["tensorflow_vendor", "4.5.6"]


@pytest.mark.parametrize(
    ("plugin", "fault", "said"),
    [
        ("", "", f"{PLUGIN} is not set"),
        ("plugin/vendor.so", "", f"{PLUGIN}=plugin/vendor.so: expected an absolute path"),
        ("no_such_module", "", "has no module no_such_module"),
        ("json", "", "registered no device"),
        (str(ROOT / "README.md"), "", "cannot be loaded by TensorFlow"),
        ("library", "no device", "registered no device"),
    ],
)
def test_a_plugin_that_cannot_be_used_gives_one_sentence_and_no_file(
    library: Path, plugin: str, fault: str, said: str, tmp_path: Path
) -> None:
    value = str(library) if plugin == "library" else plugin
    done = run("placement", tmp_path, **{PLUGIN: value, "VENDOR_FAULT": fault})
    assert done.returncode == 3, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
