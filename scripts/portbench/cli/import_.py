"""``portbench import``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from portbench.cli import cli
from portbench.study.foreign.import_results import NOT_RECORDED, READERS, import_results
from portbench.util.strict_json import shown
from portbench.util.text import counts, escape_control, pluralize

_LISTED = 10


@cli.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="REPORT...")
@click.option("--from", "form", required=True, type=click.Choice(list(READERS)), help="The format of the reports.")
@click.option(
    "--map",
    "mapping",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Says where the tests ran and which functions they test (schema/mapping.schema.json).",
)
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the run file here.",
)
def command(paths: tuple[Path, ...], form: str, mapping: Path, out: Path) -> None:
    """Convert test reports of other software to a run file.

    A REPORT is a file that 'pytest --json-report' or 'pytest --junitxml' wrote, or the JUnit XML file of another
    program. Several reports are runs of the same tests on the same machine: the first is run 1, and so on.

    The mapping names framework, version, device and machine, and the function that each test tests. Tests that it does
    not name are left out and listed. Facts that neither reports nor mapping state are null in the run file, and it has
    no times of calls.

    \b
    Examples:
      portbench import report.json --from pytest-json --map gpu.json -o results/gpu.json
      portbench import run-*.xml --from junit --map tpu.json -o results/tpu.json
      portbench merge results -o study
    """
    found = import_results(paths, form, mapping, out)
    click.echo(f"{pluralize(found.runs, 'report')} imported: {counts(found.outcomes)}")
    _list("left out, no entry of the mapping matches:", found.left_out)
    _list("not collected, so its tests are missing:", found.not_collected)
    for position in found.unused:
        click.echo(f"matches no test: {shown(mapping)}: $.tests[{position}]")
    click.echo(f"not in the reports: {NOT_RECORDED}")
    click.echo(f"wrote {shown(found.path)}")


def _list(title: str, names: Sequence[str]) -> None:
    for name in names[:_LISTED]:
        click.echo(f"{title} {escape_control(name)}")
    if names[_LISTED:]:
        click.echo(f"{title} {len(names) - _LISTED:,} more")
