"""Creates the Dockerfiles of images/ from one template, so that compose.yaml has a file for every target.

images/Dockerfile.jinja                            the template
images/bases.lock                                  the digest of each base image, written by 'portbench lock --bases'
images/<framework>/<version>/<kind>.setup          the lines that only this Dockerfile has: variables, checks, comments
images/<framework>/<version>/<kind>.Dockerfile     the result
images/<framework>/latest/<kind>.Dockerfile        a copy of that of the newest version that has this kind

Compose knows no newest version: TORCH_VERSION=latest makes it read images/torch/latest/. These files are copies and not
links, because a builder does not follow a link out of the folder of a Dockerfile. They name the folder of the number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from portbench.devices import AHEAD_OF_TIME
from portbench.errors import BadInput, EnvironmentFailed, StorageFailed
from portbench.targets.catalog import LATEST, Target, all_targets, by_image, needed_environments
from portbench.util.machine import Machine
from portbench.util.repository import Checkout

_PINNED = re.compile(r"(python:[0-9.]+-slim-bookworm)@sha256:[0-9a-f]{64}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_REGISTRY_LIMIT_S = 60


def dockerfile(target: Target, checkout: Checkout, setup: str | None = None) -> str:
    """The Dockerfile of a target's image. ``setup`` replaces the content of its .setup file.

    Raises BadInput where images/bases.lock is malformed, and UnknownTarget where images/ lacks the compiler.
    """
    kind = next((kind for kind, devices in AHEAD_OF_TIME.items() if target.device in devices), target.device)
    own = checkout.images / target.framework / target.version / f"{kind}.setup"
    if setup is None:
        setup = own.read_text() if own.is_file() else ""
    compiler = None
    *_, made = needed_environments(target, checkout)
    # The framework's own environment may have the compiler.
    if made.environment != target.environment:
        compiler = {
            "is_for": kind.partition("-")[0],
            "base": _base(made.python, checkout),
            "python": made.python,
            "folder": f"images/{made.framework}/{made.version}",
            "packages": made.packages,
            "requirements": _requirements(made),
        }
    template = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False).from_string(
        (checkout.images / "Dockerfile.jinja").read_text()
    )
    return template.render(
        framework=target.framework,
        version=target.version,
        kind=kind,
        # The image that predicts several devices predicts this one unless its service names another.
        device={"tpu-aot": "tpu-v5e", "gpu-aot": "gpu-h100"}.get(kind, kind),
        python=target.python,
        base=_base(target.python, checkout),
        folder=f"images/{target.framework}/{target.version}",
        packages=target.packages,
        requirements=_requirements(target),
        imported=_imported(target, kind),
        manifest=f"manifests/{'faults' if target.framework == 'fake' else 'study'}/{target.framework}.json",
        compiler=compiler,
        setup=setup.rstrip("\n"),
    )


def create_dockerfiles(checkout: Checkout) -> list[Path]:
    """Creates every Dockerfile again; returns the paths of those that changed. Raises BadInput and StorageFailed."""
    groups = by_image(all_targets(checkout))
    wanted = {path: dockerfile(group[0], checkout) for group in groups if (path := group[0].dockerfile)}
    return [*_write(wanted), *create_latest(checkout)]


def create_latest(checkout: Checkout) -> list[Path]:
    """Copies the Dockerfiles of the newest versions to images/<framework>/latest/, and removes others from there.

    Returns the paths of those that changed. Raises BadInput and StorageFailed.
    """
    wanted: dict[Path, str] = {}
    for target in all_targets(checkout):
        if target.is_latest and target.dockerfile:
            copy = checkout.images / target.framework / LATEST / target.dockerfile.name
            wanted[copy] = target.dockerfile.read_text()
    outdated = [path for path in checkout.images.glob(f"*/{LATEST}/*.Dockerfile") if path not in wanted]
    for path in outdated:
        path.unlink()
    return [*_write(wanted), *outdated]


def _write(wanted: Mapping[Path, str]) -> list[Path]:
    changed = []
    for path, text in wanted.items():
        try:
            if not path.is_file() or path.read_text() != text:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
                changed.append(path)
        except OSError as error:
            raise StorageFailed(f"cannot write {path}: {error.strerror}") from error
    return changed


def lock_bases(checkout: Checkout, machine: Machine) -> list[str]:
    """Asks the registry for the digest of each base image and writes images/bases.lock; returns its lines.

    The digest is that of the list of all platforms. Raises EnvironmentFailed where the registry cannot be reached: then
    the old file stays.
    """
    pythons = {target.python for target in all_targets(checkout) if target.dockerfile}
    lines = []
    for tag in (_tag(python) for python in sorted(pythons, key=lambda python: int(python.partition(".")[2]))):
        command = ["docker", "buildx", "imagetools", "inspect", "--format", "{{json .Manifest.Digest}}", tag]
        answer = machine.run(command, timeout_s=_REGISTRY_LIMIT_S)
        found = _DIGEST.search(answer.stdout) if answer.returncode == 0 else None
        if found is None:
            reason = (answer.stderr.strip().splitlines() or ["no digest in the answer"])[-1]
            raise EnvironmentFailed(
                f"the registry did not give the digest of {tag}: {reason}",
                "Run 'portbench lock --bases' on a machine with Docker's buildx that reaches the registry. "
                "Until then the base images are named by their tags.",
            )
        lines.append(f"{tag}@{found[0]}")
    try:
        _bases_lock(checkout).write_text("".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise StorageFailed(f"cannot write {_bases_lock(checkout)}: {error.strerror}") from error
    return lines


def _requirements(target: Target) -> list[str]:
    """The files that images/install reads. A lock that does not exist yet is copied as soon as it does."""
    name = target.packages
    return [f"{name}.lock"] if target.lock or not target.source else [f"{name}.in", f"{name}.lock*"]


def _base(python: str, checkout: Checkout) -> str:
    """The base image for a Python, with its digest if images/bases.lock has one."""
    path = _bases_lock(checkout)
    for line in path.read_text().splitlines() if path.is_file() else ():
        pinned = _PINNED.fullmatch(line)
        if pinned is None:
            raise BadInput(
                f"{path}: {line!r} is no base image with its digest", "Write it again: portbench lock --bases"
            )
        if pinned[1] == _tag(python):
            return line
    return _tag(python)


def _tag(python: str) -> str:
    return f"python:{python}-slim-bookworm"


def _bases_lock(checkout: Checkout) -> Path:
    return checkout.images / "bases.lock"


def _imported(target: Target, kind: str) -> str:
    """What an image imports once while it is built."""
    if target.framework != "torch" or kind not in ("tpu", "xla", "tpu-aot"):
        return target.framework
    is_torch_tpu = target.source is not None and re.search(r"^torch_tpu\b", target.source.read_text(), re.MULTILINE)
    return "torch, torch_tpu" if is_torch_tpu else "torch, torch_xla"
