"""The catalogue of targets: what images/ holds. A new version of a framework is a new folder there, nothing else.

images/<framework>/default-version               the version that `torch-cpu` means
images/<framework>/<version>/python-version      the Python that it needs, such as 3.10
images/<framework>/<version>/<device>.in         what a person chose: 'portbench lock' makes the lock from it
images/<framework>/<version>/<device>.lock       its packages, hash-pinned: the venv backend can make it
images/<framework>/<version>/<device>.Dockerfile the docker backend can

Where a device needs another version or Python, <device>.default-version or <device>.python-version beside it says so.
Devices xla, gpu-predicted and rocm-predicted have the packages of cpu, and a Dockerfile alone, but for a .in or .lock
of their own.

A version with a tpu-aot.Dockerfile can foretell every TPU of FORETOLD_TPUS: one image compiles for all of them. It has
the packages of xla, unless there is a tpu-aot.in or tpu-aot.lock, and beside them those of TPU_COMPILER.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from portbench.devices import PREDICTED_TPUS
from portbench.errors import BadInput, UnknownTarget
from portbench.util.repository import Checkout

_VERSION = re.compile(r"[0-9]+(\.[0-9A-Za-z]+)*")
_PYTHON = re.compile(r"3\.[0-9]+")
TPU_COMPILER = "jax-0.10.2-tpu"
"""The target in whose environment programs of every framework and version are compiled for a TPU that is not there."""

_AHEAD_OF_TIME = "tpu-aot"
_PATTERNS = ("*.in", "*.lock", "*.Dockerfile")
_PACKAGES_OF = {"xla": "cpu", "gpu-predicted": "cpu", "rocm-predicted": "cpu", _AHEAD_OF_TIME: "xla"}


@dataclass(frozen=True)
class Target:
    """A framework in one version on one kind of device, and what its environment is made from."""

    framework: str
    version: str
    device: str
    python: str
    """Minor version of the Python that it needs: "3.10"."""
    is_default: bool
    """Whether its framework's default version, on this device, is this one."""
    packages: str
    """What its .in and lock are called after: its device, or another one whose packages are all that it needs."""
    lock: Path | None
    dockerfile: Path | None
    source: Path | None = None
    """The .in file that its lock is made from."""
    version_named: bool = False
    """Whether the user named the version: then no other will do, whatever the backend."""

    @property
    def name(self) -> str:
        """The full name, torch-1.12.0-cpu."""
        return f"{self.framework}-{self.version}-{self.device}"

    @property
    def environment(self) -> str:
        """What its virtual environment is called: torch-1.12.0-cpu. Targets with the same packages share one."""
        return f"{self.framework}-{self.version}-{self.packages}"

    @property
    def service(self) -> str:
        """Its service in compose.yaml, torch-cpu; also the short name of the default version."""
        return f"{self.framework}-{self.device}"


def all_targets(checkout: Checkout) -> list[Target]:
    """Every target, by framework, version (oldest first) and device.

    Raises BadInput where a file of images/ is missing or not what it should be.
    """
    targets = [target for marker in checkout.images.glob("*/*/python-version") for target in _targets_of(marker.parent)]
    return sorted(targets, key=lambda target: (target.framework, version_order(target.version), target.device))


def find_targets(names: Iterable[str], checkout: Checkout) -> list[Target]:
    """The targets of these names, in their order, each once, whichever of its names it is called by.

    Raises UnknownTarget with near misses for names that images/ does not hold: one error for all of them.
    """
    catalogue = all_targets(checkout)
    by_name = {target.name: replace(target, version_named=True) for target in catalogue}
    by_name |= {target.service: target for target in catalogue if target.is_default}
    names = list(dict.fromkeys(names))
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise UnknownTarget(
            "\n".join(_unknown(name, by_name) for name in unknown),
            f"Known: {', '.join(by_name)}. 'portbench targets' says more of each.",
        )
    chosen: dict[str, Target] = {}
    for target in (by_name[name] for name in names):
        if target.name not in chosen or target.version_named:
            chosen[target.name] = target
    return list(chosen.values())


def needed_environments(target: Target, checkout: Checkout) -> list[Target]:
    """The targets whose environments this one runs in: itself and, where it compiles for a TPU that need not be there,
    TPU_COMPILER. Raises UnknownTarget where images/ does not hold that."""
    return [target, *(find_targets([TPU_COMPILER], checkout) if target.device in PREDICTED_TPUS else ())]


def _unknown(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3)
    return f"no target is called {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else "")


def python_version(folder: Path, device: str) -> str:
    """The Python, such as 3.10, that a version's folder wants on this device. Raises BadInput where it is none."""
    path = _of_device(folder, "python-version", device)
    python = path.read_text().strip()
    if not _PYTHON.fullmatch(python):
        raise BadInput(f"{path}: expected a Python like 3.10, found {python!r}")
    return python


def _targets_of(folder: Path) -> Iterable[Target]:
    framework, version = folder.parent.name, folder.name
    if not _VERSION.fullmatch(version):
        raise BadInput(f"{folder}: {version!r} is not a version", "Name the folder like 2.9.0.")
    for kind in sorted({path.stem for pattern in _PATTERNS for path in folder.glob(pattern)}):
        packages = _packages(folder, kind)
        for device in PREDICTED_TPUS if kind == _AHEAD_OF_TIME else (kind,):
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


def version_order(version: str) -> list[tuple[int, str]]:
    """What versions are sorted by, the oldest first: 1.9.1, 1.12.0, 2.9.0rc1, 2.9.0."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in version.split(".")]
