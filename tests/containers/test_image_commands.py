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
        for name in ("compose.yaml", ".dockerignore", "images/as-owner", "images/installer.lock"):
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
    assert clone.layers()[:-1] == layers[:-1], "something but the runner's files was made again"
    assert clone.layers()[-1] != layers[-1]
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


def test_what_compose_builds_alone_is_unknown_until_portbench_has_built_it(clone: Clone) -> None:
    surroundings = {**os.environ, "FAKE_VERSION": clone.version}
    build = ["docker", "compose", "build", "--quiet", "fake-cpu"]
    subprocess.run(build, cwd=clone.root, env=surroundings, check=True, capture_output=True)
    done = clone.images("check")
    assert done.returncode == 1
    assert f"unknown: {clone.target}" in done.stdout
    assert clone.images("build").returncode == 0
    assert clone.images("check").returncode == 0


def test_a_build_that_fails_is_one_error_with_the_end_of_the_log(clone: Clone) -> None:
    text = clone.dockerfile.read_text()
    clone.dockerfile.write_text(text.replace('python -c "import jsonschema"', 'python -c "import nonsense"'))
    done = clone.images("build", "fake-cpu")
    assert done.returncode == 6
    assert done.stderr.startswith(f"error: the image of {clone.target} could not be built")
    assert "No module named 'nonsense'" in done.stderr
    assert clone.left() == []


def test_an_image_that_a_container_uses_stays(clone: Clone) -> None:
    assert clone.images("build", "fake-cpu").returncode == 0
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
