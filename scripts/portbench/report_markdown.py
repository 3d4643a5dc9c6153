"""Writes a report as Markdown (GitHub's, which has tables)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from portbench.printable import printable, shortened
from portbench.report import STRICT, Report, TargetReport, figures
from portbench.report_section import Section


def markdown(report: Report) -> str:
    """The report as one Markdown document."""
    return "\n".join(_document(report))


def _document(report: Report) -> Iterator[str]:
    yield "# Portability report" + (", strict placement" if report.is_strict else "")
    yield ""
    if report.is_strict:
        yield f"**{STRICT}**"
        yield ""
    for section in report.sections:
        yield from _section(section, level=2)
    for target in report.targets:
        yield from _target(target)


def _target(target: TargetReport) -> Iterator[str]:
    yield from (f"## {_name(target.target)} on {_name(target.machine)}", "")
    yield from _table(
        ["function", "status", *([] if target.is_cpu else ["ran on"])],
        ["tests passed", "cold ms", "steady µs"],
        (
            [_name(found.name), found.status, *([] if target.is_cpu else [found.ran_on]), *figures(found)]
            for found in target.functions
        ),
    )
    for section in target.before:
        yield from _section(section)
    if target.failures:
        yield from ("### Why tests did not pass", "")
        yield from _table(
            ["function", "status", "category", *([] if target.is_cpu else ["fails"]), "evidence"],
            [],
            (
                [
                    _name(failure.function),
                    failure.status,
                    failure.category,
                    *([] if target.is_cpu else [failure.fails]),
                    _plain(failure.evidence) + (f" (and {failure.others} more)" if failure.others else ""),
                ]
                for failure in target.failures
            ),
        )
        if target.blame:
            yield from (target.blame, "")
    for section in target.after:
        yield from _section(section)


def _section(section: Section, level: int = 3) -> Iterator[str]:
    yield from (f"{'#' * level} {_plain(section.title)}", "")
    names, numbers = len(section.names), len(section.numbers)
    rows = (
        [
            *map(_name, row[:names]),
            *map(_plain, row[names + numbers :]),
            *row[names : names + numbers],
        ]
        for row in section.rows
    )
    yield from _table([*section.names, *section.texts], section.numbers, rows)
    if section.note:
        yield from (section.note, "")


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


def sections_as_markdown(sections: Iterable[Section], level: int) -> Iterator[str]:
    """The lines of tables that stand in no report, their titles at a level of headings."""
    for section in sections:
        yield from _section(section, level)


def plain(text: str) -> str:
    """Text that others wrote, without any meaning to Markdown, for a place within a line."""
    return _plain(text)
