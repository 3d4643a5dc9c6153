"""``portbench kernels``."""

from __future__ import annotations

from pathlib import Path

import click

from portbench.cli import cli
from portbench.targets.kernels import list_kernels
from portbench.util.repository import find_checkout
from portbench.util.strict_json import shown


@cli.command("kernels")
@click.argument("target")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write there. Default: where the runner looks, runners/FRAMEWORK/kernels/VERSION.json.",
)
def command(target: str, output: Path | None) -> None:
    """List the GPU kernels of TARGET's wheel for CUDA, with their dtypes: no GPU is needed.

    By this list the runner predicts what a GPU would refuse (tensorflow-gpu-predicted, torch-gpu-predicted). It is made
    once for each version, from the wheel that the target's lock pins, and kept in the repository; the same wheel gives
    the same bytes.

    \b
    Examples:
      portbench kernels tensorflow-2.11.0-gpu
      portbench kernels torch-2.9.0-gpu
      portbench kernels tensorflow-2.21.0-gpu -o kernels.json
    """
    path = list_kernels(target, find_checkout(), lambda line: click.echo(line, err=True), output)
    click.echo(f"wrote {shown(path)}")
