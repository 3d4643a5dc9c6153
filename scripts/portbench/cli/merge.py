"""``portbench merge``."""

from __future__ import annotations

from pathlib import Path

import click

from portbench.analysis import Target
from portbench.cli import cli
from portbench.jsonfile import shown
from portbench.merge import Merged, merge
from portbench.printable import number, printable


@cli.command("merge")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o", "--out", "study", required=True, type=click.Path(path_type=Path), metavar="STUDY", help="Folder of the study."
)
def command(paths: tuple[str, ...], study: Path) -> None:
    """Merge run files, of any number of machines, into one study.

    A PATH is a run file, a folder that holds some (also in folders of its own), or a quoted glob. STUDY is a folder: a
    new one, or a study to which the run files are added. It holds study.json, a summary, and Parquet tables with every
    fact and every raw sample, which 'portbench report' reads and DuckDB, pandas or Polars can query.

    Giving a file twice changes nothing, and the order does not matter. Each target is kept apart on each machine. Run
    files that contradict each other are refused, and the study stays as it was.

    \b
    Examples:
      portbench merge results/ -o study
      portbench merge laptop/ cluster/ 'old/torch-*.json' -o study
    """
    _print(merge(paths, study))


def _print(merged: Merged) -> None:
    summary = merged.study.summary
    known = f", {merged.known} already there" if merged.known else ""
    click.echo(f"{shown(merged.study.path)}: {number(merged.added, 'run file')} added{known}")
    for entry in summary["targets"]:
        study_sync = ", the study's synchronisation" if entry.get("sync") == "study" else ""
        functions = number(len(entry["functions"]), "function")
        click.echo(f"  {Target(**entry['target'])} on {printable(entry['machine'])}{study_sync}: {functions}")
    if merged.unclassified:
        click.echo("  categories are again as the runs recorded them; 'portbench classify' derives them anew")
    for journal in merged.unfinished:
        click.echo(f"left out, unfinished: {shown(journal)} ('portbench run --resume' goes on from there)")
    for other in merged.others:
        click.echo(f"left out, no run file: {shown(other)}")
