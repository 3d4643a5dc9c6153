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
    "--framework", metavar="NAME", help="Framework of all files. Default: each file's folder is named after it."
)
def command(paths: tuple[Path, ...], out: Path, framework: str | None) -> None:
    """Turn raw timings of the study of 2023 into run files, to recompute its tables from them.

    A PATH is a raw file, or a folder of them. The name tells device and run: gpu_t4_run1.json, tpu_v3_run2.json. DIR
    gets one run file for each device, with all of its runs, ready for 'portbench merge'. The clock is the study's
    (sync: study), so that these times are never pooled with others.

    Which test file is of which function is known of JAX. What can be taken from the raw files alone is taken; what they
    do not tell is said at the end, and stands as "unknown" in the run files.

    \b
    Example:
      portbench import-study-2023 raw/jax -o results
      portbench merge results -o study
      portbench report study -o report
    """
    imported = import_raw_timings(paths, out, framework)
    click.echo(f"{pluralize(imported.runs, 'raw file')} imported")
    for path in imported.files:
        click.echo(f"wrote {shown(path)}")
    for file, tests in imported.left_out.items():
        click.echo(f"left out, of no function of the study: {escape_control(file)} ({pluralize(tests, 'test')})")
    click.echo(f"not told by the raw files: {NOT_RECORDED}")
