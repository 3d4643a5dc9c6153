"""``portbench import-study-2023``."""

from __future__ import annotations

from pathlib import Path

import click

from portbench.cli import cli
from portbench.study.import_2023 import NOT_RECORDED, import_raw_timings
from portbench.util.strict_json import shown
from portbench.util.text import escape_control, pluralize


@cli.command("import-study-2023")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Write the run files here."
)
@click.option(
    "--framework", metavar="NAME", help="The framework of all files. Default: the name of each file's folder."
)
def command(paths: tuple[Path, ...], out: Path, framework: str | None) -> None:
    """Convert raw timings of the paper of 2023 to run files.

    'portbench report' computes the tables of the paper from them again. A PATH is a raw file, or a folder of raw files.
    The name of a file gives device and run: gpu_t4_run1.json, tpu_v3_run2.json. DIR gets one run file per device, with
    all of its runs. These times end where the paper's did (--sync as-published), so they are never pooled with others.

    The function of each test file is known for JAX. Facts that the raw files do not hold are listed at the end and are
    "unknown" in the run files.

    \b
    Examples:
      portbench import-study-2023 raw/jax -o results
      portbench merge results -o study
      portbench report study -o report
    """
    imported = import_raw_timings(paths, out, framework)
    click.echo(f"{pluralize(imported.runs, 'raw file')} imported")
    for path in imported.files:
        click.echo(f"wrote {shown(path)}")
    for file, tests in imported.left_out.items():
        click.echo(
            f"left out, belongs to no function of the paper: {escape_control(file)} ({pluralize(tests, 'test')})"
        )
    click.echo(f"not in the raw files: {NOT_RECORDED}")
