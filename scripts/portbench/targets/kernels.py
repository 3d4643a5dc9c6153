"""Lists the GPU kernels of a framework's wheel, without a GPU: for the devices gpu-predicted and mps-predicted.

The wheel is the one in the target's lock. It is unpacked and comes first on PYTHONPATH, before the environment of the
same version for the CPU, which has its dependencies. runners/<framework>/kernel_registry.py then lists what the wheel
registers. PyTorch does not load without CUDA's libraries, so those of the lock are unpacked too; TensorFlow does load.

For MPS it is PyTorch's wheel for macOS, from the same lock. It does not load here: runners/torch/mps_registry.py reads
the registrations from the code of its library.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from uv import find_uv_bin

from portbench.errors import BadInput, EnvironmentFailed, Interrupted, StorageFailed
from portbench.formats.documents import read_document
from portbench.targets import environments
from portbench.targets.catalog import Target, all_targets, find_targets
from portbench.util import processes
from portbench.util.files import write_text
from portbench.util.processes import stoppable
from portbench.util.repository import Checkout
from portbench.util.temporary import temporary_folder

_PACKAGES = {"tensorflow": r"tensorflow", "torch": r"torch|nvidia-[\w-]+"}
"""The packages that are taken from a framework's lock."""
_GIGABYTES = {"tensorflow": 2.5, "torch": 10}
"""The size of the unpacked wheels, at most."""
_PLATFORMS = ["manylinux2014_x86_64", *(f"manylinux_2_{minor}_x86_64" for minor in range(28, 16, -1))]
_MACOS = [f"macosx_{major}_0_arm64" for major in range(15, 10, -1)]
_MPS, _LIBRARY = "mps-predicted", "torch/lib/libtorch_cpu.dylib"
_IMPORT_SECONDS = 1800.0


def list_kernels(name: str, checkout: Checkout, say: Callable[[str], None], output: Path | None = None) -> Path:
    """Writes the kernels of the target ``name`` to ``output`` (default: where the runner reads them).

    Returns the file. Raises UnknownTarget, BadInput (no GPU target, or no lock), EnvironmentFailed, StorageFailed and
    Interrupted. An error leaves an existing file unchanged.
    """
    (target,) = find_targets([name], checkout)
    mps = (target.framework, target.device) == ("torch", _MPS)
    cpu = target if mps else _cpu_target(target, checkout)
    try:
        with tempfile.TemporaryDirectory(prefix="portbench-kernels-") as folder, stoppable():
            python = environments.create_environment(cpu, say)
            if mps:
                text = _listed_for_mps(target, python, Path(folder), checkout, say)
            else:
                say(f"downloading the wheel of {target.name}, and the libraries that it loads")
                wheels = _download(target.name, _pins(target), target.python, Path(folder, "wheels"))
                text = _listed(target.framework, wheels, python, checkout, say)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; nothing was written") from None
    except OSError as error:
        raise StorageFailed(
            f"the wheel of {target.name} cannot be unpacked: {error.strerror or error}",
            f"It takes {_GIGABYTES[target.framework]:g} GB. Make room, or set TMPDIR to a folder on another disk.",
        ) from error
    kernels = checkout.root / "runners" / target.framework / "kernels"
    path = output or (kernels / "mps" if mps else kernels) / f"{target.version}.json"
    write_text(path, text)
    return path


def _listed_for_mps(target: Target, python: Path, folder: Path, checkout: Checkout, say: Callable[[str], None]) -> str:
    """The valid document with the kernels of the wheel for macOS that the lock of ``target`` pins, as text."""
    own = [pin for pin in _pins(target) if pin.startswith("torch==")]
    say(f"downloading the wheel of torch {target.version} for macOS")
    (wheel,) = _download(target.name, own, target.python, folder / "wheels", _MACOS)
    with wheel.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    say(f"reading the registrations of {wheel.name}")
    try:
        with zipfile.ZipFile(wheel) as archive:
            library = archive.extract(_LIBRARY, folder)
    except (KeyError, zipfile.BadZipFile) as error:
        raise EnvironmentFailed(f"{wheel.name}: expected a zip archive with {_LIBRARY}: {error}") from error
    module = "runners.torch.mps_registry"
    return _registered(python, module, wheel.name, sha256, folder / "kernels.json", checkout, more=[library])


def list_installed_kernels(target: Target, wheel: str, sha256: str, checkout: Checkout) -> Path:
    """Lists the kernels of a framework whose wheel for the CPU is the one for CUDA, in the target's own environment.

    ``wheel`` and ``sha256`` are the file that is installed there. Returns the path of the list, ``kernel_list``. Raises
    EnvironmentFailed and StorageFailed.
    """
    path = environments.kernel_list(target.framework, target.version)
    with temporary_folder() as folder:
        out = folder / "kernels.json"
        module = f"runners.{target.framework}.kernel_registry"
        text = _registered(environments.python_of(target), module, wheel, sha256, out, checkout)
    write_text(path, text)
    return path


