"""A vendor's backend of PyTorch by the name of its module. ``vendors/torch_vendor`` stands in for a vendor's package:
its device computes later than its calls return, in memory of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.contract.vendors import compiled, results_of
from tests.paths import ROOT

pytestmark = [pytest.mark.frameworks, pytest.mark.xdist_group("TorchTPU")]

BACKEND = "PORTBENCH_TORCH_BACKEND"
PACKAGE = ROOT / "tests" / "contract" / "vendors" / "torch_vendor"
OLD, NEW = "2.9.0", "2.15.0"

OPTIONS = [
    *("-std=c++20", "-isystem", "{}/include", "-isystem", "{}/include/torch/csrc/api/include"),
    *("-L{}/lib", "-ltorch_cpu", "-lc10"),
]


class Vendor(NamedTuple):
    """A version of PyTorch with the stand-in that was compiled for it."""

    version: str
    python: Path
    library: Path

    def run(
        self, manifest: Path | str, out: Path, *arguments: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "portbench",
            "run",
            f"torch-{self.version}-privateuse1",
            "--backend",
            "current",
        ]
        command += ["--manifest", str(manifest), "--runs", "1", "--out", str(out), *arguments]
        own = {"PORTBENCH_PYTHON": str(self.python), "VENDOR_LIBRARY": str(self.library)}
        environment = {**os.environ, **own, BACKEND: str(PACKAGE), **variables}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module", params=[OLD, pytest.param(NEW, marks=pytest.mark.slow(minutes=2))])
def vendor(request: pytest.FixtureRequest, environment_python: Callable[[str], Path]) -> Vendor:
    # TorchTPU's environment is there for other tests, and has this version of PyTorch.
    python = environment_python(f"torch-{OLD}-cpu" if request.param == OLD else f"torch-{NEW}-tpu-v5e")
    return Vendor(request.param, python, compiled(PACKAGE / "backend.cpp", python, "torch", OPTIONS))


def test_placement_and_waiting_of_a_vendors_device_are_recognized(vendor: Vendor, tmp_path: Path) -> None:
    results, document = results_of(vendor.run("placement", tmp_path, "--json"))
    verdicts = {test: result["placement"]["verdict"] for test, result in results.items()}
    assert verdicts == {"on-device": "device", "on-host": "host", "on-both": "mixed"}
    assert "output on vendor:0" in results["on-device"]["placement"]["evidence"]
    assert all(result["sync_check"]["passed"] for result in results.values())
    device = document["environment"]["device"]
    assert [device[key] for key in ("kind", "backend", "backend_version", "device_name", "model")] == [
        *("privateuse1", "torch_vendor", "1.2.3", "vendor", "Vendor One")
    ]
    assert document["environment"]["variables"][BACKEND] == str(PACKAGE)


def entry(function: str, *more: Any) -> dict[str, Any]:
    """A test of a function of an 8 by 8 matrix, which must give what NumPy gives."""
    name = function.partition(".")[2]
    args = [{"tensor": {"shape": [8, 8], "dtype": "float32", "seed": 1}}, *more]
    # NumPy has no erf: its result here is not looked at, since none is expected.
    expect = {"numpy": "tanh" if name == "erf" else name}
    return {"function": function, "tests": [{"id": name, "case": "call", "args": args, "expect": expect}]}


def test_what_a_device_refuses_or_leaves_to_the_host_is_recorded(vendor: Vendor, tmp_path: Path) -> None:
    calls = [
        entry("torch.cos"),
        entry("torch.cumsum", 0),
        entry("torch.expm1"),
        entry("torch.cosh"),
        entry("torch.erf"),
    ]
    text = {"name": "vendor", "description": "What a stand-in computes in its own way.", "functions": calls}
    head = {"schema": "portbench/manifest", "schema_version": 2, "framework": "torch", "written_for": "2.9.0"}
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({**head, **text}))
    results, _ = results_of(vendor.run(manifest, tmp_path / "out", "--protocol", "cold", "--json"))
    placements = {test: result["placement"]["verdict"] for test, result in results.items()}
    assert placements == {"cos": "device", "cumsum": "host", "expm1": "mixed", "cosh": "unknown", "erf": "unknown"}
    assert results["cumsum"]["placement"]["host_operations"] == ["aten::cumsum"]
    assert results["expm1"]["placement"]["host_operations"] == ["aten::exp"]
    assert [result["outcome"] for result in results.values()] == ["passed", "passed", "passed", "failed", "failed"]
    assert "Could not run 'aten::cosh" in results["cosh"]["error"]["message"]
    # The call returned before the kernel failed: only waiting shows it.
    assert results["erf"]["error"]["message"] == "vendor: the kernel of erf failed on the device"


@pytest.mark.parametrize(("fault", "passes"), [("early synchronize", False), ("only PyTorch's synchronize", True)])
def test_a_wait_that_does_not_wait_is_noticed(vendor: Vendor, fault: str, passes: bool, tmp_path: Path) -> None:
    results, document = results_of(
        vendor.run("placement", tmp_path, "--test", "on-device", "--json", VENDOR_FAULT=fault)
    )
    assert results["on-device"]["sync_check"]["passed"] is passes
    waits_by = "torch.accelerator.synchronize" if passes else "torch.vendor.synchronize"
    assert document["environment"]["device"]["waits_by"] == waits_by


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({BACKEND: ""}, f"{BACKEND} is not set"),
        ({BACKEND: "no_such_module"}, "has no module no_such_module"),
        ({BACKEND: "./vendor"}, f"{BACKEND}=./vendor: expected an absolute path"),
        ({BACKEND: "json"}, "registered no backend in PrivateUse1"),
        ({"VENDOR_FAULT": "nothing registered"}, "registered no backend in PrivateUse1"),
        ({"VENDOR_FAULT": "broken driver"}, "libvendor.so.1: cannot open shared object file"),
        ({"VENDOR_FAULT": "no device"}, "torch.vendor.is_available() is False"),
        ({"VENDOR_FAULT": "no synchronize"}, "there is no torch.vendor.synchronize"),
    ],
)
def test_a_backend_that_cannot_be_used_gives_one_sentence_and_no_file(
    vendor: Vendor, variables: dict[str, str], said: str, tmp_path: Path
) -> None:
    done = vendor.run("placement", tmp_path, **variables)
    assert done.returncode == 3, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_real_vendors_backend_without_its_device_is_refused_before_any_computation(
    environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    # TorchTPU's first computation without a TPU ends the process.
    python = environment_python(f"torch-{NEW}-tpu-v5e")
    done = Vendor(NEW, python, Path()).run("placement", tmp_path, **{BACKEND: "torch_tpu"})
    assert done.returncode == 3, done.stderr
    assert f"{BACKEND}=torch_tpu was imported, and registered no module" in done.stderr


def test_the_stand_in_keeps_the_promises_of_every_adapter(vendor: Vendor) -> None:
    command = [str(vendor.python), "-m", "tests.contract.adapter_checks", "torch", vendor.version, "privateuse1"]
    environment = {**os.environ, "VENDOR_LIBRARY": str(vendor.library), BACKEND: str(PACKAGE)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_virtual_environment_of_portbench_runs_it_too(vendor: Vendor, tmp_path: Path) -> None:
    if vendor.version != OLD:
        pytest.skip("portbench's environment of the newer PyTorch would take several GB")
    out = tmp_path / "out"
    done = vendor.run("placement", out, "--backend", "venv", "--test", "on-device", "--json")
    results, _ = results_of(done)
    assert results["on-device"]["placement"]["verdict"] == "device"
