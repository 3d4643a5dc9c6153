"""``portbench compare``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click

from portbench.cli import cli, completion
from portbench.cli import options as click_options
from portbench.compare.as_json import as_data
from portbench.compare.comparison import compare
from portbench.compare.conditions import CONDITIONS, Condition, read_conditions, verdict
from portbench.compare.junit import junit
from portbench.compare.printers import markdown, print_comparison
from portbench.compare.times import Limits
from portbench.errors import NothingRan
from portbench.util.console import results_console
from portbench.util.files import write_text

_FILE: Any = click.Path(path_type=Path, dir_okay=False)


def _conditions(_: click.Context, __: click.Parameter, text: str | None) -> tuple[Condition, ...]:
    try:
        return read_conditions(text) if text is not None else ()
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _effect(_: click.Context, __: click.Parameter, percent: float) -> float:
    # A range accepts nan, and no comparison with nan is true.
    if not math.isfinite(percent):
        raise click.BadParameter("expected a number, in percent")
    return percent / 100


@cli.command(
    "compare",
    epilog="\b\nConditions of --fail-on:\n" + "\n".join(f"  {name:<12} {what}" for name, what in CONDITIONS.items()),
)
@click.argument("first", metavar="A", shell_complete=completion.STUDIES)
@click.argument("second", metavar="B", shell_complete=completion.STUDIES)
@click.option(
    "--study",
    default="",
    metavar="STUDY",
    shell_complete=completion.STUDIES,
    help="A and B are targets of this study.",
)
@click_options.sync(
    None,
    "Which results to compare, where a target has both (see 'portbench run'). [default: complete if there are any]",
)
@click.option(
    "--min-effect",
    callback=_effect,
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    metavar="PERCENT",
    help="A test is slower or faster if its time changes by more than this.",
)
@click.option(
    "--fail-on",
    "conditions",
    callback=_conditions,
    metavar="CONDITION,...",
    help="Exit with status 1 if one of these is met. See below.",
)
@click.option(
    "--markdown",
    "markdown_file",
    type=_FILE,
    metavar="FILE",
    help="Also write Markdown, for a pull request.",
)
@click.option(
    "--junit",
    "junit_file",
    type=_FILE,
    metavar="FILE",
    help="Also write JUnit XML. A case fails if it meets a condition of --fail-on (default: new-failure,new-wrong).",
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
    """Show what changed from A to B: outcomes, times, environments.

    With --study, A and B are two targets of that study: torch-2.8.0-gpu, or torch-gpu if the study holds one version.
    Add @MACHINE if several machines ran the target. Without --study, A and B are studies, run files or folders of run
    files, and every target that both hold is compared. STUDY:TARGET selects one target.

    Differences between the environments come first, then outcomes, then times. A test counts as slower or faster only
    if the difference is more than noise. Use at least three runs of each side, because processes differ. If both
    versions ran on several devices, the comparison also shows what changed on one device only.

    \b
    Examples:
      portbench compare torch-2.8.0-gpu torch-2.9.0-gpu --study study
      portbench compare before/ after/ --fail-on new-failure,new-wrong,slower:1.2
      portbench compare old:jax-0.4.13-cpu new:jax-0.10.2-cpu --markdown comment.md --junit junit.xml

    Exit status: 0 success; 1 a condition of --fail-on is met; 2 wrong input; 4 nothing could be compared.
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
        print_comparison(found, results_console())
    if found.is_empty:
        raise NothingRan(
            "nothing could be compared: no test clearly passed or failed on both sides",
            "The reasons are above. Compare targets that ran the same functions.",
        )
    if failed:
        click.echo(failed, err=True)
        context.exit(1)
