"""What a report of other software says about its tests, whatever its format.

A reader per format (``pytest_json``, ``junit``) returns a ``Report``. It raises BadInput where the file is not of its
format, with the file, the place, what was found and what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

UNNAMED_ERROR = "Exception"
"""The type of an error where a report does not name it."""

_TYPE = r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*"
_NAMED = re.compile(rf"({_TYPE})(?:: (.*)|:?\s*)", re.DOTALL)
_IS_TYPE = re.compile(_TYPE)


@dataclass(frozen=True)
class ReportedError:
    """An exception: ``type`` with its module or without, as the report has it."""

    type: str
    message: str
    traceback: str


@dataclass(frozen=True)
class ReportedTest:
    """One test. ``outcome``: passed, failed, skipped or crashed.

    ``reason`` says why it was skipped or crashed; ``error`` is that of a failed test. ``call_s``: the time of the test
    without its fixtures, in seconds, or None where it is not known. ``output``: what was captured from it.
    """

    node: str
    outcome: str
    reason: str | None = None
    error: ReportedError | None = None
    call_s: float | None = None
    output: str = ""


@dataclass(frozen=True)
class Report:
    """All tests of a report. ``not_collected``: test files that could not be imported, so their tests are missing.

    ``started_s`` and ``ended_s`` are seconds since 1970 (UTC), or None where the report does not say them.
    """

    tests: Sequence[ReportedTest]
    not_collected: Sequence[str] = ()
    python: str | None = None
    started_s: float | None = None
    ended_s: float | None = None


def parse_error(message: str, traceback: str, kind: str = "") -> ReportedError:
    """The error that a line such as ``RuntimeError: no kernel`` describes; ``kind`` is its type if that is known.

    pytest leaves out the type of a failed ``assert``. What names no type at all is an ``UNNAMED_ERROR``.
    """
    if message.startswith("assert "):
        return ReportedError("AssertionError", message, traceback)
    named = _NAMED.fullmatch(message)
    # A word in lower case is a type only with its module: struct.error.
    if named and ("." in named[1] or named[1][0].isupper()):
        return ReportedError(named[1].removeprefix("builtins."), named[2] or "", traceback)
    if _IS_TYPE.fullmatch(kind):
        return ReportedError(kind.removeprefix("builtins."), message, traceback)
    return ReportedError(UNNAMED_ERROR, message, traceback)


def crashed_worker(message: str) -> str | None:
    """The reason in the message of pytest-xdist about a process that died in a test; None for any other message."""
    return "the test process died" if re.match(r"worker '\w+' crashed while running ", message) else None


def failed_test(node: str, error: ReportedError, call_s: float | None = None, output: str = "") -> ReportedTest:
    """A test that failed, or in which its process died."""
    if reason := crashed_worker(error.message):
        return ReportedTest(node, "crashed", reason, None, call_s, output)
    return ReportedTest(node, "failed", None, error, call_s, output)
