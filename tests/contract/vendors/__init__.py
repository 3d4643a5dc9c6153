"""Stand-ins for vendors' devices, in the languages that vendors write them in, and how they are compiled."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from portbench.targets.environments import environments_folder


def compiled(source: Path, python: Path, package: str, options: Sequence[str]) -> Path:
    """The library of a C++ source that uses the headers of a package in a Python's environment. It is kept, by its
    source and the package's version. In the options, ``{}`` is the package's folder."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++, which compiles the stand-in for a vendor's device")
    (folder,) = python.parent.parent.glob(f"lib/python3.*/site-packages/{package}")
    (metadata,) = [each for each in folder.parent.glob(f"{package}*.dist-info") if _is_of(each.name, package)]
    key = hashlib.sha256(source.read_bytes() + repr(options).encode()).hexdigest()[:16]
    library = environments_folder().parent / "test-packages" / f"{metadata.stem}-vendor-{key}.so"
    if not library.is_file():
        library.parent.mkdir(parents=True, exist_ok=True)
        made = library.with_suffix(f".{os.getpid()}")
        filled = [option.format(folder) for option in options]
        command = [compiler, "-shared", "-fPIC", "-w", str(source), "-o", str(made), *filled]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        made.rename(library)
    return library


def results_of(done: subprocess.CompletedProcess[str]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The results by test, and the run file, of a run with --json."""
    assert done.returncode == 0, done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    document: dict[str, Any] = json.loads(Path(target["run_file"]).read_text())
    return {result["test"]: result for result in document["results"]}, document


def _is_of(name: str, package: str) -> bool:
    """``tensorflow_cpu-2.21.0.dist-info`` is of tensorflow, ``torch_tpu-0.2.0.dist-info`` not of torch."""
    return name.startswith((f"{package}-", f"{package}_cpu-"))
