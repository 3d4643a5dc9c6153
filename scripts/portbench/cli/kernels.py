"""``portbench kernels``."""

from __future__ import annotations

from pathlib import Path

import click

from portbench.cli import cli, completion
from portbench.targets.kernels import list_kernels
from portbench.util.repository import find_clone
from portbench.util.strict_json import shown


@cli.command("kernels")
@click.argument("target", shell_complete=completion.TARGETS)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the list here. Default: where the runner reads it, in runners/FRAMEWORK/kernels/.",
)
def command(target: str, output: Path | None) -> None:
    """List the GPU kernels in the CUDA wheel of TARGET.

    For a target of the device mps-predicted, those in the macOS wheel.

    The list has their dtypes too, and needs no GPU. With it the runner predicts the failures of tests on a GPU
    (tensorflow-gpu-predicted, torch-gpu-predicted). It is created once per version, from the wheel in the target's
    lock, and is kept in the repository. The same wheel gives the same bytes.

    \b
    Examples:
      portbench kernels tensorflow-2.11.0-gpu
      portbench kernels torch-2.9.0-gpu
      portbench kernels torch-2.15.0-mps-predicted
      portbench kernels tensorflow-2.21.0-gpu -o kernels.json
    """
    path = list_kernels(target, find_clone(), lambda line: click.echo(line, err=True), output)
    click.echo(f"wrote {shown(path)}")
