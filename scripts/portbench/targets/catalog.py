"""The catalogue of targets: the content of images/. A new version of a framework is a new folder there.

images/<framework>/default-version               the version that `torch-cpu` means
images/<framework>/<version>/python-version      the Python that it needs, such as 3.10
images/<framework>/<version>/<device>.in         its requirements: 'portbench lock' makes the lock from them
images/<framework>/<version>/<device>.lock       its packages with hashes, for the backend venv
images/<framework>/<version>/<device>.Dockerfile its image, for the backend docker

A device that needs another version or Python has its own <device>.default-version or <device>.python-version. The
devices xla, gpu-predicted, rocm-predicted and mps-predicted have the packages of cpu and only need a Dockerfile, unless
they have a .in or .lock of their own.

Every version with packages for the CPU also has its framework's device of VENDOR_DEVICES, which needs no file: a
vendor's plugin or backend, which the user names. It has no image.

"latest" is a version, too: for each device the newest version that has it, a pre-release only if there is no other.

A version with a tpu-aot.Dockerfile predicts every TPU of PREDICTED_TPUS, or those in its tpu-aot.devices if the
framework knows fewer: one image compiles for all of them. It has the packages of xla, unless there is a tpu-aot.in or
tpu-aot.lock, and also those of TPU_COMPILER. In the same way gpu-aot.Dockerfile predicts every GPU of PREDICTED_GPUS,
with the packages of GPU_COMPILER.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from portbench.devices import AHEAD_OF_TIME, PREDICTED_GPUS, PREDICTED_TPUS, VENDOR_DEVICES
from portbench.errors import BadInput, UnknownTarget
from portbench.util.repository import Checkout
from portbench.util.text import did_you_mean
from portbench.util.versions import Version, parse_version

_PYTHON = re.compile(r"3\.[0-9]+")
LATEST = "latest"
"""Stands for the newest version in the name of a target, torch-latest-gpu, and in compose.yaml."""

TPU_COMPILER = "jax-0.12.0.1-tpu"
"""The target whose environment compiles the programs of every framework and version for a predicted TPU."""

GPU_COMPILER = "jax-0.12.0.1-gpu-h100"
"""A target whose environment compiles the programs of every framework and version for a predicted GPU."""

_PATTERNS = ("*.in", "*.lock", "*.Dockerfile")
_PACKAGES_OF = {
    **dict.fromkeys(VENDOR_DEVICES.values(), "cpu"),
    "xla": "cpu",
    "gpu-predicted": "cpu",
    "rocm-predicted": "cpu",
    "mps-predicted": "cpu",
    "tpu-aot": "xla",
    "gpu-aot": "xla",
}


@dataclass(frozen=True)
class Target:
    """A framework in one version on one kind of device, with the sources of its environment."""

    framework: str
    version: str
    device: str
    python: str
    """The minor version of its Python: "3.10"."""
    is_default: bool
    """Whether this is its framework's default version on this device."""
    packages: str
    """The device that names its .in and lock: its own, or another one with the same packages."""
    lock: Path | None
    dockerfile: Path | None
    source: Path | None = None
    """The .in file that its lock is made from."""
    version_named: bool = False
    """Whether the user named the version. Then every backend must use this version."""
    is_latest: bool = False
    """Whether this is its framework's newest version on this device."""

    @property
    def name(self) -> str:
        """The full name, torch-1.12.0-cpu."""
        return f"{self.framework}-{self.version}-{self.device}"

    @property
    def environment(self) -> str:
        """The name of its virtual environment: torch-1.12.0-cpu. Targets with the same packages share one."""
        return f"{self.framework}-{self.version}-{self.packages}"

    @property
    def service(self) -> str:
        """Its service in compose.yaml: torch-cpu. Also the short name of the default version."""
        return f"{self.framework}-{self.device}"

    @property
    def latest_name(self) -> str:
        """The name of the newest version on this device: torch-latest-cpu."""
        return f"{self.framework}-{LATEST}-{self.device}"


def all_targets(checkout: Checkout) -> list[Target]:
    """Every target, by framework, version (oldest first) and device.

    Raises BadInput where a file of images/ is missing or malformed.
    """
    targets = [target for marker in checkout.images.glob("*/*/python-version") for target in _targets_of(marker.parent)]
    newest: dict[str, Target] = {}
    for target in sorted(targets, key=_age):
        newest[target.service] = target
    targets = [replace(target, is_latest=newest[target.service] is target) for target in targets]
    return sorted(targets, key=lambda target: (target.framework, Version(target.version), target.device))


def find_targets(names: Iterable[str], checkout: Checkout) -> list[Target]:
    """The targets of these full or short names or those of the latest version, in the same order, without duplicates.

    Raises one UnknownTarget for all unknown names, with up to three similar names of each as suggestions.
    """
    catalogue = all_targets(checkout)
    by_name = {target.name: replace(target, version_named=True) for target in catalogue}
    by_name |= {target.service: target for target in catalogue if target.is_default}
    by_name |= {target.latest_name: by_name[target.name] for target in catalogue if target.is_latest}
    names = list(dict.fromkeys(names))
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise UnknownTarget(
            "\n".join(f"no target is called {name!r}{did_you_mean(name, by_name)}" for name in unknown),
            "\n".join([*_other_versions(unknown, catalogue), "'portbench targets' lists the targets."]),
        )
    chosen: dict[str, Target] = {}
    for target in (by_name[name] for name in names):
        if target.name not in chosen or target.version_named:
            chosen[target.name] = target
    return list(chosen.values())


