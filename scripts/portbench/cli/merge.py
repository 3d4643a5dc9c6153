"""``portbench merge``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from portbench.cli import cli
from portbench.study.merge import Merged, merge
from portbench.study.model import Target
from portbench.util.strict_json import shown
from portbench.util.text import escape_control, pluralize


@cli.command("merge")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o", "--out", "study", required=True, type=click.Path(path_type=Path), metavar="STUDY", help="Folder of the study."
)
@click.option("--allow-drift", is_flag=True, help="Also merge run files of one target whose environments differ.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(paths: tuple[str, ...], study: Path, allow_drift: bool, as_json: bool) -> None:
    """Merge run files from any number of machines into one study.

    A PATH is a run file, a folder with run files at any depth, a quoted glob, another study, or a URL that DuckDB
    reads: https://..., s3://... and gs://..., also as a glob. STUDY is a new folder, or a study to which the run files
    are added. It holds study.json, a summary, and Parquet tables with every fact and every raw sample. 'portbench
    report' reads them, and DuckDB, pandas or Polars can query them.

    A file that is given twice counts once, and the order does not matter. The results of a target on different machines
    stay separate. Run files that contradict each other are an error, and the study does not change: two contents with
    one run_id, two manifests with one name, or drift. Drift is another image, Python or package of one target on any
    machine, another kernel or CPU of one machine, or another device or driver of one target on one machine.
    --allow-drift merges such run files, and the report shows the drift.

    \b
    Examples:
      portbench merge results/ -o study
      portbench merge laptop/ cluster/ 'old/torch-*.json' -o study
      portbench merge 's3://bucket/results/*.json' -o study
      portbench merge study-2025 study-2026 -o both
    """
    merged = merge(paths, study, allow_drift)
    if as_json:
        click.echo(json.dumps(_as_data(merged), indent=1))
    else:
        _print(merged)


def _as_data(merged: Merged) -> dict[str, Any]:
    targets = [
        {
            "target": str(Target(*entry.key[:3])),
            "machine": entry.key.machine,
            "sync": entry.key.sync,
            "functions": entry.functions,
            "missing_tests": entry.missing_tests,
        }
        for entry in merged.study.targets
    ]
    return {
        "study": str(merged.study.path),
        "added": merged.added,
        "already_there": merged.known,
        "targets": targets,
        "drift": list(merged.study.head.get("drift", ())),
        "unfinished": [str(path) for path in merged.unfinished],
        "not_run_files": [str(other) for other in merged.others],
    }


def _print(merged: Merged) -> None:
    known = f", {merged.known} already there" if merged.known else ""
    click.echo(f"{shown(merged.study.path)}: {pluralize(merged.added, 'run file')} added{known}")
    for entry in merged.study.targets:
        study_sync = ", synchronization as published" if entry.key.sync == "as-published" else ""
        functions = pluralize(entry.functions, "function")
        missing = entry.missing_tests
        gaps = f", {pluralize(missing, 'test')} of its manifest missing" if missing else ""
        click.echo(f"  {Target(*entry.key[:3])} on {escape_control(entry.key.machine)}{study_sync}: {functions}{gaps}")
    for drift in merged.study.head.get("drift", ()):
        of = " on ".join(escape_control(part) for part in (drift["target"], drift["machine"]) if part)
        click.echo(f"  drift of {of}: {pluralize(len(drift['values']), 'value')} of {escape_control(drift['fact'])}")
    if merged.unclassified:
        click.echo("  the categories are those that the runs recorded; 'portbench classify' derives them again")
    for journal in merged.unfinished:
        click.echo(f"left out, unfinished: {shown(journal)} ('portbench run --resume' continues it)")
    for other in merged.others:
        click.echo(f"left out, not a run file: {escape_control(other)}")
