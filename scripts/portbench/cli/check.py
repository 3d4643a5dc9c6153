"""``portbench check``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from portbench.cli import cli
from portbench.run.known_failures import check_run, find_known_failures, run_files
from portbench.run.known_failures_terminal import as_data, print_check
from portbench.util.console import results_console
from portbench.util.repository import find_checkout


@cli.command("check")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.pass_context
def command(context: click.Context, paths: tuple[Path, ...], as_json: bool) -> None:
    """Compare the failures in run files with the known failures.

    'portbench run --check' does the same at the end of a run. A PATH is a run file, or a folder that holds run files.
    manifests/NAME/expected/ holds the known failures: one file per framework and device, by version
    (schema/expected.schema.json).

    Exit status 1 if a failure is new or a known failure passes.

    \b
    Examples:
      portbench check results/
      portbench check results/torch-2.9.0-cpu-*.json --json
    """
    checkout = find_checkout()
    checks = {}
    for document in run_files(paths):
        found = check_run(document.data, find_known_failures(document.data, checkout))
        checks[document.path] = found
        if not as_json:
            target = "{framework}-{version}-{device}".format(**document.data["target"])
            print_check(f"{document.path.name}, {target}", found, results_console())
    if as_json:
        rows = [{"run_file": str(path), **as_data(found)} for path, found in checks.items()]
        click.echo(json.dumps({"run_files": rows}, indent=1))
    context.exit(int(not all(found.is_clean for found in checks.values())))
