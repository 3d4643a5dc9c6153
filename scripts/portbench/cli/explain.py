"""``portbench explain``."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from portbench.cli import cli
from portbench.explain.bundle import write_bundle
from portbench.explain.evidence import as_data, explain
from portbench.explain.reproducer import reproducer
from portbench.explain.terminal import print_explanation
from portbench.study.open import study_of
from portbench.util.repository import find_checkout
from portbench.util.strict_json import shown


@cli.command("explain")
@click.argument("study", metavar="STUDY")
@click.argument("function", metavar="FUNCTION")
@click.option("--test", default="", metavar="ID", help="Only this test, in full: traceback and what was printed too.")
@click.option("--target", default="", metavar="TARGET", help="Only this target, such as torch-2.9.0-gpu or torch-gpu.")
@click.option(
    "--manifest",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The manifest that was run, where it is none of this clone's.",
)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write a folder that repeats the test and tells of it: manifest, command, environment, traceback, bug report.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(
    study: str, function: str, test: str, target: str, manifest: Path | None, bundle: Path | None, as_json: bool
) -> None:
    """Tell everything that STUDY holds of one FUNCTION, and the command that runs a test of it again, alone.

    STUDY is a folder that 'portbench merge' made, or a run file, or a folder of them. For each target: status, tests
    with outcome, category, place, times and number of samples; what did not pass with its message, its values, what
    came of it on the CPU and in strict mode, what ran on the host; and the environment.

    The command is for the first test that fails, unless --test and --target say which.

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
    written = write_bundle(bundle, again, checkout.root) if bundle else []
    if as_json:
        repeat = {"command": again.command, "notes": again.notes, "bundle": [str(path) for path in written]}
        click.echo(json.dumps({**as_data(explanation), "again": repeat}, indent=1))
        return
    print_explanation(explanation, again, bool(test), Console(highlight=False))
    for path in written:
        click.echo(f"wrote {shown(path)}")
