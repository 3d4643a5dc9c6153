"""Reads reports of pytest-json-report (``pytest --json-report``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from portbench.errors import BadInput
from portbench.study.foreign.reported import Report, ReportedTest, failed_test, parse_error
from portbench.util.strict_json import FIX, json_path, quoted, read_json, shown
from portbench.util.text import shortened

REMEDY = "Give a report that 'pytest --json-report' wrote, or name the format of the file with --from."

_OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
_STAGES = ("setup", "call", "teardown")
_SKIPPED = re.compile(r"\(.*, \d+, ['\"](?:Skipped: )?(.*)['\"]\)", re.DOTALL)
_LATEST_S = 253402300799  # the last second of the year 9999


def read_pytest_json(path: Path) -> Report:
    """Reads a report. Raises BadInput for any other file, StorageFailed where it cannot be read."""
    try:
        data = read_json(path).data
    except BadInput as error:
        raise BadInput(str(error), REMEDY if error.remedy == FIX else error.remedy) from None
    return _Reader(path).report(data)


class _Reader:
    """Reads the parts of one document, and names its file in errors."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def report(self, data: Any) -> Report:
        self.expect(data, [], dict, "an object with the tests of a report")
        tests = self.expect(data.get("tests"), ["tests"], list, "the list of tests")
        if not tests:
            raise self.wrong(["tests"], tests, "at least one test")
        collectors = self.expect(data.get("collectors", []), ["collectors"], list, "a list")
        environment = data.get("environment")
        python = environment.get("Python") if isinstance(environment, dict) else None
        ended, lasted = (self.seconds(data.get(key), [key]) for key in ("created", "duration"))
        return Report(
            tests=[self.test(test, ["tests", position]) for position, test in enumerate(tests)],
            not_collected=[
                str(one.get("nodeid")) for one in collectors if isinstance(one, dict) and one.get("outcome") == "failed"
            ],
            python=python if isinstance(python, str) and python else None,
            started_s=None if ended is None or lasted is None else max(0.0, ended - lasted),
            ended_s=ended,
        )

    def test(self, test: Any, where: list[str | int]) -> ReportedTest:
        self.expect(test, where, dict, "an object")
        node = self.text(test.get("nodeid"), [*where, "nodeid"])
        outcome = test.get("outcome")
        if outcome not in _OUTCOMES:
            raise self.wrong([*where, "outcome"], outcome, f"one of {', '.join(_OUTCOMES)}")
        stages = {name: self.expect(test.get(name, {}), [*where, name], dict, "an object") for name in _STAGES}
        call_s = self.seconds(stages["call"].get("duration"), [*where, "call", "duration"])
        output = "".join(
            text
            for stage in stages.values()
            for name in ("stdout", "stderr")
            if isinstance(text := stage.get(name), str)
        )
        if outcome in ("passed", "xpassed"):
            return ReportedTest(node, "passed", call_s=call_s, output=output)
        # An expected failure has the outcome skipped in the stage that failed.
        wanted = "failed" if outcome in ("failed", "error") else "skipped"
        stage: dict[str, Any] = next((stage for stage in stages.values() if stage.get("outcome") == wanted), {})
        said = _said(stage)
        # A test that is expected to fail and was not run has it in its setup.
        if outcome == "skipped" or (outcome == "xfailed" and stage is not stages["call"]):
            found = _SKIPPED.fullmatch(said)
            return ReportedTest(node, "skipped", (found[1] if found else said) or "no reason is given", output=output)
        crash = stage.get("crash")
        message = crash.get("message") if isinstance(crash, dict) else None
        error = parse_error(message if isinstance(message, str) else said, said)
        return failed_test(node, error, call_s, output)

    def expect(self, value: Any, where: Sequence[str | int], kind: type, expected: str) -> Any:
        if not isinstance(value, kind):
            raise self.wrong(where, value, expected)
        return value

    def text(self, value: Any, where: Sequence[str | int]) -> str:
        if not isinstance(value, str) or not value:
            raise self.wrong(where, value, "the id of a test, as text")
        return value

    def seconds(self, value: Any, where: Sequence[str | int]) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _LATEST_S:
            raise self.wrong(where, value, "seconds, a number that is not negative")
        return float(value)

    def wrong(self, where: Sequence[str | int], value: Any, expected: str) -> BadInput:
        found = "nothing" if value is None else quoted(shortened(str(value), 60))
        return BadInput(f"{shown(self.path)}: {json_path(where)}: found {found}, expected {expected}", REMEDY)


def _said(stage: dict[str, Any]) -> str:
    said = stage.get("longrepr")
    return said if isinstance(said, str) else ""
