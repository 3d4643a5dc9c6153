"""``portbench validate``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from portbench.cli import cli
from portbench.errors import BadInput
from portbench.formats.documents import Verdict, validate
from portbench.util.strict_json import shown


@cli.command("validate")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON list instead of lines: file, kind, valid, problems, remedy."
)
def command(files: tuple[Path, ...], as_json: bool) -> None:
    """Check manifests, run files, studies and other files against their formats.

    A FILE names its own format under "schema". Of a folder, every .json file is checked. All files are checked, even if
    one is not valid. Every problem is reported with its place in the file, the found value and the expected value.

    In a manifest, everything that needs no framework is checked: the format, grids, dtypes, values, and the names and
    parameters of references, properties and cases. Whether the framework has the functions is known when they run.

    Exit status 0 if every file is valid, 2 if one is not.

    \b
    Examples:
      portbench validate manifests/
      portbench validate results/torch-1.12.0-cpu-*.json
    """
    verdicts = validate(files)
    if as_json:
        click.echo(json.dumps([_row(verdict) for verdict in verdicts], indent=1))
    else:
        for verdict in verdicts:
            _print(verdict)
    invalid = sum(bool(verdict.problems) for verdict in verdicts)
    if invalid and not as_json and len(verdicts) > 1:
        click.echo(f"{invalid} of {len(verdicts)} files are not valid", err=True)
    sys.exit(BadInput.exit_status if invalid else 0)


def _print(verdict: Verdict) -> None:
    if verdict.problems:
        for problem in verdict.problems:
            click.echo(f"{click.style('invalid', fg='red', bold=True)}  {problem}")
        click.echo(f"         {verdict.remedy}") if verdict.remedy else None
    else:
        click.echo(f"{click.style('valid', fg='green')}    {shown(verdict.path)} ({verdict.kind})")


def _row(verdict: Verdict) -> dict[str, object]:
    return {
        "file": str(verdict.path),
        "kind": verdict.kind or None,
        "valid": not verdict.problems,
        "problems": list(verdict.problems),
        "remedy": verdict.remedy or None,
    }
