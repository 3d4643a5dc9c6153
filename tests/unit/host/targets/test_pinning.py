"""Targets whose wheels only a vendor serves: installed without a lock, and locked where the vendor is reached.

The package index and the vendor are servers on this machine, with wheels that the test makes under the real names.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from portbench.errors import EnvironmentFailed, TargetUnavailable
from portbench.formats.documents import read_document
from portbench.targets import environments
from portbench.targets.catalog import Target, find_targets
from portbench.util.repository import Checkout
from tests.paths import ROOT
from tests.unit.host.clones import Clone, make_clone
from tests.unit.host.conftest import run_document
from tests.wheels import add_to_index, make_wheel, served, sha256

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
"""The Python of the targets, so that none is downloaded."""


@dataclass
class World:
    """A clone, an index with torch and jax, and a vendor with what only a vendor has."""

    clone: Clone
    vendor: Path
    address: str

    def target(self, name: str) -> Target:
        (target,) = find_targets([name], Checkout(self.clone.root))
        return target

    @property
    def folder(self) -> Path:
        return self.clone.root / "images" / "torch" / "1.12.0"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    clone = make_clone(tmp_path)
    index, vendor = tmp_path / "index", tmp_path / "vendor"
    for name, version in (
        ("torch", "1.12.0"),
        ("numpy", "1.24.4"),
        ("jax", "0.4.8"),
        ("jaxlib", "0.4.13"),
        ("uv", "0.9.0"),
    ):
        add_to_index(index, name, version)
    make_wheel(vendor / "tpuvm", "torch_xla", "1.12", ["torch==1.12.0"])
    make_wheel(vendor / "libtpu-nightly", "libtpu_nightly", "0.1.dev20220518")
    make_wheel(vendor / "jax_releases", "jaxlib", "0.4.7", ["numpy"])
    with served(index) as packages, served(vendor) as storage:
        torch, jax = (clone.add_version(*version, python=HERE) for version in (("torch", "1.12.0"), ("jax", "0.4.8")))
        for path in (torch / "cpu.lock", jax / "cpu.lock", torch / "cpu.in"):
            path.unlink()
        (torch / "tpu.in").write_text(
            f"# Only the vendor has two of these.\ntorch==1.12.0\nnumpy==1.24.4\n"
            f"torch_xla @ {storage}/tpuvm/torch_xla-1.12-py3-none-any.whl\n"
            f"libtpu-nightly @ {storage}/libtpu-nightly/libtpu_nightly-0.1.dev20220518-py3-none-any.whl\n"
        )
        (jax / "cpu.in").write_text(f"--find-links {storage}/jax_releases/\njax==0.4.8\njaxlib==0.4.7\nnumpy==1.24.4\n")
        monkeypatch.setenv("XDG_CACHE_HOME", str(clone.root / "cache"))
        for variable in ("UV_INDEX_URL", "UV_DEFAULT_INDEX"):
            monkeypatch.setenv(variable, packages)
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "UV_OFFLINE", "UV_EXTRA_INDEX_URL", "UV_INDEX"):
            monkeypatch.delenv(variable, raising=False)
        yield World(clone, vendor, storage)


def pins_of(python: Path) -> dict[str, Any]:
    """What a runner in this environment records."""
    program = "import json; from runners.core.installation import pins; print(json.dumps(pins()))"
    done = subprocess.run([python, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def versions(python: Path, *modules: str) -> list[str]:
    program = f"import {', '.join(modules)}; print({', '.join(f'{module}.__version__' for module in modules)})"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_packages_of_a_vendors_addresses_are_installed_without_a_lock_and_their_hashes_recorded(
    world: World, write: Any
) -> None:
    said: list[str] = []
    python = environments.create_environment(world.target("torch-tpu"), said.append)
    assert versions(python, "torch", "torch_xla", "libtpu_nightly") == ["1.12.0", "1.12", "0.1.dev20220518"]
    assert any("torch-1.12.0-tpu is pinned, not hash-locked" in line for line in said)
    found = pins_of(python)["pins"]
    assert found["kind"] == "pinned, not hash-locked"
    (xla,) = (world.vendor / "tpuvm").iterdir()
    assert found["hashes"]["torch-xla"] == [sha256(xla)]
    assert set(found["hashes"]) == {"torch", "torch-xla", "libtpu-nightly", "numpy"}
    document = run_document()
    document["environment"]["pins"] = found
    read_document(write("run.json", document), "run")


def test_a_vendors_release_page_serves_a_package_that_the_index_has_only_in_other_versions(world: World) -> None:
    python = environments.create_environment(world.target("jax-cpu"), print)
    assert versions(python, "jax", "jaxlib") == ["0.4.8", "0.4.7"]
    (jaxlib,) = (world.vendor / "jax_releases").iterdir()
    assert pins_of(python)["pins"]["hashes"]["jaxlib"] == [sha256(jaxlib)]


def test_where_the_vendor_is_reached_lock_makes_it_hash_locked(world: World) -> None:
    loose = environments.create_environment(world.target("torch-tpu"), print)
    done = world.clone.portbench("lock", "torch/1.12.0/tpu")
    assert done.returncode == 0, done.stderr
    strict = environments.create_environment(world.target("torch-tpu"), print)
    assert strict != loose
    assert pins_of(strict)["pins"]["kind"] == "hash-locked"
    assert "hashes" not in pins_of(strict)["pins"]
    (xla,) = (world.vendor / "tpuvm").iterdir()
    make_wheel(xla.parent, "torch_xla", "1.12", ["numpy"])  # other content under the same address
    for folder in (strict.parents[1], world.clone.root / "cache" / "uv"):
        shutil.rmtree(folder)
    with pytest.raises(EnvironmentFailed, match="Hash mismatch"):
        environments.create_environment(world.target("torch-tpu"), print)


def test_targets_and_doctor_call_it_pinned_not_hash_locked(world: World) -> None:
    rows = json.loads(world.clone.portbench("targets", "--json").stdout)["targets"]
    pins = {row["target"]: row["pins"] for row in rows}
    assert pins["torch-1.12.0-tpu"] == pins["jax-0.4.8-cpu"] == "pinned, not hash-locked"
    assert pins["fake-1.0.0-cpu"] == "hash-locked"
    table = world.clone.portbench("targets").stdout
    assert "jax-0.4.8-cpu * + ~" in table
    assert "~ pinned, not hash-locked" in table
    done = world.clone.portbench("doctor", "jax-cpu", "--backend", "venv")
    assert done.returncode == 0, done.stdout
    assert "jax-0.4.8-cpu is pinned, not hash-locked" in done.stdout
    assert "'portbench lock jax/0.4.8/cpu'" in done.stdout


@pytest.mark.parametrize(
    "command", [["doctor", "jax-cpu", "--backend", "venv"], ["run", "jax-cpu", "--backend", "venv"]]
)
def test_a_vendor_that_is_not_reached_is_one_sentence_before_anything_is_installed(
    world: World, command: list[str]
) -> None:
    source = world.clone.root / "images" / "jax" / "0.4.8" / "cpu.in"
    source.write_text(source.read_text().replace(world.address, "http://127.0.0.1:9"))
    done = world.clone.portbench(*command)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == (1 if command[0] == "doctor" else 3)
    assert "jax-0.4.8-cpu cannot be installed here: http://127.0.0.1:9/jax_releases/ cannot be reached" in said
    assert "Run 'portbench images build jax-0.4.8-cpu' on a machine that reaches it" in said
    assert "Traceback" not in said
    assert not list((world.clone.root / "cache").glob("portbench/environments/jax-0.4.8-cpu-*/bin"))


def test_an_address_that_the_vendor_no_longer_has_is_named(world: World) -> None:
    for wheel in (world.vendor / "tpuvm").iterdir():
        wheel.unlink()
    with pytest.raises(
        TargetUnavailable, match=r"torch_xla-1.12-py3-none-any.whl cannot be reached: its server has no such file"
    ):
        environments.create_environment(world.target("torch-tpu"), print)


@pytest.mark.parametrize("line", ["numpy", "numpy>=1", "numpy==1.*", "torch[all]"])
def test_a_requirement_without_a_version_needs_a_lock(world: World, line: str) -> None:
    source = world.clone.root / "images" / "jax" / "0.4.8" / "cpu.in"
    source.write_text(f"{source.read_text()}{line}\n")
    done = world.clone.portbench("run", "jax-cpu", "--backend", "venv")
    assert done.returncode == 3
    assert "jax-0.4.8-cpu is not locked: 'portbench lock jax/0.4.8/cpu'" in " ".join(done.stderr.split())
