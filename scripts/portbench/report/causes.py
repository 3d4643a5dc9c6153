"""What a report says of failures by cause, one thing to mend each; of those that were overruled by hand, those that an
earlier test caused, and those that come and go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from portbench.study.model import Target
from portbench.study.summary import Row
from portbench.util.format import NOTHING
from portbench.util.section import Section
from portbench.util.text import shortened

SHOWN = 30


def by_cause(summary: Row) -> Iterator[Section]:
    """The causes of failures over all targets and machines, what most tests share first; predicted ones apart."""
    measured = [cause for cause in summary["failures"] if not cause.get("predicted")]
    predicted = [cause for cause in summary["failures"] if cause.get("predicted")]
    yield from _by_cause(measured, "Failures by cause")
    yield from _by_cause(predicted, "Failures by cause, predicted")


def _by_cause(causes: Sequence[Row], title: str) -> Iterator[Section]:
    rows = [
        (
            cause["fingerprint"],
            ", ".join(cause["categories"]),
            str(cause["tests"]),
            str(len(cause["functions"])),
            str(len(cause["targets"])),
            f"{cause['framework']}: {cause['cause']}",
        )
        for cause in causes[:SHOWN]
    ]
    left = len(causes) - len(rows)
    more = f" The {left} less frequent ones are in study.json." if left else ""
    if rows:
        yield Section(
            title,
            ("fingerprint", "category"),
            ("tests", "functions", "targets"),
            ("cause",),
            tuple(rows),
            "Failures with the same cause share a fingerprint over tests, runs, versions and machines." + more,
        )


def overruled(summary: Row) -> Iterator[Section]:
    """What annotations say against the rules, with their reasons."""
    rows = [
        (
            str(Target(**found["target"])),
            found["function"],
            found["test"],
            str(found["results"]),
            f"{found['by_rules']} by the rules, {found['category']} by hand",
            found["reason"],
            found["link"] or NOTHING,
        )
        for found in summary["overruled"]
    ]
    if rows:
        yield Section(
            "Overruled by hand",
            ("target", "function", "test"),
            ("results",),
            ("category", "reason", "link"),
            tuple(rows),
            "An annotation decides these categories (portbench classify). Outcomes are what the runs gave.",
        )


def contaminated(found: Sequence[Row]) -> Iterator[Section]:
    """The tests that failed because of an earlier one, from the rows of sql/contaminated.sql."""
    rows = [
        (
            str(Target(row["framework"], row["version"], row["device"])),
            row["machine"],
            row["function"],
            row["test"],
            str(row["runs"]),
            row["first"].replace("_", " "),
            (row["category"] or NOTHING).replace("_", " "),
            shortened(" ".join(row["message"].split()), 200) or NOTHING,
            row["alone"].replace("_", " "),
        )
        for row in found
    ]
    if rows:
        yield Section(
            "Spoilt by an earlier test",
            ("target", "machine", "function", "test"),
            ("runs",),
            ("first", "category", "message", "alone"),
            tuple(rows),
            "These ended otherwise in a worker of their own, after they had failed in one that had run other tests. "
            "What came of them alone counts.",
        )


def flaky(functions: Sequence[tuple[str, Row]]) -> Iterator[Section]:
    """The tests whose outcome differs over the runs, by name."""
    rows = [
        (name, found["test"], f"{found['passed']}/{found['ran']}", ", ".join(found["categories"]))
        for name, function in functions
        for found in function["flaky_tests"]
    ]
    if rows:
        yield Section(
            "Flaky tests",
            ("function", "test"),
            ("runs passed",),
            ("category",),
            tuple(rows),
            "A function with a flaky test fails partially. category: why the test failed in the other runs.",
        )
