"""``portbench compare``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from portbench.cli import cli
from portbench.compare.as_json import as_data
from portbench.compare.comparison import compare
from portbench.compare.conditions import CONDITIONS, Condition, read_conditions, verdict
from portbench.compare.junit import junit
from portbench.compare.printers import markdown, print_comparison
from portbench.compare.times import Limits
from portbench.errors import NothingRan
from portbench.util.files import write_text

_FILE: Any = click.Path(path_type=Path, dir_okay=False)


def _conditions(_: click.Context, __: click.Parameter, text: str | None) -> tuple[Condition, ...]:
    try:
        return read_conditions(text) if text is not None else ()
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _effect(_: click.Context, __: click.Parameter, percent: float) -> float:
    # A range lets nan through, which compares with nothing.
    if not math.isfinite(percent):
        raise click.BadParameter("expected a number of percent")
    return percent / 100


@cli.command(
    "compare",
    epilog="\b\nConditions of --fail-on:\n" + "\n".join(f"  {name:<12} {what}" for name, what in CONDITIONS.items()),
)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--study", default="", metavar="STUDY", help="A and B are targets of this study.")
@click.option(
    "--sync",
    type=click.Choice(["complete", "study"]),
    help="Which results, where a target has both (see 'portbench run'). [default: complete, or what there is]",
)
@click.option(
    "--min-effect",
    callback=_effect,
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    metavar="PERCENT",
    help="How much slower or faster a test must be to be called so.",
)
@click.option(
    "--fail-on",
    "conditions",
    callback=_conditions,
    metavar="CONDITION,...",
    help="Exit with status 1 where one of these is met; see below.",
)
@click.option(
    "--markdown", "markdown_file", type=_FILE, metavar="FILE", help="Write it as Markdown, for a pull request."
)
@click.option(
    "--junit",
    "junit_file",
    type=_FILE,
    metavar="FILE",
    help="Write JUnit XML: a case fails where a condition of --fail-on holds, by default new-failure and new-wrong.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema/comparison.schema.json) instead of tables.")
@click.pass_context
def command(
    context: click.Context,
    first: str,
    second: str,
    study: str,
    sync: str | None,
    min_effect: float,
    conditions: tuple[Condition, ...],
    markdown_file: Path | None,
    junit_file: Path | None,
    as_json: bool,
) -> None:
    """Tell what changed from A to B: what fails, passes, is slower, and what could not be compared.

    With --study, A and B are two targets of it: torch-2.8.0-gpu, or torch-gpu where it holds one version; with @MACHINE
    behind it where several machines have that target. Without, each is a study that 'portbench merge' made, a run
    file or a folder of them, and every target that both hold is compared; or one target each, STUDY:TARGET.

    What differs between the environments comes first, then outcomes, then times. A test is slower or faster only where
    that is more than noise; have three runs or more of each side, for processes differ. Where the two versions ran on
    several devices, it is told what changed on one of them only.

    \b
    Examples:
      portbench compare torch-2.8.0-gpu torch-2.9.0-gpu --study study
      portbench compare before/ after/ --fail-on new-failure,new-wrong,slower:1.2
      portbench compare old:jax-0.4.13-cpu new:jax-0.10.2-cpu --markdown comment.md --junit junit.xml

    Exit status: 0; 1 a condition of --fail-on is met; 2 wrong input; 4 nothing could be compared.
    """
    found = compare(first, second, study, sync or "", Limits(effect=min_effect))
    failed = verdict(conditions, found)
    if markdown_file:
        write_text(markdown_file, markdown(found, failed))
    if junit_file:
        write_text(junit_file, junit(found, conditions or read_conditions("new-failure,new-wrong")))
    if as_json:
        click.echo(json.dumps(as_data(found, conditions), indent=1, allow_nan=False))
    else:
        print_comparison(found, Console(highlight=False))
    if found.is_empty:
        raise NothingRan(
            "nothing could be compared: no test passed or failed for certain on both sides",
            "See why above; compare targets of the same functions.",
        )
    if failed:
        click.echo(failed, err=True)
        context.exit(1)
