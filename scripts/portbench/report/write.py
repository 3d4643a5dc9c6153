"""The files of a report: text, page, tables and figures, in one folder."""

from __future__ import annotations

import re
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


def write_report(study: Analysed, report: Report, results: Results, folder: Path, intolerable: float) -> Written:
    """Writes report.md, index.html, tables/ and figures/ into ``folder``: all of them, or none.

    They take the place of an earlier report's; other files stay. A function that takes more than ``intolerable`` times
    as long is in a class of its own. Raises BadInput for a folder with files that is no report, or with a file of
    somebody else under one of these names; StorageFailed.
    """
    with replacing(folder, _KIND) as staged:
        written = _write(study, report, results, staged, intolerable)

    def moved(path: Path) -> Path:
        return folder / path.relative_to(staged)

    return Written(
        moved(written.text),
        moved(written.page),
        tuple(map(moved, written.tables)),
        tuple(map(moved, written.figures)),
    )


def _write(study: Analysed, report: Report, results: Results, folder: Path, intolerable: float) -> Written:
    text, html = folder / "report.md", folder / "index.html"
    with figures.drawing(study.connection, results, folder / "figures", intolerable) as drawn:
        made = tables.write_tables(results, folder / "tables", intolerable, report.is_strict)
        files = [path.relative_to(folder) for path in (*drawn.files, *made)]
        write_text(text, markdown(report, files, drawn.missing))
        counts = {side: rates.by_function.counts for side, rates in results.rates.items()}
        overview = Overview(
            (*report.findings, *report.first_headlines),
            [Path(text.name), *files],
            counts,
            results.rates,
            results.causes,
            report.changes,
            timeline_charts(results.timeline),
            report.remarks,
        )
        page.write(study.connection, study.head, html, intolerable, overview)
    return Written(text, html, tuple(made), drawn.files)
