"""Writes a report as Markdown (GitHub's, which has tables)."""

from __future__ import annotations

from collections.abc import Iterator

from portbench.analysis.terms import STRICT
from portbench.report.model import Report, TargetReport
from portbench.study.model import STATUS_TEXTS
from portbench.tables.as_markdown import markdown_lines
from portbench.util.markdown import code, plain, table


def markdown(report: Report) -> str:
    """The report as one Markdown document."""
    return "\n".join(_document(report))


def _document(report: Report) -> Iterator[str]:
    yield "# Portability report" + (", strict placement" if report.is_strict else "")
    yield ""
    if report.is_strict:
        yield f"**{STRICT}**"
        yield ""
    if report.headlines:
        yield from ("## Headlines", "")
        yield from (f"- {plain(sentence, limit=None)}" for sentence in report.headlines)
        yield ""
    for shown in report.tables:
        yield from markdown_lines(shown, level=2)
    for target in report.targets:
        yield from _target(target)


def _target(target: TargetReport) -> Iterator[str]:
    yield from (f"## {code(target.target)} on {code(target.machine)}", "")
    for shown in (target.functions, *target.before):
        yield from markdown_lines(shown, level=3)
    if target.failures:
        yield from ("### Why tests did not pass", "")
        yield from table(
            ["function", "status", "category", *([] if target.is_cpu else ["fails"]), "evidence"],
            [],
            (
                [
                    code(failure.function),
                    STATUS_TEXTS[failure.status],
                    failure.category,
                    *([] if target.is_cpu else [failure.fails]),
                    plain(failure.evidence) + (f" (and {failure.others} more)" if failure.others else ""),
                ]
                for failure in target.failures
            ),
        )
        if target.blame:
            yield from (target.blame, "")
    for shown in target.after:
        yield from markdown_lines(shown, level=3)
