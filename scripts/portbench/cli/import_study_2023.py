"""``portbench import-study-2023``."""

from __future__ import annotations

from pathlib import Path

import click

from portbench.cli import cli
from portbench.published import paper
from portbench.study.categories import read_rules
from portbench.study.import_2023 import NOT_RECORDED, import_raw_data
from portbench.util.repository import find_checkout
from portbench.util.strict_json import shown
from portbench.util.text import escape_control, pluralize


@cli.command("import-study-2023")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Write the run files here."
)
@click.option(
    "--framework", metavar="NAME", help="The framework of all files. Default: the name of each file's folder."
)
def command(paths: tuple[Path, ...], out: Path, framework: str | None) -> None:
    """Convert the raw data of the paper of 2023 to run files.

    'portbench report' computes the tables of the paper from them again. Without a PATH these are the data that come
    with portbench. A PATH is a raw file, or a folder of raw files and of such folders. The name of a file gives device
    and run, and may end in .gz: gpu_t4_run1.json, tpu_v3_run2.json.gz. gpu_t4_outcomes.json says which tests failed,
    and why. DIR gets one run file per framework and device, with all of its runs. These times end where the paper's
    did (--sync as-published), so they are never pooled with others.

    Facts that the raw files do not hold are listed at the end.

    \b
    Examples:
      portbench import-study-2023 -o results
      portbench merge results -o study
      portbench report study -o report
    """
    rules = read_rules(find_checkout().runners, paper.FRAMEWORKS)
    imported = import_raw_data(paths or [paper.raw_data()], out, rules, framework)
    click.echo(f"{pluralize(imported.runs, 'raw run')} imported")
    for path in imported.files:
        timings = "" if path.name in imported.reported else ", timings only"
        click.echo(f"wrote {shown(path)}{timings}")
    for file, tests in imported.left_out.items():
        click.echo(
            f"left out, belongs to no function of the paper: {escape_control(file)} ({pluralize(tests, 'test')})"
        )
    if imported.on_cpu:
        click.echo(f"left out, ran on the CPU: {pluralize(imported.on_cpu, 'test')}")
    click.echo(f"not in the raw files: {NOT_RECORDED}")
