"""Records programs of this folder and prints a Markdown table of what was found; see docs/recorded-programs.md.

    python -m tests.programs.table FOLDER --python torch=ENV/bin/python --replay torch=ENV/bin/python \\
        [--target torch-2.9.0-tpu-v5e ...] [PROGRAM ...]

``--python`` has the programs' packages, ``--replay`` what portbench's runner needs (numpy, jsonschema). Recordings and
run files stay in FOLDER. A program whose recording is there already is not recorded again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.paths import ROOT

PROGRAMS = ROOT / "tests" / "programs"
_NOT_PROGRAMS = {"torch_cost", "jax_disagreements"}


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--python", action="append", default=[], metavar="FRAMEWORK=PYTHON")
    parser.add_argument("--replay", action="append", default=[], metavar="FRAMEWORK=PYTHON")
    parser.add_argument("--target", action="append", default=[])
    given = parser.parse_intermixed_args(arguments)
    pythons = dict(each.split("=", 1) for each in given.python)
    replays = dict(each.split("=", 1) for each in given.replay)
    names = given.programs or names_of(pythons)
    columns = ["program", "calls", "functions", "signatures", "left out", "replayed on the CPU", *given.target]
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for name in names:
        framework = name.partition("_")[0]
        folder = given.folder / name
        manifest = folder / f"{framework}.json"
        if not manifest.is_file():
            _record(pythons[framework], name, folder)
        cells = [name, *_recorded(manifest), _replayed(replays[framework], manifest)]
        print("| " + " | ".join([*cells, *(_verdict(folder, manifest, target) for target in given.target)]) + " |")


def names_of(frameworks: Iterable[str]) -> list[str]:
    """The programs of this folder for these frameworks."""
    found = sorted(path.stem for framework in frameworks for path in PROGRAMS.glob(f"{framework}_*.py"))
    return [name for name in found if name not in _NOT_PROGRAMS]


def _portbench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "portbench", *arguments], cwd=ROOT, capture_output=True, text=True)


def _record(python: str, name: str, folder: Path) -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"
    done = _portbench("record", "-o", str(folder), "--", python, str(PROGRAMS / f"{name}.py"))
    if done.returncode:
        sys.exit(f"{name}: {done.stderr[-1000:]}")


def _recorded(manifest: Path) -> list[str]:
    document = json.loads(manifest.read_text("utf-8"))
    tests = [test for entry in document["functions"] for test in entry["tests"] if test["case"] != "program"]
    functions = [entry for entry in document["functions"] if entry["tests"][0]["case"] != "program"]
    left_out = sum(entry["calls"] for entry in document["recorded"]["left_out"])
    return [f"{document['recorded']['calls']:,}", f"{len(functions)}", f"{len(tests):,}", f"{left_out:,}"]


def _replayed(python: str, manifest: Path) -> str:
    done = subprocess.run(
        [python, "-m", "tests.programs.replay", str(manifest)], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        return "failed"
    found: Mapping[str, Any] = json.loads(done.stdout)
    (manifest.parent / "replay.txt").write_text(done.stdout, "utf-8")
    passed = found["tests"] - len(found["failures"])
    return f"{passed:,} ({100 * passed / max(1, found['tests']):.1f} %)"


def _verdict(folder: Path, manifest: Path, target: str) -> str:
    """The first line that 'portbench verdict' prints for the target, or why there is none."""
    out = folder / "results" / target
    if not list(out.glob("*.json")):
        command = ["run", target, "--manifest", str(manifest), "--runs", "1", "--protocol", "cold", "--out", str(out)]
        done = _portbench(*command, "--backend", "venv", "-q")
        if not list(out.glob("*.json")):
            return "not run: " + " ".join(done.stderr.split())[:200]
    done = _portbench("verdict", str(folder), str(out))
    return next(iter(done.stdout.splitlines()), " ".join(done.stderr.split())[:200])


if __name__ == "__main__":
    main(sys.argv[1:])
