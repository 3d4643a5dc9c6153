"""`portbench images` with a real engine, in a small clone whose version no other test and no user has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT


class Clone:
    """As much of this repository as an image of the fake framework is made from, under a version of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.version = f"9.{uuid.uuid4().int % 10**9}.0"
        self.target = f"fake-{self.version}-cpu"
        self.image = f"portbench/fake:{self.version}-cpu"
        for name in ("runners", "schema", "manifests"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in (
            "compose.yaml",
            ".dockerignore",
            "images/as-owner",
            "images/installer.lock",
            "images/install",
            "images/describe.py",
            "images/Dockerfile.jinja",
        ):
            (root / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        self.folder = root / "images" / "fake" / self.version
        shutil.copytree(
            ROOT / "images" / "fake" / "1.0.0", self.folder, ignore=shutil.ignore_patterns("xla.Dockerfile")
        )
        self.dockerfile = self.folder / "cpu.Dockerfile"
        self.dockerfile.write_text(self.dockerfile.read_text().replace("1.0.0", self.version))
        (self.folder.parent / "default-version").write_text(f"{self.version}\n")
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
            subprocess.run([*git, *command], cwd=root, check=True, capture_output=True)
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True)
        self.commit = head.stdout.strip()

    def images(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs `portbench images` to its end."""
        command = [sys.executable, "-m", "portbench", "images", *arguments]
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True)

    def built(self) -> dict[str, Any]:
        """What `list --json` says of the only target."""
        done = self.images("list", "--json")
        assert done.returncode == 0, done.stderr
        (image,) = json.loads(done.stdout)["images"]
        return dict(image)

    def layers(self) -> list[str]:
        """The digests of the layers of the only target's image, the lowest first."""
        command = ["docker", "image", "inspect", "--format", "{{json .RootFS.Layers}}", self.image]
        return list(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))

    def left(self) -> list[str]:
        """The ids of the target's images, those without a name too."""
        command = [
            "docker",
            "image",
            "ls",
            "--quiet",
            "--no-trunc",
            "--filter",
            f"label=portbench.version={self.version}",
        ]
        return sorted(set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()))


@pytest.fixture
def clone(tmp_path: Path, engine: None) -> Iterator[Clone]:
    made = Clone(tmp_path / "clone")
    yield made
    for id in made.left():
        subprocess.run(["docker", "image", "rm", "--force", id], capture_output=True)


def test_an_image_is_built_checked_brought_up_to_date_and_removed_with_its_earlier_builds(clone: Clone) -> None:
    assert clone.built()["state"] == "not built"
    done = clone.images("build", "fake-cpu")
    assert done.returncode == 0, done.stderr
    assert f"{clone.target}: {clone.image} is built" in done.stdout
    image = clone.built()
    assert (image["image"], image["state"], image["runner_commit"]) == (clone.image, "up to date", clone.commit)
    assert image["size_bytes"] > 100_000_000
    assert image["built_at"].startswith("20")

    layers = clone.layers()
    (clone.root / "runners" / "new.py").write_text(f"# {uuid.uuid4()}\n")
    stale = clone.images("check", "fake-cpu")
    assert stale.returncode == 1
    assert f"stale: {clone.target}" in stale.stdout
    again = clone.images("build", "fake-cpu")
    assert again.returncode == 0, again.stderr
    # The last layer is the empty one of WORKDIR.
    assert clone.layers()[:-2] == layers[:-2], "something but the runner's files was made again"
    assert clone.layers()[-2] != layers[-2]
    assert clone.images("check", "fake-cpu").returncode == 0
    assert clone.built()["runner_commit"] == f"{clone.commit}+"

    assert len(clone.left()) == 2
    assert clone.images("clean", "fake-cpu", "--dry-run").stdout.count("would remove") == 2
    assert len(clone.left()) == 2
    cleaned = clone.images("clean", "fake-cpu")
    assert cleaned.returncode == 0, cleaned.stderr
    assert f"removed {clone.image}" in cleaned.stdout
    assert "freed" in cleaned.stdout
    assert clone.left() == []
    assert clone.built()["state"] == "not built"


