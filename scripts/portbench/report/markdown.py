"""Writes a report as Markdown (GitHub's, which has tables)."""

from __future__ import annotations

from collections.abc import Iterator

from portbench.analysis.terms import STRICT
from portbench.report.model import Report, TargetReport, figure_titles, figures
from portbench.study.model import STATUS_TEXTS
from portbench.util.markdown import code, plain, sections_as_markdown, table


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
    yield from sections_as_markdown(report.sections, level=2)
    for target in report.targets:
        yield from _target(target)


def _target(target: TargetReport) -> Iterator[str]:
    yield from (f"## {code(target.target)} on {code(target.machine)}", "")
    yield from table(
        ["function", "status", *([] if target.is_cpu else ["ran on"])],
        figure_titles(target),
        (
            [code(found.name), STATUS_TEXTS[found.status], *([] if target.is_cpu else [found.ran_on]), *figures(found)]
            for found in target.functions
        ),
    )
    yield from sections_as_markdown(target.before, level=3)
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
    yield from sections_as_markdown(target.after, level=3)
