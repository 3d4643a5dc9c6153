"""``portbench enumerate``."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from portbench.cli import cli, completion
from portbench.cli import options as click_options
from portbench.corpus.diff import as_data, changes
from portbench.corpus.enumerate import Listing, enumerate_target
from portbench.corpus.terminal import print_changes, print_listing
from portbench.formats.documents import Document, read_document
from portbench.run.progress import Reporter
from portbench.util.console import results_console
from portbench.util.files import write_text
from portbench.util.machine import Machine
from portbench.util.repository import find_checkout
from portbench.util.strict_json import shown


@cli.command("enumerate")
@click.argument("target", metavar="TARGET", required=False, shell_complete=completion.TARGETS)
@click.option(
    "--diff",
    "compared",
    nargs=2,
    metavar="A B",
    help="Show the differences between two lists instead. A and B are files of lists, or targets.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the list, or with --diff the differences, as JSON.",
)
@click.option(
    "--as-published",
    is_flag=True,
    help="Apply the rule of the paper of 2023, as far as it is known: short names; names with the same last part count "
    "once.",
)
@click.option("--methods", is_flag=True, help="Also list the public methods of public classes.")
@click_options.BACKEND
@click.option(
    "--json", "as_json", is_flag=True, help="Print the list, or the differences, as JSON. Progress goes to stderr."
)
@click.pass_context
def command(
    context: click.Context,
    target: str | None,
    compared: tuple[str, str] | None,
    output: Path | None,
    as_published: bool,
    methods: bool,
    backend: str,
    as_json: bool,
) -> None:
    """List every public function and class of a framework.

    The runner of TARGET finds them in the target's image or environment. Each has a canonical name (the shortest public
    one), its other names, kind, signature and defining module, and whether a test file in the installed packages names
    it. The list says what counts as public and what could not be imported (schema/functions.schema.json). The same
    target gives the same bytes.

    \b
    Examples:
      portbench enumerate torch-cpu -o torch.json
      portbench enumerate tensorflow-cpu --as-published
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
            name, checkout, reporter.say, backend=backend, as_published=as_published, methods=methods, machine=machine
        )

    def document(name: str) -> Document:
        # The name of a target has no suffix and no slash.
        is_file = name.endswith(".json") or "/" in name or Path(name).is_file()
        return read_document(Path(name), "functions") if is_file else listing(name).document

    console = results_console()
    if compared:
        found = changes(document(compared[0]), document(compared[1]))
        _write(json.dumps(as_data(found), indent=1) + "\n", output, as_json, reporter)
        if not as_json:
            print_changes(found, console)
    elif target is not None:
        made = listing(target)
        _write(made.text, output, as_json, reporter)
        if not as_json:
            print_listing(made.document, console)


def _write(text: str, output: Path | None, as_json: bool, reporter: Reporter) -> None:
    if as_json:
        click.echo(text, nl=False)
    if output:
        write_text(output, text)
        reporter.say(f"wrote {shown(output)}")