def test_what_compose_builds_alone_records_as_much(clone: Clone) -> None:
    surroundings = {**os.environ, "FAKE_VERSION": clone.version}
    build = ["docker", "compose", "build", "--quiet", "fake-cpu"]
    subprocess.run(build, cwd=clone.root, env=surroundings, check=True, capture_output=True)
    done = clone.images("check")
    assert done.returncode == 0, done.stdout
    # Whether files had changed since the commit cannot be seen in a build.
    assert clone.built()["runner_commit"] == f"{clone.commit}?"
    bill = json.loads(clone.images("sbom", clone.target).stdout)
    assert bill["bomFormat"] == "CycloneDX"
    names = {component["name"]: component for component in bill["components"]}
    assert {"cpython", "jsonschema", "libc6"} <= set(names)
    assert names["jsonschema"]["purl"].startswith("pkg:pypi/jsonschema@")
    assert names["jsonschema"]["licenses"]
    (clone.root / "runners" / "new.py").write_text("# changed\n")
    assert f"stale: {clone.target}" in clone.images("check").stdout


@pytest.mark.slow(minutes=2)
def test_two_builds_of_the_same_files_have_the_same_layers(clone: Clone) -> None:
    build = ["docker", "compose", "build", "--quiet", "--no-cache", "fake-cpu"]
    found = []
    for _ in range(2):
        surroundings = {**os.environ, "FAKE_VERSION": clone.version}
        subprocess.run(build, cwd=clone.root, env=surroundings, check=True, capture_output=True)
        found.append(clone.layers())
        # Another clone of the same files: other time stamps and another umask.
        for path in (clone.root / "runners").rglob("*.py"):
            path.chmod(0o600)
            os.utime(path, (1, 1))
    assert found[0] == found[1]


@pytest.mark.slow(minutes=2)
def test_an_image_that_is_up_to_date_is_used_without_a_build(clone: Clone, results: Path, tmp_path: Path) -> None:
    """As on a machine without a network, after 'docker load': every build fails there."""
    done = clone.images("build", "fake-cpu")
    assert done.returncode == 0, done.stderr[-3000:]
    saved = tmp_path / "image.tar"
    subprocess.run(["docker", "save", "--output", str(saved), clone.image], check=True)
    assert clone.images("clean", clone.target).returncode == 0
    assert clone.left() == []
    subprocess.run(["docker", "load", "--input", str(saved)], check=True, capture_output=True)
    programs = tmp_path / "bin"
    programs.mkdir()
    docker = programs / "docker"
    docker.write_text(f'#!/bin/sh\ncase "$*" in *" build "*) exit 1;; esac\nexec {shutil.which("docker")} "$@"\n')
    docker.chmod(0o755)
    surroundings = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    options = ["--backend", "docker", "--manifest", "faults", "--test", "passes", "--runs", "1", "--out", str(results)]
    command = [sys.executable, "-m", "portbench", "run", clone.target, *options]
    done = subprocess.run(command, cwd=clone.root, env=surroundings, capture_output=True, text=True)
    # The image runs, and its runner refuses the version, which is the clone's own so that no other image has its name.
    assert (done.returncode, "this environment has 1.0.0" in done.stderr) == (6, True), done.stderr
    (clone.root / "runners" / "new.py").write_text("# changed\n")
    stale = subprocess.run(command, cwd=clone.root, env=surroundings, capture_output=True, text=True)
    assert stale.returncode == 6
    assert "could not be built" in stale.stderr


def test_a_build_that_fails_is_one_error_with_the_end_of_the_log(clone: Clone) -> None:
    text = clone.dockerfile.read_text()
    clone.dockerfile.write_text(text.replace('python -c "import jsonschema"', 'python -c "import nonsense"'))
    done = clone.images("build", "fake-cpu")
    assert done.returncode == 6
    assert done.stderr.startswith(f"error: the image of {clone.target} could not be built")
    assert "No module named 'nonsense'" in done.stderr
    assert clone.left() == []


def test_an_image_that_a_container_uses_stays(clone: Clone) -> None:
    done = clone.images("build", "fake-cpu")
    assert done.returncode == 0, done.stderr[-3000:]
    create = ["docker", "create", clone.image]
    container = subprocess.run(create, capture_output=True, text=True, check=True).stdout.strip()
    try:
        done = clone.images("clean", "fake-cpu")
    finally:
        subprocess.run(["docker", "rm", container], check=True, capture_output=True)
    assert done.returncode == 5
    assert f"{clone.image} was not removed" in done.stderr
    assert container[:12] in done.stderr
    assert len(clone.left()) == 1
    assert clone.images("clean", "fake-cpu").returncode == 0
