"""``portbench scaling``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from portbench.cli import cli
from portbench.scaling.as_json import as_data
from portbench.scaling.crossover import pairs
from portbench.scaling.read import read_scaling
from portbench.scaling.tables import all_tables, sentences
from portbench.tables.as_terminal import print_tables
from portbench.util.console import results_console
from portbench.util.strict_json import shown
from portbench.util.text import escape_control, pluralize


@cli.command("scaling")
@click.argument("paths", nargs=-1, required=True, metavar="RESULTS...", type=click.Path(path_type=Path, exists=True))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Also write scaling.md, scaling.csv with every point, and figures/ to this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def command(paths: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Show time against size: from which size on one target is faster than another.

    RESULTS are run files of 'portbench run --protocol scaling', or folders of them; other run files in a folder are
    skipped. Most tests of a study are small, so that its times are those of dispatch and compilation. These tests have
    the same call at several sizes. Predicted targets have a lower bound of the time instead of times.

    For every two measured targets of one framework: how many functions are faster on which, by the size of the call;
    and for each function the size from which on one is faster. Then what each target achieves at the largest size:
    bytes and operations per second, and their share of the peak; and the sizes that did not pass.

    \b
    Examples:
      portbench run torch-2.9.0-cpu torch-2.9.0-xla --protocol scaling --out sizes
      portbench scaling sizes -o sizes-report
    """
    scaling = read_scaling(paths)
    found = list(pairs(scaling))
    written = []
    if out:
        from portbench.scaling.write import write_scaling  # Matplotlib takes a second to load

        written = write_scaling(scaling, found, out)
    if as_json:
        click.echo(json.dumps(as_data(scaling, found), indent=1))
    else:
        for sentence in sentences(scaling, found):
            click.echo(escape_control(sentence))
        if found:
            click.echo()
        print_tables(all_tables(scaling, found), results_console())
    if written:
        files = pluralize(len(written) - 2, "file")
        click.echo(f"wrote {shown(written[0])}, {written[1].name}, {files} of figures", err=as_json)
