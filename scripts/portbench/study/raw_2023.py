"""Reads the raw timings of the paper of 2023.

A raw file is of one device and run, which its name says (``gpu_t4_run1.json``), and has the seconds of each timed
operation of each test:

    {"add_test.py:testOp0": {"operations": [0.1765], "test_time": 0.183}, ...}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from portbench.errors import BadInput
from portbench.published import paper as published
from portbench.util.strict_json import json_path, read_json, shown
from portbench.util.text import escape_control

_NAME = re.compile(r"(gpu|tpu)_([a-z0-9]+)_run([1-9][0-9]?)\.json")
REMEDY = "Give the paper's raw files, named by device and run such as gpu_t4_run1.json, or their folder."


@dataclass(frozen=True)
class Device:
    """A device of the paper: its name in the paper's tables, and its facts in the environment of a run file."""

    name: str
    facts: Mapping[str, str]


DEVICES = {
    ("gpu", "t4"): Device("t4", {"model": "Tesla T4", "compute_capability": "7.5"}),
    ("gpu", "a100"): Device("a100", {"model": "NVIDIA A100", "compute_capability": "8.0"}),
    ("tpu", "v2"): Device("v2-8", {"model": "TPU v2", "accelerator_type": "v2-8"}),
    ("tpu", "v3"): Device("v3-8", {"model": "TPU v3", "accelerator_type": "v3-8"}),
}


class RawTest(TypedDict):
    """The times of one test in seconds: of each timed operation, and of the whole test."""

    operations: list[float]
    test_time: float


@dataclass(frozen=True)
class RawRun:
    """A raw file: one run of the tests on one device. ``tests`` has seconds, by test file and test."""

    path: Path
    framework: str
    device: str
    model: str
    run: int
    tests: Mapping[tuple[str, str], RawTest]


def find_raw_files(paths: Iterable[Path]) -> list[Path]:
    """The files of ``paths``, which are files and folders of .json files. Raises BadInput for an empty folder."""
    files: list[Path] = []
    for path in paths:
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise BadInput(f"{shown(path)}: no .json file there", REMEDY)
        files += inside
    return list({file.resolve(): file for file in files}.values())


def read_raw_file(path: Path, framework: str | None) -> RawRun:
    """Reads and checks a raw file; ``framework`` None: the name of its folder. Raises BadInput if it is none."""
    name = _NAME.fullmatch(path.name)
    if name is None or (name[1], name[2]) not in DEVICES:
        known = ", ".join(f"{device}_{model}" for device, model in DEVICES)
        raise BadInput(
            f"{shown(path)}: found the name {escape_control(path.name)}, expected a device of the paper ({known}) "
            "and a run",
            REMEDY,
        )
    framework = framework or path.resolve().parent.name
    if not published.raw_test_files(framework):
        raise BadInput(
            f"{shown(path)}: the functions of its test files are not known for framework "
            f"{escape_control(framework)}, only of jax",
            "Name the framework with --framework, or the folder after it.",
        )
    data = read_json(path).data
    if not isinstance(data, dict) or not data:
        raise BadInput(f"{shown(path)}: $: expected an object with an entry for each test", REMEDY)
    for test, entry in data.items():
        _check(path, test, entry)
    tests = {_place(path, test): entry for test, entry in data.items()}
    return RawRun(path, framework, name[1], name[2], int(name[3]), tests)


def _place(path: Path, test: str) -> tuple[str, str]:
    file, separator, name = test.partition(":")
    if not (file and separator and name):
        raise BadInput(
            f"{shown(path)}: {json_path([test])}: expected a key such as add_test.py:testOp0, a test file and a test",
            REMEDY,
        )
    return file, name


def _check(path: Path, test: str, entry: Any) -> None:
    def wrong(where: Sequence[str | int], expected: str) -> BadInput:
        return BadInput(f"{shown(path)}: {json_path([test, *where])}: expected {expected}", REMEDY)

    if not isinstance(entry, dict) or set(entry) != {"operations", "test_time"}:
        raise wrong([], "an object with operations and test_time")
    if not isinstance(entry["operations"], list):
        raise wrong(["operations"], "a list of seconds")
    if not _is_seconds(entry["test_time"]):
        raise wrong(["test_time"], "seconds, a number that is not negative")
    for position, value in enumerate(entry["operations"]):
        if not _is_seconds(value):
            raise wrong(["operations", position], "seconds, a number that is not negative")


def _is_seconds(value: Any) -> bool:
    # A year is more than any test took, and fits easily into 64 bits of nanoseconds.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 365 * 86_400