def list_downloaded_kernels(
    target: Target, wheel: str, sha256: str, python: Path, checkout: Checkout, say: Callable[[str], None]
) -> Path:
    """Lists the kernels of a version of TensorFlow, whose wheel for CUDA is not the one for the CPU.

    ``wheel`` and ``sha256`` are the file of the package index; ``python`` has the packages of the same version for the
    CPU. Returns the path of the list, ``kernel_list``. Raises EnvironmentFailed and StorageFailed.
    """
    path = environments.kernel_list(target.framework, target.version)
    pin = f"{target.framework}=={target.version} --hash=sha256:{sha256}"
    with temporary_folder() as folder:
        say(f"downloading {wheel}")
        try:
            wheels = _download(f"{target.framework} {target.version}", [pin], target.python, folder / "wheels")
            text = _listed(target.framework, wheels, python, checkout, say)
        except OSError as error:
            raise StorageFailed(
                f"{wheel} cannot be unpacked: {error.strerror or error}",
                f"It takes {_GIGABYTES[target.framework]:g} GB. Make room, or set TMPDIR to a folder on another disk.",
            ) from error
    write_text(path, text)
    return path


def _cpu_target(target: Target, checkout: Checkout) -> Target:
    """The CPU target with the same version and Python."""
    if target.framework not in _PACKAGES or target.device != "gpu" or target.lock is None:
        raise BadInput(
            f"{target.name}: expected a gpu target of {' or '.join(sorted(_PACKAGES))} with a lock, or torch's {_MPS}",
            "Give one like tensorflow-2.11.0-gpu; 'portbench targets' lists them.",
        )
    wanted = f"{target.framework}-{target.version}-cpu"
    for other in all_targets(checkout):
        if other.name == wanted and other.lock and other.python == target.python:
            return other
    raise BadInput(f"{target.name}: there is no {wanted} with the same Python", "Create its lock: 'portbench lock'.")


def _pins(target: Target) -> list[str]:
    """The lines of the lock with the framework's own wheel and the libraries that it loads."""
    assert target.lock is not None
    pins = re.findall(rf"^(?:{_PACKAGES[target.framework]})==(?:.*\\\n)*.*$", target.lock.read_text(), re.MULTILINE)
    own = f"{target.framework}=={target.version}"
    if not any(re.match(rf"{re.escape(own)}\s", pin) for pin in pins):
        raise BadInput(f"{target.lock}: expected a line {own}", "Create the lock again: 'portbench lock'.")
    return pins


def _download(
    name: str, pins: list[str], python: str, folder: Path, platforms: Sequence[str] = tuple(_PLATFORMS)
) -> list[Path]:
    """Downloads wheels by their hashes: first the framework's own, then the libraries that it loads."""
    folder.mkdir()
    requirement = folder.with_name("requirement.txt")
    requirement.write_text("\n".join(pins) + "\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--no-cache-dir"]
    command += ["--only-binary", ":all:", "--python-version", python, "--dest", str(folder)]
    command += [word for platform in platforms for word in ("--platform", platform)]
    done = processes.run_captured([*command, "--requirement", str(requirement)])
    own = tuple(f"{framework}-" for framework in _PACKAGES)
    wheels = sorted(folder.glob("*.whl"), key=lambda wheel: not wheel.name.startswith(own))
    if done.returncode or len(wheels) != len(pins):
        raise EnvironmentFailed(
            f"the wheel of {name} was not downloaded: pip ended with status {done.returncode}\n"
            f"{processes.tail(done.stderr)}",
            "Check that the package index can be reached, and that portbench's own environment has pip.",
        )
    return wheels


def _listed(framework: str, wheels: list[Path], python: Path, checkout: Checkout, say: Callable[[str], None]) -> str:
    """The valid document with the kernels of the first wheel, as text."""
    wheel = wheels[0]
    with wheel.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    unpacked, out = wheel.parents[1] / "unpacked", wheel.parents[1] / "kernels.json"
    _unpack(wheels, unpacked, python)
    say(f"listing the kernels of {wheel.name}")
    return _registered(
        python, f"runners.{framework}.kernel_registry", wheel.name, sha256, out, checkout, first_on_path=unpacked
    )


def _registered(
    python: Path,
    module: str,
    wheel: str,
    sha256: str,
    out: Path,
    checkout: Checkout,
    first_on_path: Path | None = None,
    more: Sequence[str] = (),
) -> str:
    """The valid document with the kernels that the framework registers in this Python, as text."""
    command: list[str | Path] = [python, "-m", module, out, wheel, sha256, *more]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    path = {"PYTHONPATH": str(first_on_path)} if first_on_path else {}
    env = {**kept, **path, "PYTHONNOUSERSITE": "1", "CUDA_VISIBLE_DEVICES": "-1"}
    done = processes.run_captured(command, cwd=checkout.root, env=env, timeout_s=_IMPORT_SECONDS)
    if done.returncode or not out.is_file():
        raise EnvironmentFailed(
            f"the kernels of {wheel} could not be listed: Python ended with status {done.returncode}\n"
            f"{processes.tail(done.stderr)}",
            "It needs an x86-64 Linux machine and the packages of the same version for the CPU.",
        )
    read_document(out, "kernels")
    return out.read_text("utf-8")


def _unpack(wheels: list[Path], folder: Path, python: Path) -> None:
    """``python``: the one that the wheels are for."""
    install = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--no-cache", "--no-index"]
    install += ["--python", str(python)]
    for wheel in wheels:
        done = processes.run_captured([*install, "--target", str(folder), str(wheel)])
        if done.returncode:
            raise EnvironmentFailed(f"{wheel.name} could not be unpacked\n{processes.tail(done.stderr)}")
        # The wheel takes about as much space as its content.
        wheel.unlink()
