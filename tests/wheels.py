"""Wheels under the names of real packages, and servers for them: a package index and a vendor's storage.

Nothing of the real packages is in them but name, version and requirements.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.server
import re
import threading
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


def make_wheel(folder: Path, name: str, version: str, requires: Sequence[str] = ()) -> Path:
    """A pure Python wheel with one module of the package's name, which has ``__version__``."""
    module = re.sub(r"[-.]", "_", name)
    info = f"{module}-{version}.dist-info"
    metadata = "".join(f"Requires-Dist: {each}\n" for each in requires)
    files = {
        f"{module}.py": f"__version__ = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return wheel


def add_to_index(index: Path, name: str, version: str, requires: Sequence[str] = ()) -> Path:
    """A wheel in a package index, whose pages are the listings of its folders."""
    return make_wheel(index / re.sub(r"[-_.]+", "-", name).lower(), name, version, requires)


def sha256(wheel: Path) -> str:
    """The hash of a wheel, as a lock writes it."""
    return f"sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the output of a test is its own."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of the folder's files, until the end of the block."""
    folder.mkdir(parents=True, exist_ok=True)
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
