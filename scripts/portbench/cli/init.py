"""``portbench init``."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click

from portbench.cli import cli
from portbench.errors import BadInput, StorageFailed
from portbench.run.new_manifest import NAMESPACES, new_manifest
from portbench.util.repository import find_checkout
from portbench.util.strict_json import shown


@cli.command("init")
@click.argument("framework", type=click.Choice(list(NAMESPACES)))
@click.argument("function", metavar="FUNCTION")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the manifest here. Default: FUNCTION.json in the working folder. An existing file stays.",
)
def command(framework: str, function: str, out: Path | None) -> None:
    """Write a manifest with one test of FUNCTION, ready to run.

    For a function of the paper's sample it is one of the tests in manifests/study. For another one, a few simple inputs
    are tried on the CPU, with the functions of NumPy and SciPy that have the same name as references, if the
    environment of the framework's default version exists ('portbench run FRAMEWORK-cpu' creates it). The first that
    passes becomes the test. Where none does, the manifest is a template, and its expected value has to be filled in.

    manifests/README.md explains tests, and how to add more.

    \b
    Examples:
      portbench init torch torch.argsort
      portbench init jax jax.numpy.tanh -o tanh.json
    """
    path = out or Path(f"{function}.json")
    if path.exists():
        raise BadInput(f"{shown(path)} exists already", "Give another file with --out, or remove it.")
    if path.suffix != ".json" or not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", path.stem):
        raise BadInput(
            f"{shown(path)}: the name without .json names the manifest: at most 64 letters, digits, '_', '-', '.'",
            "Give a file with --out.",
        )
    made = new_manifest(framework, function, path.stem, find_checkout())
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(json.dumps(made.document, indent=2) + "\n")
    except OSError as error:
        raise StorageFailed(f"{shown(path)}: cannot be written: {error.strerror}", "Give a file with --out.") from error
    click.echo(f"wrote {shown(path)}: {function}, {made.how}")
    if not made.is_complete:
        click.echo("'expect' is a placeholder. A run shows the result of the function; manifests/README.md lists more.")
    run = ["portbench", "run", f"{framework}-cpu", "--manifest", str(path), "--runs", "1"]
    click.echo(f"\nNext:\n  {shlex.join(run)}")
