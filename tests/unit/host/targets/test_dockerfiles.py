"""Dockerfiles from the template, and `portbench lock --bases` with a stand-in for docker."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from portbench.targets.catalog import find_targets
from portbench.targets.dockerfiles import dockerfile
from portbench.util.repository import Checkout
from tests.unit.host.clones import REPOSITORY, Clone, make_clone

# The registry knows every tag, and the digest of python:3.10... is 10 10 10 ...
DOCKER = """#!/bin/sh
for last; do :; done
case "$last" in *$UNKNOWN*) echo "ERROR: failed to do request: dial tcp: no such host" >&2; exit 1;; esac
minor=$(echo "$last" | sed 's/python:3.\\([0-9]*\\)-.*/\\1/')
printf '"sha256:'; for _ in $(seq 32); do printf '%02d' "$minor"; done; echo '"'
"""


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = make_clone(tmp_path)
    shutil.copyfile(REPOSITORY / "images" / "Dockerfile.jinja", made.root / "images" / "Dockerfile.jinja")
    for version, python in (("1.12.0", "3.8"), ("2.9.0", "3.10")):
        (made.add_version("torch", version, python=python) / "cpu.Dockerfile").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "docker").write_text(DOCKER)
    (tmp_path / "bin" / "docker").chmod(0o755)
    return made


def variables(clone: Clone, unknown: str = "nothing") -> dict[str, str]:
    return {"PATH": f"{clone.root.parent / 'bin'}{os.pathsep}{os.environ['PATH']}", "UNKNOWN": unknown}


def test_base_images_are_pinned_by_the_digests_of_the_registry_in_every_stage(clone: Clone) -> None:
    done = clone.portbench("lock", "--bases", variables=variables(clone))
    assert done.returncode == 0, done.stderr
    pinned = [f"python:3.8-slim-bookworm@sha256:{32 * '08'}", f"python:3.10-slim-bookworm@sha256:{32 * '10'}"]
    assert (clone.root / "images" / "bases.lock").read_text().splitlines() == pinned
    for version, base in zip(("1.12.0", "2.9.0"), pinned, strict=True):
        text = (clone.root / "images" / "torch" / version / "cpu.Dockerfile").read_text()
        assert text.count("\nFROM ") == text.count(f"\nFROM {base}") == 3
        assert f"changed    images/torch/{version}/cpu.Dockerfile" in done.stdout


def test_without_the_registry_nothing_changes_and_one_error_says_what_to_do(clone: Clone) -> None:
    done = clone.portbench("lock", "--bases", variables=variables(clone, unknown="3.10"))
    assert done.returncode == 6
    assert "the registry did not give the digest of python:3.10-slim-bookworm" in done.stderr
    assert "no such host" in done.stderr
    assert "a machine with Docker's buildx that reaches the registry" in " ".join(done.stderr.split())
    assert not (clone.root / "images" / "bases.lock").exists()
    assert (clone.root / "images" / "torch" / "2.9.0" / "cpu.Dockerfile").read_text() == ""


def test_latest_is_a_folder_of_copies_for_compose(clone: Clone) -> None:
    images = clone.root / "images" / "torch"
    (images / "1.12.0" / "tpu.Dockerfile").touch()
    (images / "latest").mkdir()
    (images / "latest" / "gpu.Dockerfile").write_text("of a device that no version has any more")
    done = clone.portbench("lock", "fake/1.0.0")
    assert done.returncode == 0, done.stderr
    copies = {path.name: path.read_text() for path in (images / "latest").iterdir()}
    assert set(copies) == {"cpu.Dockerfile", "tpu.Dockerfile"}
    assert copies["cpu.Dockerfile"] == (images / "2.9.0" / "cpu.Dockerfile").read_text()
    assert copies["tpu.Dockerfile"] == (images / "1.12.0" / "tpu.Dockerfile").read_text()
    for name in ("cpu", "tpu", "gpu"):
        assert f"changed    images/torch/latest/{name}.Dockerfile" in done.stdout
    assert "latest" not in clone.portbench("lock", "fake/1.0.0").stdout


def test_a_malformed_list_of_base_images_is_an_error(clone: Clone) -> None:
    (clone.root / "images" / "bases.lock").write_text("python:3.10\n")
    done = clone.portbench("lock", "--bases", "torch", variables=variables(clone))
    assert done.returncode == 2
    done = clone.portbench("lock", "fake/1.0.0", variables=variables(clone))
    assert "'python:3.10' is no base image with its digest" in " ".join(done.stderr.split())
    assert "portbench lock --bases" in done.stderr


def test_a_target_without_a_lock_is_installed_from_its_requirements(clone: Clone) -> None:
    folder = clone.root / "images" / "torch" / "2.9.0"
    (target,) = find_targets(["torch-2.9.0-cpu"], Checkout(clone.root))
    assert "images/torch/2.9.0/cpu.lock /locks/" in dockerfile(target, Checkout(clone.root))
    (folder / "cpu.lock").unlink()
    (target,) = find_targets(["torch-2.9.0-cpu"], Checkout(clone.root))
    text = dockerfile(target, Checkout(clone.root))
    # The build takes a lock that is put there later, without a new Dockerfile.
    assert "images/torch/2.9.0/cpu.in images/torch/2.9.0/cpu.lock* /locks/" in text
