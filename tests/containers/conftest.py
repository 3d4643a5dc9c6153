"""A Docker engine for the tests here; without one they are skipped.

Where no image registry is reached, install_engine.sh and stand_in_bases.sh beside this file make what they need.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from portbench.targets.catalog import Target
from tests.paths import ROOT

Compose = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in this hook, too
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder needs an engine, and is slow. Those that use the image of fake-cpu are in one group,
    so that pytest-xdist runs them one after the other: some count its containers, and one takes its name away."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.docker)
            item.add_marker(pytest.mark.slow)
            if "image" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group(group_of("fake-1.0.0-cpu")))


def group_of(target: str) -> str:
    """The group of the tests that use the image of a target, so that no two processes build it at once."""
    return f"image of {target}"


def assert_names(run_file: dict[str, Any], image: str) -> None:
    """Checks that a run file has the digest of an image of this name. An image that is up to date has a second name, by
    which it is used even if 'docker compose build' has since made the first name that of another one."""
    digest = run_file["environment"]["image_digest"]
    command = ["docker", "image", "inspect", "--format", "{{json .RepoTags}}", digest]
    names = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert any(name == image or name.startswith(f"{image}-") for name in names), names


def last_line(done: subprocess.CompletedProcess[str]) -> Any:
    """The JSON that a container's command printed last. What compose prints of a build comes before it."""
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    """Skips where no engine answers."""
    for command in (["docker", "version"], ["docker", "compose", "version"]):
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            pytest.skip(f"no Docker engine: {error}")
        if done.returncode:
            pytest.skip(f"no Docker engine answers: {done.stderr.strip().splitlines()[-1:]}")


@pytest.fixture(scope="session")
def compose(engine: None) -> Compose:
    """Calls docker compose in the repository's root."""

    def call(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        command = ["docker", "compose", *arguments]
        surroundings = {**os.environ, **(env or {})}
        return subprocess.run(
            command, cwd=ROOT, env=surroundings, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )

    return call


@pytest.fixture(scope="session")
def image(compose: Compose) -> str:
    """The image of service fake-cpu, up to date."""
    done = compose("build", "fake-cpu")
    assert done.returncode == 0, done.stderr[-3000:]
    return "portbench/fake:1.0.0-cpu"


@pytest.fixture
def room(engine: None) -> Callable[[str], None]:
    """Skips the test of a target whose image would fill the disk, build cache included."""

    def check(target: str) -> None:
        needed_gb = 40 if target.startswith("torch-2") else 8
        done = subprocess.run(["docker", "info", "--format", "{{.DockerRootDir}}"], capture_output=True, text=True)
        root = Path(done.stdout.strip())
        free_gb = shutil.disk_usage(root if root.exists() else ROOT).free / 1e9
        if free_gb < needed_gb:
            pytest.skip(f"the image of {target} may need {needed_gb} GB, and {free_gb:.0f} are free")

    return check


@pytest.fixture
def build_image(compose: Compose, room: Callable[[str], None]) -> Callable[[Target], str]:
    """Brings the image of a target up to date, and returns its name."""

    def build(target: Target) -> str:
        room(target.name)
        done = compose("build", "--quiet", target.service, env={f"{target.framework.upper()}_VERSION": target.version})
        assert done.returncode == 0, done.stderr[-3000:]
        return f"portbench/{target.framework}:{target.version}-{target.device}"

    return build


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder for run files whose owner is not root, even if the tests' user is."""
    folder = tmp_path / "results"
    folder.mkdir()
    if os.getuid() == 0:
        os.chown(folder, 1234, 4321)
    for parent in (folder, *folder.parents):
        # Others must be able to pass through pytest's private folders.
        if parent.stat().st_uid == os.getuid() and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    return folder
