"""What a report says of tests that did not pass: wrong values above all, then why, and where else they fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from portbench.study.summary import Row
from portbench.util.format import NOTHING, counted, significant
from portbench.util.section import Section
from portbench.util.text import pluralize

_SHOWN = 30
_CONTROL = {"only_on_device": "only on the device", "on_cpu_too": "on the CPU too", "unknown": "not tried elsewhere"}


@dataclass(frozen=True)
class Failure:
    """The most frequent cause why a function's tests did not pass; ``others`` counts the causes beside it.

    A category that an annotation decided is marked. ``fails`` says where: only on the device, or on the CPU of the same
    version too.
    """

    function: str
    status: str
    category: str
    fails: str
    evidence: str
    others: int


def failure(name: str, function: Row, causes: Sequence[Row]) -> Failure:
    """What to say of a function whose tests did not pass. ``causes``: the most frequent first."""
    first = causes[0]
    what = first["what"].replace("_", " ") if first["what"] in ("timed_out", "crashed") else first["what"]
    lines = [line.strip() for line in first["message"].splitlines() if line.strip()]
    return Failure(
        function=name,
        status=function["status"],
        category=first["category"] + (" (overruled)" if first["overruled"] else ""),
        fails=NOTHING if set(function["tests_by_control"]) <= {"unknown"} else _fails(function["tests_by_control"]),
        evidence=f"{what}: {lines[0]}" if lines else what,
        others=len(causes) - 1,
    )


def blamed(functions: Sequence[Row]) -> str:
    """In one sentence, for how many failing tests the device is to blame; empty where none was tried elsewhere."""
    tests: Counter[str] = Counter()
    for function in functions:
        tests.update(function["tests_by_control"])
    if set(tests) <= {"unknown"}:
        return ""
    device, both, unknown = (tests[seen] for seen in ("only_on_device", "on_cpu_too", "unknown"))
    return (
        f"Of {tests.total()} failing tests {device} fail only on the device, {both} on the CPU of the same version too "
        f"(there the function or the test is to blame), {unknown} were not tried there."
    )


def wrong_values(functions: Sequence[tuple[str, Row]]) -> Iterator[Section]:
    """The tests whose values are wrong."""
    rows = [
        (
            name,
            found["test"],
            _deviation(found["deviation_on_device"], found["dtype"]),
            _deviation(found["deviation_on_host"], found["dtype"]),
            str(found["runs"]),
            found["dtype"] or NOTHING,
            _CONTROL.get(found["control"], NOTHING),
        )
        for name, function in functions
        for found in function["wrong_values"]
    ]
    if rows:
        yield Section(
            "Wrong values",
            ("function", "test"),
            ("off by", "host off by", "runs"),
            ("dtype", "fails"),
            tuple(rows),
            "The call succeeded, and what it gave is wrong beyond any want of precision. off by: greatest difference "
            "from what the host computes in float64, over the greatest value (not finite: of another shape, or not "
            "finite where it should be); host off by: the same of the host in the test's own dtype.",
        )


def precision(functions: Sequence[tuple[str, Row]]) -> Iterator[Section]:
    """What failed by precision: does it pass in the strict mode?"""
    rows = []
    for name, function in functions:
        tests = function["tests_by_strict"]
        if tests:
            numbers = [sum(tests.values()), *(tests.get(seen, 0) for seen in ("passed", "failed", "unknown"))]
            rows.append((name, *(str(number) for number in numbers)))
    if rows:
        yield Section(
            "Failed by precision",
            ("function",),
            ("tests", "pass in strict mode", "fail", "not tried"),
            (),
            tuple(rows),
            "Strict mode: the same device with the full precision of each dtype, no TF32 or bfloat16 in its place.",
        )


def gaps(functions: Sequence[tuple[str, Row]]) -> Iterator[Section]:
    """What did not run, and why."""
    rows = [(name, str(gap["tests"]), gap["reason"]) for name, function in functions for gap in function["skipped"]]
    if rows:
        yield Section("Did not run", ("function",), ("tests",), ("reason",), tuple(rows))


def missing(entry: Row) -> Iterator[Section]:
    """Tests of the manifest of which nothing was recorded: a run that was cut short, or some functions chosen only.
    ``entry``: a target of a study's summary."""
    found = entry.get("missing")
    if found and found["tests"]:
        rows = [
            (function["name"], str(function["missing_tests"]))
            for function in entry["functions"]
            if function.get("missing_tests")
        ]
        rows += [(name, "all") for name in found["functions"]]
        left = f" {pluralize(len(rows) - _SHOWN, 'function')} more: see study.json." if rows[_SHOWN:] else ""
        note = f"In all {pluralize(found['tests'], 'test')} of the manifest. They count in no rate.{left}"
        yield Section("Missing: nothing was recorded", ("function",), ("tests",), (), tuple(rows[:_SHOWN]), note)


def _fails(tests: dict[str, int]) -> str:
    return counted(tests, _CONTROL)


def _deviation(deviation: float | None, dtype: str | None) -> str:
    if deviation is None:
        return "not finite" if dtype else NOTHING
    return significant(deviation)
