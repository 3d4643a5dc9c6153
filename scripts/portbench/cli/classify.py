"""``portbench classify``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from portbench.cli import cli, completion
from portbench.study.categories import read_rules
from portbench.study.classify import Classification, classify, frameworks_of, read_annotations, write
from portbench.study.store import read_study
from portbench.util.repository import find_checkout
from portbench.util.strict_json import shown
from portbench.util.text import escape_control, pluralize, shortened


@cli.command("classify")
@click.argument("path", type=click.Path(path_type=Path), metavar="STUDY", shell_complete=completion.STUDIES)
@click.option(
    "--annotations",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Categories that override the rules (schema/annotations.schema.json).",
)
@click.option(
    "--rules",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Read <framework>/failure_rules.json and core/failure_rules.json from DIR instead of runners/.",
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="STUDY", help="Write the study with these categories here."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(path: Path, annotations: Path | None, folder: Path | None, out: Path | None, as_json: bool) -> None:
    """Derive the categories of a study's failures again.

    STUDY is a folder that 'portbench merge' wrote. Each failure gets its category by the current rules. An annotation
    overrides the rules. A failure that no rule matches is 'other'. These are listed by fingerprint, the most frequent
    first, so that the next rule is easy to write (see runners/README.md).

    Outcomes never change. Without -o nothing is written. -o writes a study, which may be STUDY itself. It holds the
    recorded category beside the new one, and 'portbench report' marks overridden categories. The next merge that adds
    run files restores the recorded categories.

    \b
    Examples:
      portbench classify study
      portbench classify study --annotations annotations.json -o study
    """
    study = read_study(path)
    entries = read_annotations(annotations)
    rules = read_rules(folder or find_checkout().runners, frameworks_of(study))
    found = classify(study, rules, entries)
    written = write(study, found, rules, entries, out).path if out else None
    if as_json:
        click.echo(json.dumps({**_as_data(found), "written": str(written) if written else None}, indent=1))
        return
    _print(found)
    for position in found.unused:
        click.echo(f"matches no failure: {shown(annotations or Path())}: $.annotations[{position}]")
    if written:
        click.echo(f"wrote {shown(written)}")


def _as_data(found: Classification) -> dict[str, Any]:
    changes = sorted(found.changes.items(), key=lambda change: (-change[1], change[0]))
    return {
        "failures": found.failures,
        "overridden": found.overruled,
        "changes": [{"from": before, "to": after, "results": results} for (before, after), results in changes],
        "other": [asdict(cause) for cause in found.other],
        "unused_annotations": list(found.unused),
    }


def _print(found: Classification) -> None:
    changed = sum(found.changes.values())
    said = f"{pluralize(found.failures, 'failure')}: {changed:,} with another category than recorded"
    click.echo(f"{said}, {found.overruled:,} overridden")
    for (before, after), results in sorted(found.changes.items(), key=lambda change: (-change[1], change[0])):
        click.echo(f"  {escape_control(before)} -> {after}: {results:,}")
    if found.other:
        click.echo("other (no rule matches):")
    for cause in found.other:
        more = f" and {len(cause.functions) - 1} more" if len(cause.functions) > 1 else ""
        function = escape_control(shortened(cause.functions[0], 80))
        count = f"{pluralize(cause.tests, 'test')} of {function}{more}, {pluralize(cause.results, 'result')}"
        click.echo(f"  {cause.fingerprint}  {count}")
        click.echo(f"      {escape_control(shortened(cause.cause, 200))}")
        click.echo(f"      e.g. {escape_control(shortened(cause.example, 200))}")
