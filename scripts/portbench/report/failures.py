"""The tables of a report on tests that did not pass: wrong values, causes, and where else they fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from portbench.explain.texts import CHECK_EXPECTED, WRONG_TEST
from portbench.study.document import FailureCause, FunctionEntry, StudySummary, TargetEntry
from portbench.study.model import Target
from portbench.study.summary import Row
from portbench.tables.model import Cell, Cells, Table, names, numbers, texts
from portbench.util.format import NOTHING, counted, significant
from portbench.util.text import pluralize, shortened

SHOWN = 30
"""How many rows a table has at most, where study.json has all of them."""
_CONTROL = {"only_on_device": "only on the device", "on_cpu_too": "on the CPU too", "unknown": "not run elsewhere"}


@dataclass(frozen=True)
class Failure:
    """The most frequent cause why a function's tests did not pass; ``others`` counts its other causes.

    A category that an annotation decided is marked. ``fails`` says whether the tests fail only on the device, or on the
    CPU of the same version too.
    """

    function: str
    status: str
    category: str
    fails: str
    evidence: str
    others: int


def failure(name: str, function: FunctionEntry, causes: Sequence[Row]) -> Failure:
    """The failure of a function whose tests did not pass. ``causes``: the most frequent first."""
    first = causes[0]
    what = first["what"].replace("_", " ") if first["what"] in ("timed_out", "crashed") else first["what"]
    tests = function["tests_by_cpu_control"]
    lines = [line.strip() for line in first["message"].splitlines() if line.strip()]
    return Failure(
        function=name,
        status=function["status"],
        category=first["category"] + (" (overruled)" if first["overruled"] else ""),
        fails=NOTHING if set(tests) <= {"unknown"} else counted(tests, _CONTROL),
        evidence=f"{what}: {lines[0]}" if lines else what,
        others=len(causes) - 1,
    )


def blamed(functions: Sequence[FunctionEntry]) -> str:
    """A sentence that counts the failing tests by where they fail; empty where none was run elsewhere."""
    tests: Counter[str] = Counter()
    for function in functions:
        tests.update(function["tests_by_cpu_control"])
    if set(tests) <= {"unknown"}:
        return ""
    device, both, unknown = (tests[seen] for seen in ("only_on_device", "on_cpu_too", "unknown"))
    return (
        f"Of {tests.total()} failing tests {device} fail only on the device, {both} on the CPU of the same version too "
        f"(a fault of the function or the test), {unknown} were not run there."
    )


def wrong_tests(found: Sequence[Row]) -> Iterator[Table]:
    """The tests that are wrong themselves, from the rows of sql/wrong_tests.sql."""
    rows = [
        (
            str(Target(row["framework"], row["version"], row["device"])),
            row["machine"],
            row["function"],
            row["test"],
            row["runs"],
            "error of the manifest" if row["is_error"] else "unexpected values",
            shortened(" ".join(row["message"].split()), 200) or NOTHING,
        )
        for row in found
    ]
    if rows:
        columns = (
            *names("target", "machine", "function", "test"),
            *numbers("runs"),
            *texts("mistake", "message"),
        )
        left = f" {pluralize(len(rows) - SHOWN, 'test')} more: portbench explain shows each." if rows[SHOWN:] else ""
        yield Table.of_rows(
            "Check these tests first",
            columns,
            rows[:SHOWN],
            f"error of the manifest: {WRONG_TEST}; such a test counts in no rate. unexpected values: {CHECK_EXPECTED}; "
            f"such a test counts as failed, not as wrong values.{left}",
        )


def wrong_values(functions: Sequence[tuple[str, FunctionEntry]]) -> Iterator[Table]:
    """The tests whose values are wrong."""
    rows = [
        (
            name,
            found["test"],
            _deviation(found["deviation_on_device"], found["dtype"]),
            _deviation(found["deviation_on_host"], found["dtype"]),
            found["runs"],
            found["dtype"],
            _CONTROL.get(found["cpu_control"] or ""),
        )
        for name, function in functions
        for found in function["wrong_values"]
    ]
    if rows:
        columns = (
            *names("function", "test"),
            *numbers("off by", "host off by", shown=significant),
            *numbers("runs"),
            *texts("dtype", "fails"),
        )
        yield Table.of_rows(
            "Wrong values",
            columns,
            rows,
            "The call succeeded, and its values are wrong by more than lacking precision explains. off by: greatest "
            "difference from what the host computes in float64, over the greatest value (not finite: of another shape, "
            "or not finite where it should be); host off by: the same of the host in the test's own dtype.",
        )


def precision(functions: Sequence[tuple[str, FunctionEntry]]) -> Iterator[Table]:
    """The tests that failed by precision, and how many of them pass in full precision."""
    rows: list[Cells] = []
    for name, function in functions:
        tests = function["tests_by_full_precision"]
        if tests:
            rows.append((name, sum(tests.values()), *(tests.get(seen, 0) for seen in ("passed", "failed", "unknown"))))
    if rows:
        yield Table.of_rows(
            "Failed by precision",
            (*names("function"), *numbers("tests", "pass in full precision", "fail", "not run")),
            rows,
            "Strict mode: the same device with the full precision of each dtype, no TF32 or bfloat16 in its place.",
        )


def gaps(functions: Sequence[tuple[str, FunctionEntry]]) -> Iterator[Table]:
    """The tests that did not run, and why."""
    rows = [(name, gap["tests"], gap["reason"]) for name, function in functions for gap in function["skipped"]]
    if rows:
        yield Table.of_rows("Did not run", (*names("function"), *numbers("tests"), *texts("reason")), rows)


def missing(entry: TargetEntry) -> Iterator[Table]:
    """The tests of the manifest of which nothing was recorded: the run was cut short, or ran only some functions.
    ``entry``: a target of a study's summary."""
    found = entry["missing"]
    if found and found["tests"]:
        rows: list[Cells] = [
            (function["name"], function["missing_tests"])
            for function in entry["functions"]
            if function["missing_tests"]
        ]
        rows += [(name, "all") for name in found["functions"]]
        left = f" {pluralize(len(rows) - SHOWN, 'function')} more: see study.json." if rows[SHOWN:] else ""
        note = f"In all {pluralize(found['tests'], 'test')} of the manifest. They count in no rate.{left}"
        columns = (*names("function"), *numbers("tests"))
        yield Table.of_rows("Missing: nothing was recorded", columns, rows[:SHOWN], note)


