"""The files of images/ and compose.yaml in this repository agree with each other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from portbench.devices import COMPILED_DEVICES, PREDICTED_GPUS, PREDICTED_TPUS, VENDOR_DEVICES
from portbench.targets.catalog import GPU_COMPILER, TPU_COMPILER, Target, all_targets, by_image
from portbench.targets.dockerfiles import dockerfile
from portbench.targets.pinning import pinning
from portbench.util.repository import Checkout
from tests.unit.host.clones import REPOSITORY

# A vendor's library or module is on this machine, so its device has no container.
CATALOGUE = [target for target in all_targets(Checkout(REPOSITORY)) if target.device not in VENDOR_DEVICES.values()]
COMPOSE = (REPOSITORY / "compose.yaml").read_text()

# The paper's JAX needs a jaxlib that no package index has, so on the CPU the nearest available one is the default.
# The torch_xla of that time is in no package index either.
DEFAULTS = {
    **{f"torch-{device}": "1.12.0" for device in ("cpu", "gpu", "tpu")},
    **{f"tensorflow-{device}": "2.11.0" for device in ("cpu", "gpu", "tpu")},
    "jax-cpu": "0.4.13",
    "jax-gpu": "0.4.8",
    "jax-tpu": "0.4.8",
    "torch-xla": "2.9.0",
    "tensorflow-xla": "2.11.0",
    "tensorflow-gpu-predicted": "2.11.0",
    "torch-gpu-predicted": "1.12.0",
    "torch-mps-predicted": "2.15.0",
    "jax-gpu-predicted": "0.4.13",
    "jax-rocm-predicted": "0.4.13",
    "jax-xla": "0.4.13",
    "fake-cpu": "1.0.0",
    "fake-xla": "1.0.0",
    **{f"torch-{device}": "2.9.0" for device in PREDICTED_TPUS},
    **{f"tensorflow-{device}": "2.11.0" for device in PREDICTED_TPUS},
    **{f"jax-{device}": "0.10.2" for device in PREDICTED_TPUS},
    **{f"tensorflow-{device}": "2.21.0" for device in PREDICTED_GPUS},
    **{f"jax-{device}": "0.12.0.1" for device in PREDICTED_GPUS},
}
OTHERS = {
    *(f"torch-2.9.0-{device}" for device in ("cpu", "gpu", "tpu")),
    *(f"jax-0.10.2-{device}" for device in ("cpu", "gpu", "tpu")),
    *("tensorflow-2.21.0-cpu", "tensorflow-2.21.0-gpu", "tensorflow-2.20.0-tpu", "jax-0.4.8-cpu"),
    *("tensorflow-2.21.0-xla", "jax-0.10.2-xla", "tensorflow-2.21.0-gpu-predicted"),
    *(f"{name}-{device}" for name in ("jax-0.4.13", "tensorflow-2.21.0") for device in PREDICTED_TPUS),
    *(f"jax-0.10.2-{device}" for device in PREDICTED_GPUS),
    *("torch-2.9.0-gpu-predicted", "jax-0.10.2-gpu-predicted", "jax-0.10.2-rocm-predicted"),
    *(f"torch-2.15.0-{device}" for device in ("cpu", "gpu", "gpu-predicted")),
    *(f"jax-0.12.0.1-{device}" for device in ("cpu", "gpu", "tpu", "xla", "gpu-predicted", "rocm-predicted")),
    *(f"jax-0.12.0.1-{device}" for device in PREDICTED_TPUS),
}
# Their wheels are in a vendor's bucket. Create the locks on a machine that can reach it.
MAY_LACK_A_LOCK = {"torch-1.12.0-tpu", "tensorflow-2.11.0-tpu", "jax-0.4.8-cpu", "jax-0.4.8-gpu", "jax-0.4.8-tpu"}
# The packages with the device's own libraries, in the .in file or, through it, in the lock.
DRIVERS = {
    "torch-1.12.0-tpu": "libtpu-nightly @ https://",
    "torch-2.9.0-gpu": "nvidia-cudnn-cu12==",
    "torch-2.15.0-gpu": "nvidia-cudnn-cu13==",
    "torch-2.9.0-tpu": "libtpu==",
    "torch-2.9.0-xla": "torch-xla==2.9.0",
    "tensorflow-2.11.0-gpu": "nvidia-cudnn-cu11==8.",
    "tensorflow-2.20.0-tpu": "libtpu==",
    "tensorflow-2.21.0-gpu": "nvidia-cudnn-cu12==9.",
    "jax-0.4.8-gpu": "jax[cuda11_pip]==0.4.8",
    "jax-0.4.8-tpu": "jax[tpu]==0.4.8",
    "jax-0.10.2-gpu": "jax-cuda12-plugin==0.10.2",
    "jax-0.10.2-tpu": "libtpu==",
    "jax-0.12.0.1-gpu": "jax-cuda12-plugin==0.12.0.1",
    "jax-0.12.0.1-tpu": "libtpu==0.0.52",
    "jax-0.12.0.1-gpu-h100": "nvidia-cuda-nvcc-cu12==12.9",
}

every_target = pytest.mark.parametrize("target", CATALOGUE, ids=lambda target: target.name)
# Targets with the same image have the same Dockerfile and lock.
IMAGES = [group[0] for group in by_image(CATALOGUE)]
every_image = pytest.mark.parametrize("target", IMAGES, ids=lambda target: target.name)
locked_target = pytest.mark.parametrize(
    "target", [target for target in IMAGES if target.lock], ids=lambda target: target.name
)
COMPILER = r"^FROM \S+ AS compiler\n(?:(?!FROM ).*\n)*"
"""The part of a Dockerfile that belongs to another target: the compiler for predicted TPUs."""


def test_the_papers_versions_are_the_default_and_each_framework_has_a_current_one() -> None:
    assert {target.service: target.version for target in CATALOGUE if target.is_default} == DEFAULTS
    assert {target.name for target in CATALOGUE if not target.is_default} >= OTHERS  # and what add-version has made


def test_every_target_has_its_sources_and_a_lock_unless_a_vendor_alone_has_its_wheels() -> None:
    assert [target.name for target in CATALOGUE if not target.source or not target.dockerfile] == []
    assert {target.name for target in CATALOGUE if not target.lock} <= MAY_LACK_A_LOCK
    assert all(pinning(target) for target in CATALOGUE), "without a lock, the .in file pins every package"


@every_target
def test_compose_has_a_service_whose_default_version_is_the_catalogues(target: Target) -> None:
    own = re.search(
        rf"^  {target.service}:.*<<: \*([\w-]+).*\n|^  {target.service}:.*\n(?:    .*\n)+", COMPOSE, re.MULTILINE
    )
    assert own is not None
    merged = re.search(rf"^x-[a-z-]+: &{own[1]}\n(?:  .*\n)+", COMPOSE, re.MULTILINE) if own[1] else None
    service = own[0] + (merged[0] if merged else "")
    variables = re.findall(r"\$\{([A-Z]+)_VERSION:-([^}]*)\}", service)
    assert set(variables) == {(target.framework.upper(), DEFAULTS[target.service])}
    assert len(variables) == 2  # image and Dockerfile
    assert target.dockerfile is not None
    assert f"/{target.dockerfile.name}" in service
    if target.device in COMPILED_DEVICES:
        assert f"runners --framework {target.framework} --device {target.device}}}" in own[0]


@every_image
def test_a_dockerfile_is_what_the_template_gives(target: Target) -> None:
    assert target.dockerfile is not None
    assert target.dockerfile.read_text() == dockerfile(target, Checkout(REPOSITORY)), "run 'portbench lock'"


def test_compose_finds_the_newest_dockerfile_of_each_device_under_latest() -> None:
    images = REPOSITORY / "images"
    newest = {
        images / target.framework / "latest" / target.dockerfile.name: target.dockerfile.read_text()
        for target in IMAGES
        if target.is_latest and target.dockerfile
    }
    assert {path: path.read_text() for path in images.glob("*/latest/*")} == newest, "run 'portbench lock'"


def test_a_file_with_lines_of_one_dockerfile_has_that_dockerfile() -> None:
    for setup in (REPOSITORY / "images").glob("*/*/*.setup"):
        assert setup.with_suffix(".Dockerfile").is_file(), setup


@every_image
def test_a_dockerfile_names_only_its_own_folder(target: Target) -> None:
    assert target.dockerfile is not None
    text = re.sub(COMPILER, "", target.dockerfile.read_text(), flags=re.MULTILINE)
    own = f"images/{target.framework}/{target.version}"
    assert set(re.findall(r"images/[a-z]+/[0-9.]+", text)) == {own}
    assert f"{own}/{target.packages}.{'lock' if target.lock else 'in'}" in text
    assert set(re.findall(r"^FROM python:([0-9.]+)-slim-bookworm", text, re.MULTILINE)) == {target.python}
    assert set(re.findall(r"/lib/python([0-9.]+)/", text)) <= {target.python}
    kind = target.dockerfile.stem
    # An image that compiles for several devices predicts one of them by default.
    device = {"tpu-aot": "tpu-v5e", "gpu-aot": "gpu-h100"}.get(kind, kind)
    assert f'"--framework", "{target.framework}", "--device", "{device}"]' in text
    labels = dict(re.findall(r'portbench\.([a-z]+)="([a-z0-9.-]*)"', text))
    assert labels == {"framework": target.framework, "version": target.version, "device": kind}


@every_image
def test_a_dockerfile_pins_by_hash_checks_the_import_and_copies_the_runner_last(target: Target) -> None:
    assert target.dockerfile is not None
    text = target.dockerfile.read_text()
    assert text.count("--require-hashes") == text.count("/locks/install ") > 0
    installs = (REPOSITORY / "images" / "install").read_text()
    assert "uv pip sync" in installs and installs.count("--require-hashes") == installs.count("uv pip sync")
    users = re.findall(r"^USER (.*)", text, re.MULTILINE)
    assert users == ["65532:65532"]
    if target.framework != "fake":
        assert re.search(rf"import {target.framework}\b.*; assert {target.framework}\.__version__", text)
        assert f"== '{target.version}'" in text
    runner, environment = text.index("COPY --from=runner"), text.rindex("RUN ")
    assert runner > environment
    manifest = re.findall(r"^ENV PORTBENCH_MANIFEST=(\S+) PORTBENCH_OUT=/results$", text, re.MULTILINE)
    assert json.loads((REPOSITORY / manifest[0]).read_text())["framework"] == target.framework


def test_every_image_with_the_tpu_compiler_has_the_same_packages() -> None:
    (compiler,) = (target for target in CATALOGUE if target.name == TPU_COMPILER)
    aot = [target.dockerfile for target in IMAGES if target.device in PREDICTED_TPUS]
    (parts,) = {tuple(re.findall(COMPILER, path.read_text(), re.MULTILINE)) for path in aot if path}
    assert set(re.findall(r"\S*/tpu.lock", parts[0])) == {f"images/jax/{compiler.version}/tpu.lock"}
    assert set(re.findall(r"python:?(3[.][0-9]+)", "".join(parts))) == {compiler.python}
    for path in aot:
        assert path is not None
        text = path.read_text()
        assert "ENV PORTBENCH_TPU_COMPILER=/opt/compiler/bin/python" in text
        assert text.count("COPY --from=compiler /made /") == 1
        assert "ctypes.CDLL(libtpu.get_library_path())" in text


def test_every_image_that_compiles_for_gpus_has_the_compiler() -> None:
    (compiler,) = (target for target in CATALOGUE if target.name == GPU_COMPILER)
    for target in IMAGES:
        if target.device not in PREDICTED_GPUS:
            continue
        assert target.dockerfile is not None
        text = target.dockerfile.read_text()
        assert f"images/jax/{compiler.version}/gpu-aot.lock" in text
        # The target that has the compiler's packages itself needs them once.
        is_own = target.environment == compiler.environment
        assert text.count("gpu-aot.lock /locks/") == 1
        assert ("ENV PORTBENCH_GPU_COMPILER=/opt/compiler/bin/python" in text) != is_own


def test_hadolint_finds_nothing_in_any_dockerfile() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, *(str(target.dockerfile) for target in IMAGES)], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@locked_target
def test_a_lock_pins_every_package_by_hash_and_the_framework_at_its_folders_version(target: Target) -> None:
    assert target.lock is not None and target.source is not None
    text = target.lock.read_text()
    pinned = dict(re.findall(r"^([a-z0-9-]+)(?:==| @ )([^ ]+) \\$", text, re.MULTILINE))
    requirements = [line for line in text.splitlines() if line and line[0] not in " #-"]
    assert len(requirements) == len(pinned)
    assert text.count("--hash=sha256:") >= len(pinned)
    addresses = set(re.findall(r"https?://[^ ]+", text))
    if target.name in MAY_LACK_A_LOCK:
        assert addresses <= set(re.findall(r"https://[^ ]+", target.source.read_text()))
    else:
        assert addresses == set()
        of_device = f"{target.framework}-{target.packages}"
        if target.framework != "fake":
            package = of_device if of_device in ("tensorflow-cpu", "tensorflow-tpu") else target.framework
            assert pinned[package] == target.version


@pytest.mark.parametrize(("name", "package"), DRIVERS.items())
def test_the_libraries_of_the_device_are_pinned_too(name: str, package: str) -> None:
    (target,) = (target for target in CATALOGUE if target.name == name)
    assert target.source is not None
    files = [path for path in (target.source, target.lock) if path]
    assert any(line.startswith(package) for path in files for line in path.read_text().splitlines())


@pytest.mark.parametrize("lock", ["images/installer.lock", "scripts/host.lock"])
def test_the_installer_is_pinned_by_hash_too(lock: str) -> None:
    text = (REPOSITORY / lock).read_text()
    assert re.search(r"^uv==[0-9.]+ \\$", text, re.MULTILINE)
    assert "--hash=sha256:" in text


def test_no_file_names_a_registry_or_an_unhardened_service() -> None:
    files = [
        path for suffix in ("Dockerfile", "in", "lock") for path in (REPOSITORY / "images").glob(f"*/*/*.{suffix}")
    ]
    for text in [COMPOSE, *(path.read_text() for path in files)]:
        assert not re.search(r"(docker|ghcr|gcr|quay|pypi|pythonhosted)\.(io|org)", text)
    above, _, services = COMPOSE.partition("\nservices:\n")
    merged = re.findall(r"<<: \*([\w-]+)", services)
    assert len(merged) == len(re.findall(r"^  [a-z][\w-]*:", services, re.MULTILINE))
    assert (merged.count("gpu"), merged.count("tpu")) == (3, 3)
    anchors = dict(re.findall(r": &([\w-]+)(?:[^\n]*)\n  <<: \*(\w+)\n", above))
    assert {anchors.get(anchor, anchor) for anchor in merged} == {"container"}
    for line in ("network_mode: none", "read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", "init: true"):
        assert line in COMPOSE


def test_the_source_of_each_pin_is_documented() -> None:
    pins = (REPOSITORY / "images" / "pins.md").read_text()
    for target in CATALOGUE:
        assert re.search(rf"\b{re.escape(target.version)}\b", pins), target.name
    for target in CATALOGUE:
        if not target.lock:
            assert target.name in pins
