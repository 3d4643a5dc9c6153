"""The libraries that the page carries: fetched by exact version with npm, checked, and kept in page/vendor/.

    python -m portbench.page.vendored            # is each file what vendored.json says?
    python -m portbench.page.vendored --fetch    # fetches the packages again, checks their integrity, writes the files

``page/vendor/vendored.json`` lists packages (name, version, licence, integrity of the archive) and their files (path in
the archive, name here, SHA-256). To take another version: change its version there, remove ``integrity`` and the
``sha256`` of its files, fetch, and read what changed before it is committed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from portbench.errors import BadInput, EnvironmentFailed
from portbench.util.files import write_text

FOLDER = Path(__file__).parent / "vendor"
_LIST = "vendored.json"


def packages(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """What vendored.json lists: packages with ``name``, ``version``, ``license``, ``integrity`` and ``files``."""
    listed: list[dict[str, Any]] = json.loads((folder / _LIST).read_text("utf-8"))["packages"]
    return listed


def check(folder: Path = FOLDER) -> None:
    """Raises BadInput for a file that is missing or not the one that vendored.json lists."""
    for package in packages(folder):
        for file in package["files"]:
            path = folder / file["name"]
            found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
            if found != file["sha256"]:
                raise BadInput(
                    f"{file['name']} of {package['name']} {package['version']}: sha256 {file['sha256']} is expected, "
                    f"found: {found}",
                    "Fetch it again: python -m portbench.page.vendored --fetch",
                )


def fetch(folder: Path = FOLDER) -> None:
    """Fetches every package with npm and writes its files; what has no digest yet gets one.

    Raises EnvironmentFailed where npm fails, BadInput where the archive or a file is not the one that is listed; then
    nothing is written.
    """
    listed = packages(folder)
    contents: dict[str, bytes] = {}
    for package in listed:
        with tempfile.TemporaryDirectory(prefix="portbench-") as temporary:
            archive = _pack(f"{package['name']}@{package['version']}", Path(temporary))
            digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
            _keep(package, "integrity", f"sha512-{digest}", package["name"])
            with tarfile.open(archive) as files:
                for file in package["files"]:
                    member = files.extractfile(f"package/{file['path']}")
                    content = member.read() if member else b""
                    _keep(file, "sha256", hashlib.sha256(content).hexdigest(), file["name"])
                    contents[file["name"]] = content
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    write_text(folder / _LIST, json.dumps({"packages": listed}, indent=1) + "\n")


def _pack(wanted: str, folder: Path) -> Path:
    command = ["npm", "pack", wanted, "--json", "--silent", "--pack-destination", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise EnvironmentFailed(f"npm pack {wanted} failed: {said.strip()}", "npm of Node.js is needed.") from None
    return next(folder.glob("*.tgz"))


def _keep(entry: dict[str, Any], key: str, found: str, name: str) -> None:
    if entry.setdefault(key, found) != found:
        raise BadInput(
            f"{name}: {key} {entry[key]} is expected, found: {found}", "Its content is not what was checked before."
        )


if __name__ == "__main__":
    if "--fetch" in sys.argv[1:]:
        fetch()
    check()
    print("\n".join(f"{package['name']} {package['version']}: as listed" for package in packages()))
