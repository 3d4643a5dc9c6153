"""The files of a report: text, page, tables and figures, in one folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from portbench.analysis.results import Results
from portbench.figures import write as figures
from portbench.page import write as page
from portbench.page.overview import Overview
from portbench.page.timeline import timeline_charts
from portbench.report.markdown import markdown
from portbench.report.model import Report
from portbench.study.open import Analysed
from portbench.tables import write as tables
from portbench.util.files import write_text
from portbench.util.owned_folder import Kind, replacing

_KIND = Kind("report", re.compile(r"index\.html|report\.md|(?:tables|figures)/[\w-][\w.-]*"))


@dataclass(frozen=True)
class Written:
    """The files that were written: ``text`` and ``page``, then those of the folders tables and figures."""

    text: Path
    page: Path
    tables: tuple[Path, ...]
    figures: tuple[Path, ...]


@contextmanager
def writing(
    study: Analysed, results: Results, folder: Path, intolerable: float
) -> Iterator[Callable[[Report], Written]]:
    """Begins to draw the figures of a report, and yields a function that writes the rest, which takes the report.

    At the end report.md, index.html, tables/ and figures/ are in ``folder``: all of them, or after an error none. They
    take the place of an earlier report's; other files stay. A function that takes more than ``intolerable`` times as
    long is in a class of its own. Raises BadInput for a folder with files that is no report, or with a file of somebody
    else under one of these names; StorageFailed.
    """
    with (
        replacing(folder, _KIND) as staged,
        figures.drawing(study.connection, results, staged / "figures", intolerable) as drawn,
    ):

        def write(report: Report) -> Written:
            text, html = staged / "report.md", staged / "index.html"
            made = tables.write_tables(results, staged / "tables", intolerable, report.is_strict)
            files = [path.relative_to(staged) for path in (*drawn.files, *made)]
            write_text(text, markdown(report, files, drawn.missing))
            overview = _overview(report, results, [Path(text.name), *files])
            page.write(study.connection, study.head, html, intolerable, overview)
            return Written(final(text), final(html), tuple(map(final, made)), tuple(map(final, drawn.files)))

        def final(path: Path) -> Path:
            return folder / path.relative_to(staged)

        yield write


def _overview(report: Report, results: Results, files: Sequence[Path]) -> Overview:
    """What the page begins with; ``files`` are its links."""
    return Overview(
        (*report.findings, *report.first_headlines),
        files,
        {side: rates.by_function.counts for side, rates in results.rates.items()},
        results.rates,
        results.causes,
        report.changes,
        timeline_charts(results.timeline),
        report.remarks,
    )
