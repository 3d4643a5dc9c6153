"""Writes a report as Markdown (GitHub's, which has tables)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from portbench.printable import printable, shortened
from portbench.report import HOW_RATES, HOW_TIMES, Report, TargetReport, figures, percentages


def markdown(report: Report) -> str:
    """The report as one Markdown document."""
    return "\n".join(_document(report))


def _document(report: Report) -> Iterator[str]:
    yield "# Portability report"
    yield ""
    yield from _table(
        ["target", "machine"],
        ["success %", "partial %", "complete %", "functions", "none"],
        (
            [
                _name(target.target),
                _name(target.machine),
                *percentages(target),
                str(sum(target.counts.values())),
                str(target.counts["none"]),
            ]
            for target in report.targets
        ),
    )
    yield HOW_RATES
    yield ""
    yield HOW_TIMES
    yield ""
    for target in report.targets:
        yield from _target(target)


def _target(target: TargetReport) -> Iterator[str]:
    yield f"## {_name(target.target)} on {_name(target.machine)}"
    yield ""
    yield from _table(
        ["function", "status"],
        ["tests passed", "cold ms", "steady µs"],
        ([_name(function.name), function.status, *figures(function)] for function in target.functions),
    )
    if target.failures:
        yield from _section("Why tests did not pass")
        yield from _table(
            ["function", "status", "category", "evidence"],
            [],
            (
                [
                    _name(failure.function),
                    failure.status,
                    failure.category,
                    _plain(failure.evidence) + (f" (and {failure.others} more)" if failure.others else ""),
                ]
                for failure in target.failures
            ),
        )
    if target.gaps:
        yield from _section("Did not run")
        yield from _table(
            ["function", "reason"],
            ["tests"],
            ([_name(gap.function), _plain(gap.reason), str(gap.tests)] for gap in target.gaps),
        )
    if target.fallbacks:
        yield from _section("Passed, but not on the device")
        yield from _table(
            ["function", "ran on"],
            ["tests"],
            ([_name(found.function), found.placement, str(found.tests)] for found in target.fallbacks),
        )


def _section(title: str) -> Iterator[str]:
    yield from (f"### {title}", "")


def _table(texts: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row([*texts, *numbers])
    yield _row(["---"] * len(texts) + ["---:"] * len(numbers))
    for row in rows:
        yield _row(row)
    yield ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _name(text: str) -> str:
    """Code where the text cannot break out of it, escaped text where it could."""
    return f"`{text}`" if re.fullmatch(r"[A-Za-z0-9_.\[\]=,:-]{1,200}", text) else _plain(text)


def _plain(text: str) -> str:
    """Text without any meaning to Markdown, HTML in it and links included, for a place within a line."""
    escaped = re.sub(r"[\\`*_{}\[\]|~$]|(?<=www)\.|:(?=//)", r"\\\g<0>", printable(shortened(text, 300)))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
