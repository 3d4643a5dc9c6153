"""``portbench enumerate``."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from portbench.cli import cli
from portbench.cli import options as click_options
from portbench.corpus.diff import as_data, changes
from portbench.corpus.enumerate import Listing, enumerate_target
from portbench.corpus.terminal import print_changes, print_listing
from portbench.formats.documents import Document, read_document
from portbench.run.progress import Reporter
from portbench.util.files import write_text
from portbench.util.machine import Machine
from portbench.util.repository import find_checkout
from portbench.util.strict_json import shown


@cli.command("enumerate")
@click.argument("target", metavar="TARGET", required=False)
@click.option(
    "--diff",
    "compared",
    nargs=2,
    metavar="A B",
    help="Instead: what B has that A has not, and the other way round. Each is a list's file or a target.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the list, or with --diff the changes, as JSON.",
)
@click.option(
    "--as-study",
    is_flag=True,
    help="By the study's rule, as far as it is known: short names, all that end alike counted once.",
)
@click.option("--methods", is_flag=True, help="List public methods of public classes too.")
@click_options.BACKEND
@click.option(
    "--json", "as_json", is_flag=True, help="Print the list, or the changes, as JSON; the rest goes to stderr."
)
@click.pass_context
def command(
    context: click.Context,
    target: str | None,
    compared: tuple[str, str] | None,
    output: Path | None,
    as_study: bool,
    methods: bool,
    backend: str,
    as_json: bool,
) -> None:
    """List every public function and class of TARGET's framework, as found in its image or environment.

    Each has one canonical name (the shortest public one), its other names, its kind, signature, where it is defined,
    and whether a test file in the installed packages names it. The same target gives the same bytes. What counts as
    public, and what could not be imported, stands in the list (schema/functions.schema.json).

    \b
    Examples:
      portbench enumerate torch-cpu -o torch.json
      portbench enumerate tensorflow-cpu --as-study
      portbench enumerate --diff torch-1.12.0-cpu torch-2.9.0-cpu
      portbench enumerate --diff old.json new.json -o changes.json
    """
    if (target is None) == (compared is None):
        raise click.UsageError("give a TARGET, or --diff with two lists or targets")
    reporter = Reporter(Console(stderr=True), Console(stderr=True))
    checkout = find_checkout()
    machine = context.find_object(Machine)

    def listing(name: str) -> Listing:
        return enumerate_target(
            name, checkout, reporter.say, backend=backend, as_study=as_study, methods=methods, machine=machine
        )

    def document(name: str) -> Document:
        # A target has no suffix of a file, and no folder.
        is_file = name.endswith(".json") or "/" in name or Path(name).is_file()
        return read_document(Path(name), "functions") if is_file else listing(name).document

    console = Console(highlight=False)
    if compared:
        found = changes(document(compared[0]), document(compared[1]))
        _tell(json.dumps(as_data(found), indent=1) + "\n", output, as_json, reporter)
        if not as_json:
            print_changes(found, console)
    elif target is not None:
        made = listing(target)
        _tell(made.text, output, as_json, reporter)
        if not as_json:
            print_listing(made.document, console)


def _tell(text: str, output: Path | None, as_json: bool, reporter: Reporter) -> None:
    if as_json:
        click.echo(text, nl=False)
    if output:
        write_text(output, text)
        reporter.say(f"wrote {shown(output)}")
