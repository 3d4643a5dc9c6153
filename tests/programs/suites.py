"""Records the test suite of a library with the plugin of pytest and prints what was found.

See docs/recorded-programs.md.

    python -m tests.programs.suites FOLDER SUITE --python ENV/bin/python --replay ENV/bin/python [--api LIST.json]

``--python`` has the library, pytest and pytest-xdist, ``--replay`` what portbench's runner needs (numpy, jsonschema).
``--api`` is a list of ``portbench enumerate``. The suite runs twice, first without the recorder. Recordings and what
pytest printed stay in FOLDER.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.paths import ROOT


class Suite(NamedTuple):
    """The part of a library's suite that is run: its framework, and the modules and options for pytest."""

    framework: str
    modules: Sequence[str]
    options: Sequence[str] = ()


_OPTAX = ("losses", "tree_utils", "transforms", "projections", "perturbations", "schedules", "microbatching")
SUITES: Mapping[str, Suite] = {
    "optax": Suite("jax", [f"optax.{name}" for name in _OPTAX], ("-n", "2")),
    # Its source distribution has no test but the examples in docstrings, which need a seed: tests/programs/seeded.py.
    "torchmetrics": Suite(
        "torch",
        [f"torchmetrics.{name}" for name in ("functional", "wrappers", "aggregation", "metric", "collections")],
        ("--doctest-plus", "-p", "tests.programs.seeded"),
    ),
}


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("--python", required=True)
    parser.add_argument("--replay", required=True)
    parser.add_argument("--api", type=Path)
    given = parser.parse_args(arguments)
    suite = SUITES[given.suite]
    given.folder.mkdir(parents=True, exist_ok=True)
    recording = (given.folder / given.suite).absolute()
    plugin = ["-p", "portbench_recorder.pytest_plugin", f"--portbench-record={recording}"]
    for title, options in (("without", []), ("with", plugin)):
        printed = _tested(given.python, suite, options)
        (given.folder / f"{given.suite}-{title}.txt").write_text(printed, "utf-8")
        print(f"{title} the recorder: {last_line(printed)}")
    manifest = recording / f"{suite.framework}.json"
    if not manifest.is_file():
        sys.exit(f"{manifest}: was not written; see {given.folder / given.suite}-with.txt")
    for line in summary(json.loads(manifest.read_text("utf-8")), api_of(given.api)):
        print(line)
    command = [given.replay, "-m", "tests.programs.replay", str(manifest)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the replay ended with {done.returncode}: {done.stderr[-1000:]}")
    (recording / "replay.txt").write_text(done.stdout, "utf-8")
    found = json.loads(done.stdout)
    print(f"repeated on the CPU: {found['tests'] - len(found['failures']):,} of {found['tests']:,}")
    for failure in found["failures"]:
        print(f"  {failure['function']} {failure['test']}: {failure['message']}")


def _tested(python: str, suite: Suite, options: Sequence[str]) -> str:
    """What pytest printed. The folder of installed packages is no place for its cache."""
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "runners" / "recorder")))
    environment = {**os.environ, "PYTHONPATH": paths, "JAX_PLATFORMS": "cpu", "HF_HUB_OFFLINE": "1"}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *suite.options, *options, "--pyargs"]
    home = ["-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]
    packages = subprocess.run([python, *home], capture_output=True, text=True, check=True).stdout.strip()
    done = subprocess.run([*command, *suite.modules], cwd=packages, env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


def last_line(printed: str) -> str:
    """pytest's count of tests by outcome."""
    counts = re.findall(r"^.*\d+ (?:passed|failed|error|skipped).*$", printed, re.MULTILINE)
    return counts[-1].strip("= ") if counts else "no test ran"


def api_of(path: Path | None) -> set[str]:
    """All names of all functions and classes in a list of ``portbench enumerate``."""
    if path is None:
        return set()
    functions = json.loads(path.read_text("utf-8"))["functions"]
    return {name for each in functions for name in (each["name"], *each.get("aliases", ()))}


def summary(manifest: Mapping[str, Any], api: set[str]) -> list[str]:
    """What a recording holds, in lines: calls, functions, signatures, and what no test repeats."""
    recorded = manifest["recorded"]
    functions = [entry for entry in manifest["functions"] if entry["tests"][0]["case"] != "program"]
    names = {entry["function"] for entry in functions} | {entry["function"] for entry in recorded["left_out"]}
    in_api = f", {len(names & api)} of them in the list of the public API" if api else ""
    lines = [
        f"calls: {recorded['calls']:,}",
        f"functions: {len(names)}{in_api}",
        f"signatures: {sum(len(entry['tests']) for entry in functions):,}",
        f"calls left out: {sum(entry['calls'] for entry in recorded['left_out']):,}",
    ]
    lines += [f"  {each['calls']:,} {each['function']}: {each['reason']}" for each in recorded["left_out"]]
    failures = recorded["failures"]
    lines += [f"failures of the recorder: {sum(each['calls'] for each in failures)}"]
    return lines + [f"  {each['calls']:,} {each['message']}" for each in failures]


if __name__ == "__main__":
    main(sys.argv[1:])
