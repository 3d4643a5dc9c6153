"""``portbench report``."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from portbench.cli import cli
from portbench.errors import NothingRan
from portbench.jsonfile import shown
from portbench.report import report_of, study_of
from portbench.report_markdown import markdown
from portbench.report_terminal import print_report
from portbench.text_file import write_text


@cli.command("report")
@click.argument("paths", nargs=-1, required=True, metavar="STUDY")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write report.md into this folder too."
)
@click.option(
    "--strict-placement", is_flag=True, help="Count a test that passed, but not wholly on the device, as failed."
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary (schema/study.schema.json) instead of tables.")
def command(paths: tuple[str, ...], out: Path | None, strict_placement: bool, as_json: bool) -> None:
    """Show what a study found: which functions run where, how fast, and why the others do not.

    STUDY is a folder that 'portbench merge' made. Run files, or folders of them, do as well: they are merged for this
    report only.

    First comes a table of all targets: the percentage of functions that pass, fail partially and fail completely, and
    how many give wrong values; then what first calls were spent on, and how far the study's synchronisation
    under-reports, where a study holds runs of both kinds; failures by cause, and what annotations overruled. Then each
    target: its functions with tests, places and times, wrong values, the evidence of each failure and whether it is the
    device's doing, flaky tests, what did not run, and what was computed on the host.

    Exit status 4 where nothing ran on any target.

    \b
    Examples:
      portbench report study -o report
      portbench report results/
      portbench report study --strict-placement
    """
    with study_of(paths) as study:
        report = report_of(study, strict_placement)
    if out:
        write_text(out / "report.md", markdown(report))
    if as_json:
        click.echo(json.dumps(report.summary, indent=1))
    else:
        print_report(report, Console(highlight=False))
    if out:
        click.echo(f"wrote {shown(out / 'report.md')}", err=as_json)
    if report.is_empty:
        raise NothingRan("nothing ran on any target of this study", "The report says why: see 'Did not run'.")
