"""Writes a report as Markdown (GitHub's, which has tables)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from portbench.figures.style import NotDrawn
from portbench.report.model import Report, TargetReport
from portbench.study.model import STATUS_TEXTS
from portbench.tables.as_markdown import markdown_lines
from portbench.util.markdown import code, plain, table


def markdown(report: Report, files: Sequence[PurePath] = (), missing: Sequence[NotDrawn] = ()) -> str:
    """The report as one Markdown document. ``files``: the others of the report, which it links; ``missing``: the
    figures that the study has no data for."""
    return "\n".join(_document(report, files, missing))


def _document(report: Report, files: Sequence[PurePath], missing: Sequence[NotDrawn]) -> Iterator[str]:
    yield "# Portability report" + (", strict placement" if report.is_strict else "")
    yield ""
    for remark in report.remarks:
        yield from (f"**{plain(remark, limit=None)}**", "")
    for shown in report.changes:
        yield from markdown_lines(shown, level=2)
    for title, sentences in (("Findings", report.findings), ("Headlines", report.first_headlines)):
        if sentences:
            yield from (f"## {title}", "")
            yield from (f"- {plain(sentence, limit=None)}" for sentence in sentences)
            yield ""
    yield from _links(files, missing)
    for shown in report.tables:
        yield from markdown_lines(shown, level=2)
    for target in report.targets:
        yield from _target(target)
    for shown in report.more_headlines:
        yield from markdown_lines(shown, level=2)


def _links(files: Sequence[PurePath], missing: Sequence[NotDrawn]) -> Iterator[str]:
    """A list of links for each folder: those of one name in several formats in one entry."""
    folders: dict[str, dict[str, list[PurePath]]] = {}
    for path in files:
        folders.setdefault(path.parent.name, {}).setdefault(path.stem, []).append(path)
    if folders:
        yield from ("## Files", "", "- [index.html](index.html): a page to explore the results")
    for folder, stems in folders.items():
        yield f"- {folder}:"
        for stem, paths in stems.items():
            links = (f"[{path.suffix.removeprefix('.')}]({path.as_posix()})" for path in paths)
            yield f"  - {stem}: {', '.join(links)}"
    if missing:
        yield "- figures that are not drawn:"
        yield from (f"  - {plain(each.name)}: {plain(each.reason)}" for each in missing)
    if folders:
        yield ""


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
        for note in filter(None, (target.left_out, target.blame)):
            yield from (note, "")
    for shown in target.after:
        yield from markdown_lines(shown, level=3)
