"""``portbench report``."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click
from rich.console import Console

from portbench.analysis.results import answers_of
from portbench.cli import cli
from portbench.errors import NothingRan
from portbench.report.headlines import of_answers
from portbench.report.model import report_of
from portbench.report.terminal import print_report
from portbench.study.open import analysed, study_of
from portbench.tables.write import INTOLERABLE
from portbench.util.strict_json import shown
from portbench.util.text import pluralize


@cli.command("report")
@click.argument("paths", nargs=-1, required=True, metavar="STUDY")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write index.html, report.md, tables/ and figures/ into this folder too.",
)
@click.option(
    "--intolerable",
    type=click.FloatRange(min=1, min_open=True),
    default=INTOLERABLE,
    show_default=True,
    metavar="RATIO",
    help="More than so many times slower is the class 'intolerable'.",
)
@click.option(
    "--strict-placement", is_flag=True, help="Count a test that passed, but not wholly on the device, as failed."
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary (schema/study.schema.json) instead of tables.")
def command(
    paths: tuple[str, ...], out: Path | None, intolerable: float, strict_placement: bool, as_json: bool
) -> None:
    """Show what a study found: which functions run where, how fast, and why the others do not.

    STUDY is a folder that 'portbench merge' made. Run files, or folders of them, do as well: they are merged for this
    report only.

    First come the headlines, in sentences, and a table of all targets: the percentage of functions that pass, fail
    partially and fail completely, and how many give wrong values; then what first calls were spent on, and how far the
    study's synchronisation under-reports, where a study holds runs of both kinds; failures by cause, and what
    annotations overruled. Then each target: its functions with tests, places and times, wrong values, the evidence of
    each failure and whether it is the device's doing, flaky tests, what did not run, and what was computed on the host.

    DIR gets the same as report.md; index.html, a page to explore it all, from disk and without a network; the tables of
    the published study, with its values beside ours, as Markdown, CSV and LaTeX; and its figures as SVG and PNG.

    Exit status 4 where nothing ran on any target.

    \b
    Examples:
      portbench report study -o report
      portbench report results/
      portbench report study --strict-placement --intolerable 5
    """
    if not math.isfinite(intolerable):
        raise click.BadParameter(f"{intolerable} is no number.", param_hint="--intolerable")
    written = None
    with study_of(paths) as study, analysed(study, strict_placement) as shown_study:
        answers = answers_of(shown_study.connection)
        report = report_of(shown_study, tuple(of_answers(answers, intolerable)), answers.predictions)
        if out:
            # Only here: Matplotlib takes a second to load.
            from portbench.report import write as report_files

            written = report_files.write(shown_study, report, answers, out, intolerable)
    if as_json:
        click.echo(json.dumps(report.summary, indent=1))
    else:
        print_report(report, Console(highlight=False))
    if written:
        counts = f"{pluralize(len(written.tables), 'file')} of tables, {len(written.figures)} of figures"
        click.echo(f"wrote {shown(written.page)}, {written.text.name}, {counts}", err=as_json)
    if report.is_empty:
        raise NothingRan("nothing ran on any target of this study", "The report says why: see 'Did not run'.")
