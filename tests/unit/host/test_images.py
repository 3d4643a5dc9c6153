"""images/ and compose.yaml as they are in this repository: do their files agree with each other?"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from clones import REPOSITORY

from portbench.checkout import Checkout
from portbench.targets import Target, all_targets

CATALOGUE = all_targets(Checkout(REPOSITORY))
COMPOSE = (REPOSITORY / "compose.yaml").read_text()

STUDY = {"torch": "1.12.0", "tensorflow": "2.11.0", "jax": "0.4.13", "fake": "1.0.0"}
CURRENT = {"torch": "2.9.0", "tensorflow": "2.21.0", "jax": "0.10.2"}

every_target = pytest.mark.parametrize("target", CATALOGUE, ids=lambda target: target.name)


def test_the_studys_versions_are_the_default_and_a_current_one_stands_beside_each() -> None:
    assert {target.framework: target.version for target in CATALOGUE if target.is_default} == STUDY
    others = {target.framework: target.version for target in CATALOGUE if not target.is_default}
    assert others == CURRENT


@every_target
def test_compose_has_a_service_whose_default_version_is_the_catalogues(target: Target) -> None:
    service = re.search(rf"^  {target.service}:.*\n(?:(?:    .*)?\n)+", COMPOSE, re.MULTILINE)
    assert service is not None
    variables = re.findall(r"\$\{([A-Z]+)_VERSION:-([^}]*)\}", service[0])
    assert set(variables) == {(target.framework.upper(), STUDY[target.framework])}
    assert len(variables) == 2  # image and Dockerfile


@every_target
def test_a_dockerfile_speaks_of_its_own_folder(target: Target) -> None:
    assert target.dockerfile is not None
    text = target.dockerfile.read_text()
    own = f"images/{target.framework}/{target.version}"
    assert set(re.findall(r"images/[a-z]+/[0-9.]+", text)) == {own}
    assert f"{own}/{target.device}.lock" in text
    assert set(re.findall(r"^FROM python:([0-9.]+)-slim-bookworm", text, re.MULTILINE)) == {target.python}
    assert f'"--framework", "{target.framework}", "--device", "{target.device}"]' in text
    labels = dict(re.findall(r'portbench\.([a-z]+)="([^"]*)"', text))
    assert labels == {"framework": target.framework, "version": target.version, "device": target.device}


@every_target
def test_a_dockerfile_pins_by_hash_checks_the_import_and_copies_the_runner_last(target: Target) -> None:
    assert target.dockerfile is not None
    text = target.dockerfile.read_text()
    assert text.count("--require-hashes") == 2
    users = re.findall(r"^USER (.*)", text, re.MULTILINE)
    assert users == ["65532:65532"]
    if target.framework != "fake":
        assert f"import {target.framework}; assert {target.framework}.__version__" in text
        assert f"== '{target.version}'" in text
    runner, environment = text.index("COPY runners runners"), text.rindex("RUN ")
    assert runner > environment
    manifest = re.findall(r'CMD \["--manifest", "([^"]*)"', text)
    assert json.loads((REPOSITORY / manifest[0]).read_text())["framework"] == target.framework


@every_target
def test_a_lock_pins_every_package_by_hash_and_the_framework_at_its_folders_version(target: Target) -> None:
    assert target.lock is not None
    text = target.lock.read_text()
    pinned = dict(re.findall(r"^([a-z0-9-]+)==([^ ]+) \\$", text, re.MULTILINE))
    requirements = [line for line in text.splitlines() if line and line[0] not in " #"]
    assert len(requirements) == len(pinned)
    assert text.count("--hash=sha256:") >= len(pinned)
    assert "http" not in text
    package = {"tensorflow": "tensorflow-cpu"}.get(target.framework, target.framework)
    if target.framework != "fake":
        assert pinned[package] == target.version


@pytest.mark.parametrize("lock", ["images/installer.lock", "scripts/host.lock"])
def test_what_is_installed_first_is_pinned_by_hash_too(lock: str) -> None:
    text = (REPOSITORY / lock).read_text()
    assert re.search(r"^uv==[0-9.]+ \\$", text, re.MULTILINE)
    assert "--hash=sha256:" in text


def test_no_file_names_a_registry_or_an_unhardened_service() -> None:
    dockerfiles = [path.read_text() for path in Path(REPOSITORY, "images").glob("*/*/*.Dockerfile")]
    for text in [COMPOSE, *dockerfiles]:
        assert not re.search(r"(docker|ghcr|gcr|quay|pypi|pythonhosted)\.(io|org)", text)
    services = re.findall(r"^  [a-z]+-[a-z]+:", COMPOSE, re.MULTILINE)
    assert len(services) == COMPOSE.count("<<: *container") == 4
    for line in ("network_mode: none", "read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", "init: true"):
        assert line in COMPOSE
