"""Reads JUnit XML files (``pytest --junitxml``, and what many other test programs write).

Nothing in a file is trusted: a document type, which is where entities are declared, is refused, and so no entity is
ever expanded and nothing outside the file is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from portbench.errors import BadInput
from portbench.study.foreign.reported import Report, ReportedTest, failed_test, parse_error
from portbench.util.strict_json import bytes_of, shown
from portbench.util.text import escape_control, shortened

REMEDY = "Give a JUnit XML file, such as 'pytest --junitxml' writes, or name the format of the file with --from."

_DEEPEST = 100
_STAGE = re.compile(r'(?:failed on (?:setup|teardown) with|test (?:setup|teardown) failure:?) "?(.*?)"?', re.DOTALL)
_NOT_COLLECTED = "collection failure"


def read_junit(path: Path) -> Report:
    """Reads a file. Raises BadInput for any other file, StorageFailed where it cannot be read."""
    root = _parse(path)
    if root.tag not in ("testsuites", "testsuite"):
        found = escape_control(shortened(root.tag, 60))
        raise BadInput(f"{shown(path)}: found the element <{found}>, expected <testsuites> or <testsuite>", REMEDY)
    tests, not_collected = [], []
    for position, case in enumerate(root.iter("testcase"), 1):
        node = _node(path, case, position)
        if any(error.get("message") == _NOT_COLLECTED for error in case.iter("error")):
            not_collected.append(case.get("name", ""))
        else:
            tests.append(_test(node, case))
    if not tests:
        raise BadInput(f"{shown(path)}: found no <testcase> that ran, expected at least one", REMEDY)
    suites = [suite for suite in root.iter("testsuite") if suite.get("timestamp")]
    started, lasted = list(_started(suites)), list(_lasted(suites))
    is_known = len(started) == len(lasted) == len(suites) > 0
    return Report(
        tests=tests,
        not_collected=not_collected,
        started_s=min(started) if is_known else None,
        ended_s=max(map(sum, zip(started, lasted, strict=True))) if is_known else None,
    )


def _parse(path: Path) -> Element:
    builder, parser = TreeBuilder(), expat.ParserCreate()
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise BadInput(
                f"{shown(path)}: line {parser.CurrentLineNumber}: elements are nested more than {_DEEPEST} deep", REMEDY
            )
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> None:
        raise BadInput(
            f"{shown(path)}: line {parser.CurrentLineNumber}: found a document type (<!DOCTYPE>), which could declare "
            "entities, expected none",
            "Remove the document type, or create the file again without it.",
        )

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(bytes_of(path), True)
    except expat.ExpatError as error:
        place = f"line {error.lineno}, column {error.offset + 1}"
        raise BadInput(f"{shown(path)}: {place}: not XML: {expat.ErrorString(error.code)}", REMEDY) from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not have
        raise BadInput(f"{shown(path)}: not XML: {escape_control(str(error))}", REMEDY) from None
    return builder.close()


def _node(path: Path, case: Element, position: int) -> str:
    name = case.get("name")
    if not name:
        raise BadInput(f"{shown(path)}: <testcase> number {position}: found no name, expected one", REMEDY)
    return f"{home}::{name}" if (home := case.get("classname")) else name


def _test(node: str, case: Element) -> ReportedTest:
    output = "".join(one.text or "" for name in ("system-out", "system-err") for one in case.iter(name))
    for kind in ("failure", "error"):
        for found in case.iter(kind):
            text = found.text or ""
            message = found.get("message") or text
            at_stage = _STAGE.fullmatch(message)
            error = parse_error(at_stage[1] if at_stage else message, text, found.get("type") or "")
            return failed_test(node, error, output=output)
    for found in case.iter("skipped"):
        reason = found.get("message") or found.text or "no reason is given"
        # The file does not say with which error such a test failed.
        expected = found.get("type") == "pytest.xfail" and not reason.startswith("[NOTRUN]")
        return ReportedTest(node, "skipped", f"expected to fail: {reason}" if expected else reason, output=output)
    return ReportedTest(node, "passed", output=output)


def _started(suites: list[Element]) -> Iterator[float]:
    """The start of each suite with a time zone, in seconds since 1970. A time without a zone is no point in time."""
    for suite in suites:
        try:
            time = datetime.fromisoformat(suite.get("timestamp", ""))
        except ValueError:
            continue
        if time.tzinfo and time.timestamp() >= 0:
            yield time.timestamp()


def _lasted(suites: list[Element]) -> Iterator[float]:
    for suite in suites:
        try:
            seconds = float(suite.get("time", ""))
        except ValueError:
            continue
        if 0 <= seconds < 10**9:
            yield seconds
