"""Runs while an image is built (Python 3.8, standard library): writes what the image is made from, and makes files of
one content the same in every build.

    describe.py environment FOLDER LOCK MADE   FOLDER/portbench.json and FOLDER/sbom.cdx.json (CycloneDX 1.5); then
                                               moves FOLDER below MADE, the content of the image's layer. LOCK is
                                               without its suffix: .lock or, for a target without a lock, .in
    describe.py image CLONE DOCKERFILE MADE    MADE/opt/portbench/image.json, and the folder MADE/results

The runner records the digests in each run file, and compares them with those of the clone. The host computes the digest
of the sources in the same way (scripts/portbench/targets/image_digest.py); a test compares the two.
"""

from __future__ import annotations

import compileall
import hashlib
import json
import os
import platform
import py_compile
import re
import shlex
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, Iterator

EPOCH = 1577836800
"""The time stamp of every file, in seconds: 2020-01-01."""
USER = 65532
"""The user of the image, who owns /results where nothing is mounted there."""


def environment(folder: Path, requirements: Path, made: Path) -> None:
    """Describes a virtual environment and what it was installed from."""
    source = next(path for path in map(requirements.with_suffix, (".lock", ".in")) if path.is_file())
    _write(folder / "portbench.json", {"source": source.name, "source_sha256": _sha256(source)})
    (site_packages,) = folder.glob("lib/python3*/site-packages")
    components = [*_python_packages(site_packages), *_debian_packages(Path("/var/lib/dpkg/status"))]
    python = {"type": "application", "name": "cpython", "version": platform.python_version()}
    header = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
    _write(folder / "sbom.cdx.json", {**header, "components": [python, *components]})
    _compile(site_packages)
    (made / "opt").mkdir(parents=True, exist_ok=True)
    shutil.move(str(folder), str(made / "opt"))
    _normalise(made)


def image(clone: Path, dockerfile: str, made: Path) -> None:
    """Describes the sources of an image. ``made`` holds the runner's part of the image."""
    facts = {
        "dockerfile": dockerfile,
        "dockerfile_sha256": _sha256(clone / dockerfile),
        "source_sha256": source_sha256(clone, dockerfile),
        "runner_commit": os.environ.get("PORTBENCH_RUNNER_COMMIT") or _head(clone / ".git"),
    }
    _write(made / "opt" / "portbench" / "image.json", facts)
    results = made / "results"
    results.mkdir()
    _normalise(made)
    os.chown(results, USER, USER)


def source_sha256(clone: Path, dockerfile: str) -> str:
    """The SHA-256 of the Dockerfile and every file that it copies: names, content, permission to execute."""
    files = {clone / dockerfile}
    for source in _copied((clone / dockerfile).read_text("utf-8")):
        for path in clone.glob(source):
            found = path.rglob("*") if path.is_dir() else [path]
            files |= {each for each in found if each.is_file() and "__pycache__" not in each.parts}
    digest = hashlib.sha256()
    for path in sorted(files):
        executable = "x" if path.stat().st_mode & 0o100 else "-"
        digest.update(f"{path.relative_to(clone)}\0{executable}\0{_sha256(path)}\n".encode())
    return digest.hexdigest()


def _copied(dockerfile: str) -> Iterator[str]:
    for instruction in dockerfile.replace("\\\n", " ").splitlines():
        words = shlex.split(instruction) if instruction.startswith("COPY ") else []
        if words and not any(word.startswith("--from=") for word in words):
            yield from [word for word in words[1:] if not word.startswith("--")][:-1]


def _compile(site_packages: Path) -> None:
    """Compiles all modules, each folder in a process of its own: the bytes depend on which objects exist at that time.

    So this process must have no threads either, as multiprocessing would start.
    """
    running = 0
    for folder in sorted({path.parent for path in site_packages.rglob("*.py")}):
        if running == os.cpu_count():
            os.wait()
            running -= 1
        if os.fork() == 0:
            unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
            # Some packages have templates and tests that are no Python.
            compileall.compile_dir(str(folder), maxlevels=0, quiet=2, force=True, invalidation_mode=unchecked)
            os._exit(0)
        running += 1
    for _ in range(running):
        os.wait()


def _head(git: Path) -> str | None:
    """The clone's commit. A ? follows: whether files have changed since cannot be seen from here."""
    try:
        head = (git / "HEAD").read_text("ascii").strip()
        if head.startswith("ref: "):
            head = _reference(git, head[5:])
    except (OSError, ValueError):
        return None
    return head + "?" if re.fullmatch("[0-9a-f]{40,64}", head) else None


def _reference(git: Path, name: str) -> str:
    if (git / name).is_file():
        return (git / name).read_text("ascii").strip()
    packed = (git / "packed-refs").read_text("utf-8").splitlines()
    return next((line.split()[0] for line in packed if line.endswith(" " + name)), "")


def _python_packages(site_packages: Path) -> list[dict[str, Any]]:
    found = {}
    for package in metadata.distributions(path=[str(site_packages)]):
        name = re.sub("[-_.]+", "-", package.metadata["Name"]).lower()
        found[name] = {**_component("pypi", name, package.version), **_licences(package.metadata)}
    return [found[name] for name in sorted(found)]


def _licences(facts: Any) -> dict[str, Any]:
    expression, text = facts["License-Expression"], (facts["License"] or "").strip()
    if expression:
        return {"licenses": [{"expression": expression}]}
    kinds = [each.split(" :: ")[-1] for each in facts.get_all("Classifier") or [] if each.startswith("License :: ")]
    # Some packages have the whole text of their licence in this field.
    names = [text] if text and len(text) < 100 and "\n" not in text else kinds
    return {"licenses": [{"license": {"name": name}} for name in names]} if names else {}


def _debian_packages(status: Path) -> list[dict[str, Any]]:
    found = []
    for entry in status.read_text("utf-8").split("\n\n") if status.is_file() else []:
        fields = dict(line.split(": ", 1) for line in entry.splitlines() if re.match("[A-Z][A-Za-z-]*: ", line))
        if fields.get("Status", "").endswith(" installed"):
            found.append(_component("deb/debian", fields["Package"], fields["Version"]))
    return sorted(found, key=lambda each: str(each["name"]))


def _component(kind: str, name: str, version: str) -> dict[str, Any]:
    return {"type": "library", "name": name, "version": version, "purl": f"pkg:{kind}/{name}@{version}"}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


def _normalise(folder: Path) -> None:
    """Gives files and folders the modes that git keeps, whatever the umask of the clone's user, and one time stamp."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            executable = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if executable else 0o644)
        os.utime(path, (EPOCH, EPOCH), follow_symlinks=False)


if __name__ == "__main__":
    if sys.argv[1] == "environment":
        environment(Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        image(Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