def of_version(targets: Iterable[Target], version: str, checkout: Checkout) -> list[Target]:
    """The targets, in this version of their framework where they were named without one: it is a target, or else the
    latest of that device is taken."""
    catalogue = all_targets(checkout)
    found = []
    for target in targets:
        same = [each for each in catalogue if (each.framework, each.device) == (target.framework, target.device)]
        others = [each for each in same if each.version == version] or [each for each in same if each.is_latest]
        found.append(target if target.version_named or not others else others[0])
    return found


def by_image(targets: Iterable[Target]) -> list[list[Target]]:
    """The targets in groups with the same Dockerfile, such as all predicted TPUs of a version.

    The groups have the order of their first targets. A table for people has one line for each group.
    """
    groups: dict[Path | str, list[Target]] = {}
    for target in targets:
        groups.setdefault(target.dockerfile or target.name, []).append(target)
    return list(groups.values())


def title(group: Sequence[Target]) -> str:
    """The name of the group's target; jax-0.10.2-tpu-v2 … tpu7x for several targets."""
    return group[0].name if len(group) == 1 else f"{group[0].name} … {group[-1].device}"


def needed_environments(target: Target, checkout: Checkout) -> list[Target]:
    """The targets whose environments this target needs: its own and, for a device that programs are compiled for,
    that of the compiler.

    Raises UnknownTarget where images/ has no such compiler.
    """
    compiler = compiler_of(target)
    if compiler is None:
        return [target]
    framework, version, _ = compiler.split("-", 2)
    # Reads one folder. find_targets reads all of images/, and is called for its error alone.
    own = next((each for each in _targets_of(checkout.images / framework / version) if each.name == compiler), None)
    return [target, replace(own, version_named=True) if own else find_targets([compiler], checkout)[0]]


def compiler_of(target: Target) -> str | None:
    """The target whose environment has the compiler for a predicted device; None for other devices."""
    if target.device in PREDICTED_TPUS:
        return TPU_COMPILER
    return GPU_COMPILER if target.device in PREDICTED_GPUS else None


def _other_versions(names: Iterable[str], catalogue: Sequence[Target]) -> Iterable[str]:
    """What to do about each name that is a target but for its version, which images/ does not have."""
    services = sorted({target.service for target in catalogue})
    for name in names:
        framework, _, rest = name.partition("-")
        version, _, device = rest.partition("-")
        if f"{framework}-{device}" in services and parse_version(version):
            yield f"To add the version to images/:  portbench add-version {framework} {version}"
            yield f"To run a Python that has it:  portbench run {framework}-{device} --backend current"


def python_version(folder: Path, device: str) -> str:
    """The Python, such as 3.10, of a version's folder on this device. Raises BadInput where it is malformed."""
    path = _of_device(folder, "python-version", device)
    python = path.read_text().strip()
    if not _PYTHON.fullmatch(python):
        raise BadInput(f"{path}: expected a Python like 3.10, found {python!r}")
    return python


def _age(target: Target) -> tuple[bool, Version]:
    version = Version(target.version)
    return not version.is_prerelease, version


def _targets_of(folder: Path) -> Iterable[Target]:
    framework, version = folder.parent.name, folder.name
    if parse_version(version) is None:
        raise BadInput(f"{folder}: {version!r} is not a version", "Name the folder like 2.9.0.")
    kinds = {path.stem for pattern in _PATTERNS for path in folder.glob(pattern)}
    if framework in VENDOR_DEVICES and "cpu" in kinds:
        kinds.add(VENDOR_DEVICES[framework])
    for kind in sorted(kinds):
        packages = _packages(folder, kind)
        for device in _devices_of(folder, kind):
            yield Target(
                framework=framework,
                version=version,
                device=device,
                python=python_version(folder, packages),
                is_default=version == _default_version(folder.parent, kind),
                packages=packages,
                source=_existing(folder / f"{packages}.in"),
                lock=_existing(folder / f"{packages}.lock"),
                dockerfile=_existing(folder / f"{kind}.Dockerfile"),
            )


def _devices_of(folder: Path, kind: str) -> Sequence[str]:
    """The devices of an image: itself, or all that one image predicts, those in ``<kind>.devices`` if there is one."""
    known = AHEAD_OF_TIME.get(kind, (kind,))
    path = folder / f"{kind}.devices"
    if not path.is_file():
        return known
    devices = path.read_text().split()
    unknown = [device for device in devices if device not in known]
    if unknown or not devices:
        raise BadInput(f"{path}: expected some of {', '.join(known)}, found {' '.join(unknown) or 'nothing'}")
    return devices


def _packages(folder: Path, device: str) -> str:
    own = any((folder / f"{device}.{kind}").is_file() for kind in ("in", "lock"))
    return device if own or device not in _PACKAGES_OF else _packages(folder, _PACKAGES_OF[device])


def _default_version(folder: Path, device: str) -> str:
    path = _of_device(folder, "default-version", device)
    version = path.read_text().strip() if path.is_file() else ""
    if not (folder / version / "python-version").is_file() or not version:
        versions = ", ".join(sorted(marker.parent.name for marker in folder.glob("*/python-version")))
        raise BadInput(f"{path}: expected one of the versions {versions}, found {version or 'nothing'}")
    return version


def _of_device(folder: Path, name: str, device: str) -> Path:
    return _existing(folder / f"{device}.{name}") or folder / name


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None
