"""``portbench report``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from portbench.analysis.paper_cells import paper_cells
from portbench.analysis.results import Predictions, Results, compute_results
from portbench.analysis.terms import INTOLERABLE
from portbench.analysis.uses import read_uses
from portbench.cli import cli, completion
from portbench.compare.as_json import as_data
from portbench.compare.comparison import pairs_of_study
from portbench.compare.since import Since, changes_since
from portbench.compare.since_tables import since_tables
from portbench.errors import NothingRan
from portbench.report.build import build_report
from portbench.report.findings import build_findings, next_commands
from portbench.report.headlines import build_headlines
from portbench.report.model import Report
from portbench.report.terminal import print_report
from portbench.study.open import Analysed, analysed, study_of
from portbench.util.console import results_console
from portbench.util.parallel import gc_paused
from portbench.util.strict_json import shown
from portbench.util.text import escape_control, pluralize

if TYPE_CHECKING:
    from portbench.report.write import Written


@cli.command("report")
@click.argument("paths", nargs=-1, required=True, metavar="STUDY", shell_complete=completion.STUDIES)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Also write index.html, report.md, tables/ and figures/ to this folder.",
)
@click.option(
    "--intolerable",
    type=click.FloatRange(min=1, min_open=True),
    callback=lambda _context, _option, value: _finite(value),
    default=INTOLERABLE,
    show_default=True,
    metavar="RATIO",
    help="A function that is slower by more than this factor is in the class 'intolerable'.",
)
@click.option(
    "--strict-placement", is_flag=True, help="Count a test as failed if it passed, but not entirely on the device."
)
@click.option(
    "--check-accuracy",
    is_flag=True,
    help="Exit status 1 if a prediction contradicts the paper's results and no cause is recorded.",
)
@click.option(
    "--since",
    metavar="DATE|VERSION",
    help="Begin with what changed since a date, an instant or a version: functions that broke, were fixed, removed or "
    "added, and times.",
)
@click.option(
    "--counts",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Weight by use in a corpus, by 'portbench count -o FILE': the share of functions that pass, and causes.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the summary (schema/study.schema.json) instead of tables; with --since what changed "
    "(schema/comparison.schema.json).",
)
@click.pass_context
def command(
    context: click.Context,
    paths: tuple[str, ...],
    out: Path | None,
    intolerable: float,
    strict_placement: bool,
    check_accuracy: bool,
    since: str | None,
    counts: Path | None,
    as_json: bool,
) -> None:
    """Show the results of a study: what runs where, how fast, and why the rest fails.

    STUDY is a folder that 'portbench merge' wrote. You can also give run files or folders of run files: they are merged
    for this report only.

    The report begins with the headlines and a table of all targets: the percentage of functions whose tests all pass,
    whose tests partly fail, and whose tests all fail, and the number with wrong values. It ends with the findings in
    five sentences, and with what to type next. In between are the breakdown of first-call times, the effect of the
    paper's synchronization if the study holds runs of both kinds, the failures by cause, overridden categories, and
    each target: causes of many failures, functions with tests, placement and times, wrong values, the evidence
    for each failure, flaky tests, tests that did not run, and operations on the host.

    DIR gets the same text as report.md; index.html, a page to explore the results without a network; tables/, the
    paper's tables beside ours, as Markdown, CSV and LaTeX; and its figures, as SVG and PNG.

    --since compares the last results of each test before a date with those since, as 'portbench compare' does, or the
    results of a version with those of the newest version.

    Exit status 1 if --check-accuracy finds something; 4 if nothing ran, or nothing since the date.

    \b
    Examples:
      portbench report study -o report
      portbench report study --strict-placement --intolerable 5
      portbench report results/ --since 2026-11-20
      portbench report study --since 2.9.0
      portbench report api/results --counts counts.json -o api/report
    """
    with study_of(paths) as study, analysed(study, strict_placement) as shown_study, gc_paused():
        changes = changes_since(study, since, strict_placement) if since is not None else None
        uses = read_uses(counts, shown_study.read_targets()) if counts else None
        results = compute_results(shown_study.connection, uses)
        with _writing(shown_study, results, out, intolerable) as write:
            findings = build_findings(shown_study, results)
            report = _build(shown_study, results, findings.sentences, intolerable, changes)
            pairs = pairs_of_study(shown_study.connection)
            next_steps = list(next_commands(findings.interesting, paths, pairs[0] if pairs else ()))
            written = write(report)
    if as_json:
        click.echo(json.dumps(as_data(changes.comparison) if changes else shown_study.summary, indent=1))
    else:
        print_report(report, results_console())
    _print_written(written, as_json)
    for step in () if as_json else next_steps:
        click.echo(f"next: {escape_control(step)}")
    if report.is_empty:
        raise NothingRan("nothing ran on any target of this study", "The section 'Did not run' of the report says why.")
    context.exit(int(check_accuracy and _print_unexplained(results.predictions)))


def _writing(
    study: Analysed, results: Results, out: Path | None, intolerable: float
) -> AbstractContextManager[Callable[[Report], Written | None]]:
    if out is None:
        return nullcontext(lambda _report: None)
    # Imported here: Matplotlib takes a second to load.
    from portbench.report.write import writing

    return writing(study, results, out, intolerable)


def _print_written(written: Written | None, as_json: bool) -> None:
    if written:
        counts = f"{pluralize(len(written.tables), 'file')} of tables, {len(written.figures)} of figures"
        click.echo(f"wrote {shown(written.page)}, {written.text.name}, {counts}", err=as_json)


def _build(
    study: Analysed, results: Results, findings: Sequence[str], intolerable: float, changes: Since | None
) -> Report:
    return build_report(
        study,
        tuple(build_headlines(results, intolerable)),
        results.predictions,
        paper_cells(results),
        findings,
        results.rates,
        since_tables(changes) if changes else (),
        results.timeline,
        results.causes,
    )


def _finite(ratio: float) -> float:
    if not math.isfinite(ratio):
        raise click.BadParameter(f"{ratio} is not a number.")
    return ratio


def _print_unexplained(found: Predictions) -> bool:
    """Prints the misses and false alarms that nobody looked at, to stderr; whether there are any."""
    lines = [
        f"not explained: {one.predicted.side.target} {function.listed_as}: {function.outcome}"
        for one in found.comparisons
        for function in one.wrong
        if function.is_unexplained
    ]
    for line in lines:
        click.echo(escape_control(line), err=True)
    return bool(lines)
