"""``portbench check``."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from portbench.cli import cli
from portbench.run.known_failures import check_run, find_expectations, run_files
from portbench.run.known_failures_terminal import as_data, print_check
from portbench.study.model import Target
from portbench.util.repository import find_checkout


@cli.command("check")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.pass_context
def command(context: click.Context, paths: tuple[Path, ...], as_json: bool) -> None:
    """Compare the failures in run files with the known ones, as 'portbench run --check' does.

    A PATH is a run file, or a folder that holds some. What is known stands in manifests/NAME/expected/, a file for each
    framework and device (schema/expected.schema.json), by version.

    Exit status 1 where a failure is new, or a known one passes.
    """
    checkout = find_checkout()
    checks = {}
    for document in run_files(paths):
        found = check_run(document.data, find_expectations(document.data, checkout))
        checks[document.path] = found
        if not as_json:
            target = Target(**document.data["target"])
            print_check(f"{document.path.name}, {target}", found, Console(highlight=False))
    if as_json:
        told = [{"run_file": str(path), **as_data(found)} for path, found in checks.items()]
        click.echo(json.dumps({"run_files": told}, indent=1))
    context.exit(int(not all(found.is_clean for found in checks.values())))
