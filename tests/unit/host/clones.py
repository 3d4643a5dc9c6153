"""Small clones of the repository for the tests of the host's commands, with a stand-in for the runner."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from portbench.targets.catalog import TPU_COMPILER
from tests.paths import ROOT

REPOSITORY = ROOT
STAND_IN = Path(__file__).with_name("stand_in_runner.py")
COMMAND = (sys.executable, "-c", "from portbench.cli import main; main()")


@dataclass(frozen=True)
class Clone:
    """A clone at ``root``; ``portbench`` runs a command in it."""

    root: Path

    def add_version(self, framework: str, version: str, python: str = "3.11", default: bool = True) -> Path:
        """A folder of images/ with a lock, and a manifest ``study`` for its framework."""
        folder = self.root / "images" / framework / version
        folder.mkdir(parents=True)
        (folder / "python-version").write_text(f"{python}\n")
        (folder / "cpu.lock").write_text("# nothing to install\n")
        (folder / "cpu.in").write_text("")
        if default:
            (folder.parent / "default-version").write_text(f"{version}\n")
        self.add_manifest(self.root / "manifests" / "study" / f"{framework}.json", framework)
        return folder

    def add_predicted_tpus(self) -> None:
        """Makes framework fake 1.0.0 a target on every predicted TPU, with a version that has the compiler."""
        (self.root / "images" / "fake" / "1.0.0" / "tpu-aot.Dockerfile").touch()
        framework, version, _ = TPU_COMPILER.split("-", 2)
        (self.add_version(framework, version) / "tpu.lock").write_text("libtpu==1.0.0\n")

    def add_manifest(self, path: Path, framework: str) -> Path:
        """Writes the smallest manifest: the host checks it before it starts a runner."""
        path.parent.mkdir(parents=True, exist_ok=True)
        test = {"id": "a", "case": "call", "expect": {"value": 1}}
        functions = [{"function": f"{framework}.identity", "tests": [test]}]
        head = {"schema": "portbench/manifest", "schema_version": 3, "name": "m", "framework": framework}
        path.write_text(json.dumps({**head, "functions": functions}))
        return path

    def environment(self, stand_in: str, **variables: str) -> dict[str, str]:
        """The environment of this process, with the stand-in's behaviour and the clone's own cache and home."""
        own = {"HOME": str(self.root / "home"), "XDG_CACHE_HOME": str(self.root / "cache"), "COLUMNS": "200"}
        return {**os.environ, **own, "PORTBENCH_PYTHON": sys.executable, "STAND_IN": stand_in, **variables}

    def portbench(
        self, *arguments: str, stand_in: str = "passes", variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs the command to its end, in the clone."""
        environment = self.environment(stand_in, **(variables or {}))
        return subprocess.run(
            [*COMMAND, *arguments], cwd=self.root, env=environment, capture_output=True, text=True, timeout=120
        )

    def start(
        self, *arguments: str, stand_in: str, variables: Mapping[str, str] | None = None
    ) -> tuple[subprocess.Popen[str], IO[str]]:
        """Starts the command; returns it with the pipe to which the stand-in writes its progress.

        The pipe ends when none of the stand-in's processes is left.
        """
        pipe = self.root / "tell"
        os.mkfifo(pipe)
        process = self.popen(*arguments, stand_in=stand_in, variables={**(variables or {}), "STAND_IN_TELL": str(pipe)})
        return process, pipe.open()

    def popen(
        self, *arguments: str, stand_in: str = "passes", variables: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Starts the command; its output goes to pipes."""
        return subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.root,
            env=self.environment(stand_in, **(variables or {})),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def make_clone(folder: Path) -> Clone:
    """A clone with framework fake 1.0.0 alone."""
    clone = Clone(folder / "clone")
    for name in ("images", "manifests", "runners", "home"):
        (clone.root / name).mkdir(parents=True)
    shutil.copytree(STAND_IN.parents[3] / "schema", clone.root / "schema")
    shutil.copyfile(STAND_IN, clone.root / "runners" / "__main__.py")
    (clone.root / "runners" / "__init__.py").touch()
    clone.add_version("fake", "1.0.0")
    return clone
