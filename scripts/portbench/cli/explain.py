"""``portbench explain``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from portbench.cli import cli, completion
from portbench.errors import BadInput
from portbench.explain.bundle import write_bundle
from portbench.explain.evidence import as_data, explain
from portbench.explain.reproducer import not_repeatable, reproducer
from portbench.explain.terminal import print_explanation
from portbench.study.open import study_of
from portbench.util.console import results_console
from portbench.util.repository import find_checkout
from portbench.util.strict_json import shown


@cli.command("explain")
@click.argument("study", metavar="STUDY", shell_complete=completion.STUDIES)
@click.argument("function", metavar="FUNCTION", shell_complete=completion.FUNCTIONS_OF_STUDY)
@click.option("--test", default="", metavar="ID", help="Only this test, with its traceback and its output.")
@click.option("--target", default="", metavar="TARGET", help="Only this target, such as torch-2.9.0-gpu or torch-gpu.")
@click.option(
    "--manifest",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The manifest that was run, if it is not in this clone.",
)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write a folder that reproduces the test: manifest, command, environment, traceback, bug report.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(
    study: str, function: str, test: str, target: str, manifest: Path | None, bundle: Path | None, as_json: bool
) -> None:
    """Show everything that STUDY records about one FUNCTION.

    STUDY is a folder that 'portbench merge' wrote, a run file, or a folder of run files. For each target, explain shows
    the status, the tests with outcome, category, placement, times and number of samples, and the environment. For each
    failure it shows the message, the values, the results on the CPU and in full precision, and what ran on the host.

    At the end is the command that runs one test again: the first that fails, unless --test and --target select another.

    \b
    Examples:
      portbench explain study torch.nn.GELU
      portbench explain study torch.nn.GELU --test 'infinity[dtype=float32,approximate=none]'
      portbench explain results/ tf.linalg.svd --target tensorflow-xla --bundle svd
    """
    checkout = find_checkout()
    with study_of([study]) as found:
        explanation = explain(found, function, test, target)
    again = reproducer(*explanation.worst, checkout, manifest.absolute() if manifest else None)
    if bundle and again is None:
        target_of, test_of = explanation.worst
        raise BadInput(not_repeatable(target_of.run_of(test_of)), "Leave out --bundle.")
    written = write_bundle(bundle, again, checkout.root) if bundle and again else []
    if as_json:
        shown_files = [str(path) for path in written]
        repeat = again and {"command": again.command, "notes": again.notes, "bundle": shown_files}
        click.echo(json.dumps({**as_data(explanation), "again": repeat}, indent=1))
        return
    print_explanation(explanation, again, bool(test), results_console())
    for path in written:
        click.echo(f"wrote {shown(path)}")
