"""Reads the raw data of the paper of 2023: times, and outcomes where there is a report of them.

A file of times is of one device and run, which its name says (``gpu_t4_run1.json``), and has the seconds of each timed
operation of each test. A file of outcomes (``gpu_t4_outcomes.json``) is of one device. Both may be compressed (.gz).

    {"add_test.py:testOp0": {"operations": [0.1765], "test_time": 0.183}, ...}
    [{"file": "add_test.py", "class": "AddTest", "test": "testOp0", "outcome": "passed"}, ...]
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

_NAME = re.compile(r"(gpu|tpu)_([a-z0-9]+)_(?:run([1-9][0-9]?)|outcomes)\.json(?:\.gz)?")
_MAPPING = "files.json"
_OUTCOMES = ("passed", "failed", "skipped")
_DEVICE_IN_NAME = re.compile(r"_(cpu|cuda|xla)(?=_|$)")
REMEDY = (
    "Give the paper's raw files, named by device and run such as gpu_t4_run1.json or gpu_t4_outcomes.json.gz, or their "
    "folder."
)


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
class RawOutcome:
    """What a report says of one test: ``outcome`` is passed, failed or skipped; ``message`` begins with the type of the
    exception, null where there is none."""

    file: str
    cls: str
    test: str
    outcome: str
    message: str | None


@dataclass(frozen=True)
class RawFile:
    """A raw file: of one framework on one device."""

    path: Path
    framework: str
    device: str
    model: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Framework, device and model."""
        return self.framework, self.device, self.model


@dataclass(frozen=True)
class RawRun(RawFile):
    """One run of the tests on one device. ``tests`` has seconds, by test file and test."""

    run: int
    tests: Mapping[tuple[str, str], RawTest]


@dataclass(frozen=True)
class RawReport(RawFile):
    """The outcomes of the tests on one device."""

    outcomes: Sequence[RawOutcome]


@dataclass(frozen=True)
class RawGroup:
    """The runs of one framework on one device, and the report of its outcomes where there is one."""

    runs: tuple[RawRun, ...]
    report: RawReport | None

    @property
    def framework(self) -> str:
        """The framework of all runs."""
        return self.runs[0].framework

    @property
    def places(self) -> set[tuple[str, str]]:
        """Test file and test of each test, as they are named in the raw files."""
        reported = self.report.outcomes if self.report else ()
        return {place for raw in self.runs for place in raw.tests} | {(one.file, one.test) for one in reported}


def test_id(framework: str, test: str) -> str | None:
    """The name under which a test pairs across devices: PyTorch's tests carry their device (``test_lt_cuda_int8`` is
    ``test_lt_int8``). None for a test of the CPU."""
    found = list(_DEVICE_IN_NAME.finditer(test)) if framework == "torch" else []
    if not found:
        return test
    # test_batchnorm_nhwc_cpu_cuda is of the GPU: its device comes last.
    last = found[-1]
    return None if last[1] == "cpu" else test[: last.start()] + test[last.end() :]


def find_raw_files(paths: Iterable[Path]) -> list[Path]:
    """The files of ``paths``: files, and folders of .json and .json.gz files. Raises BadInput for an empty folder."""
    files: list[Path] = []
    for path in paths:
        inside = sorted({*path.rglob("*.json"), *path.rglob("*.json.gz")}) if path.is_dir() else [path]
        if not inside:
            raise BadInput(f"{shown(path)}: no .json file there", REMEDY)
        files += [file for file in inside if file.name != _MAPPING]
    return list({file.resolve(): file for file in files}.values())


def read_raw_file(path: Path, framework: str | None) -> RawRun | RawReport:
    """Reads and checks a raw file; ``framework`` None: the name of its folder. Raises BadInput if it is none."""
    name = _NAME.fullmatch(path.name)
    if name is None or (name[1], name[2]) not in DEVICES:
        known = ", ".join(f"{device}_{model}" for device, model in DEVICES)
        raise BadInput(
            f"{shown(path)}: found the name {escape_control(path.name)}, expected a device of the paper ({known}) "
            "and a run or outcomes",
            REMEDY,
        )
    framework = framework or path.resolve().parent.name
    if not published.raw_test_files(framework):
        raise BadInput(
            f"{shown(path)}: found framework {escape_control(framework)}, expected one of "
            f"{', '.join(published.FRAMEWORKS)}",
            "Name the framework with --framework, or the folder after it.",
        )
    data = read_json(path).data
    if name[3] is None:
        return RawReport(path, framework, name[1], name[2], _outcomes(path, data))
    if not isinstance(data, dict) or not data:
        raise BadInput(f"{shown(path)}: $: expected an object with an entry for each test", REMEDY)
    for test, entry in data.items():
        _check(path, test, entry)
    tests = {_place(path, test): entry for test, entry in data.items()}
    return RawRun(path, framework, name[1], name[2], int(name[3]), tests)


def group_raw_files(found: Iterable[RawRun | RawReport]) -> dict[tuple[str, str, str], RawGroup]:
    """The files by framework, device and model, sorted. Raises BadInput for a duplicate, and outcomes without times."""
    runs: dict[tuple[str, str, str], dict[int, RawRun]] = {}
    reports: dict[tuple[str, str, str], RawReport] = {}
    for raw in found:
        of = f"of {raw.framework} on the {raw.device} {raw.model}"
        if isinstance(raw, RawReport):
            if (other := reports.setdefault(raw.key, raw)) is not raw:
                raise BadInput(f"{shown(other.path)} and {shown(raw.path)} are both outcomes {of}", "Give one of them.")
        elif (first := runs.setdefault(raw.key, {}).setdefault(raw.run, raw)) is not raw:
            raise BadInput(
                f"{shown(first.path)} and {shown(raw.path)} are both run {raw.run} {of}", "Give each run once."
            )
    for key, report in reports.items():
        if key not in runs:
            raise BadInput(
                f"{shown(report.path)}: outcomes without times", "Give the files of the runs on this device, too."
            )
    return {key: RawGroup(tuple(raw for _, raw in sorted(runs[key].items())), reports.get(key)) for key in sorted(runs)}


def _place(path: Path, test: str) -> tuple[str, str]:
    file, separator, name = test.partition(":")
    if not (file and separator and name):
        raise BadInput(
            f"{shown(path)}: {json_path([test])}: expected a key such as add_test.py:testOp0, a test file and a test",
            REMEDY,
        )
    return file, name


def _outcomes(path: Path, data: Any) -> tuple[RawOutcome, ...]:
    if not isinstance(data, list) or not data:
        raise BadInput(f"{shown(path)}: $: expected a list with an entry for each test", REMEDY)
    found: dict[tuple[str, str, str], RawOutcome] = {}
    for position, entry in enumerate(data):
        where = f"{shown(path)}: {json_path([position])}"
        names = ("file", "class", "test")
        if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) and entry[name] for name in names):
            raise BadInput(f"{where}: expected an object with file, class, test and outcome", REMEDY)
        message = entry.get("message")
        if entry.get("outcome") not in _OUTCOMES:
            raise BadInput(f"{where}.outcome: expected one of {', '.join(_OUTCOMES)}", REMEDY)
        if not isinstance(message, str | None):
            raise BadInput(f"{where}.message: expected text", REMEDY)
        outcome = RawOutcome(entry["file"], entry["class"], entry["test"], entry["outcome"], message)
        if found.setdefault((outcome.file, outcome.cls, outcome.test), outcome) is not outcome:
            raise BadInput(f"{where}: a second outcome of this test, expected one", REMEDY)
    return tuple(found.values())


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