def by_cause(summary: StudySummary) -> Iterator[Table]:
    """The causes of failures over all targets and machines, the one of most tests first; predicted ones apart."""
    measured = [cause for cause in summary["failures"] if not cause["predicted"]]
    predicted = [cause for cause in summary["failures"] if cause["predicted"]]
    yield from _by_cause(measured, "Failures by cause")
    yield from _by_cause(predicted, "Failures by cause, predicted")


def _by_cause(causes: Sequence[FailureCause], title: str) -> Iterator[Table]:
    rows = [
        (
            cause["fingerprint"],
            ", ".join(cause["categories"]),
            cause["tests"],
            len(cause["functions"]),
            len(cause["targets"]),
            f"{cause['framework']}: {cause['cause']}",
        )
        for cause in causes[:SHOWN]
    ]
    left = len(causes) - len(rows)
    more = f" The {left} less frequent ones are in study.json." if left else ""
    if rows:
        yield Table.of_rows(
            title,
            (*names("fingerprint", "category"), *numbers("tests", "functions", "targets"), *texts("cause")),
            rows,
            "Failures with the same cause share a fingerprint over tests, runs, versions and machines." + more,
        )


def overruled(summary: StudySummary) -> Iterator[Table]:
    """The categories that annotations decided against the rules, with their reasons."""
    rows = [
        (
            str(Target(**found["target"])),
            found["function"],
            found["test"],
            found["results"],
            f"{found['by_rules']} by the rules, {found['category']} by annotation",
            found["reason"],
            found["link"] or None,
        )
        for found in summary["overruled"]
    ]
    if rows:
        yield Table.of_rows(
            "Categories overruled by annotations",
            (*names("target", "function", "test"), *numbers("results"), *texts("category", "reason", "link")),
            rows,
            "Annotations decide these categories (portbench classify). Outcomes are those of the runs.",
        )


_RETRIED = {
    "contaminated": (
        "Failed after an earlier test",
        "These tests failed in a worker that had run other tests, and ended in another way alone, which counts.",
    ),
    "disturbed": (
        "Disturbed from outside",
        "A signal or a lack of memory ended the workers of these tests; they ended in another way again, which counts.",
    ),
}


def retried(found: Sequence[Row]) -> Iterator[Table]:
    """The tests that ended in another way when they ran again alone, from the rows of sql/retried.sql."""
    for why, (title, note) in _RETRIED.items():
        rows = [
            (
                str(Target(row["framework"], row["version"], row["device"])),
                row["machine"],
                row["function"],
                row["test"],
                row["runs"],
                row["first"].replace("_", " "),
                (row["category"] or NOTHING).replace("_", " "),
                shortened(" ".join(row["message"].split()), 200) or NOTHING,
                row["alone"].replace("_", " "),
            )
            for row in found
            if row["why"] == why
        ]
        if rows:
            columns = (
                *names("target", "machine", "function", "test"),
                *numbers("runs"),
                *texts("first", "category", "message", "alone"),
            )
            yield Table.of_rows(title, columns, rows, note)


def flaky(functions: Sequence[tuple[str, FunctionEntry]]) -> Iterator[Table]:
    """The tests whose outcome differs between runs, by name."""
    rows = [
        (name, found["test"], f"{found['passed']}/{found['ran']}", ", ".join(found["categories"]))
        for name, function in functions
        for found in function["flaky_tests"]
    ]
    if rows:
        yield Table.of_rows(
            "Flaky tests",
            (*names("function", "test"), *numbers("runs passed"), *texts("category")),
            rows,
            "A flaky test counts as failed. category: why the test failed in the other runs.",
        )


def _deviation(deviation: float | None, dtype: str | None) -> Cell:
    return "not finite" if deviation is None and dtype else deviation
