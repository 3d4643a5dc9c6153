"""``portbench verdict``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from portbench.cli import cli, completion
from portbench.record.document import as_json
from portbench.record.known import Known, known_of
from portbench.record.markdown import as_markdown
from portbench.record.model import VERDICTS
from portbench.record.terminal import print_verdicts
from portbench.record.verdict import has_any, judge
from portbench.record.write import write_verdict
from portbench.study.open import study_of
from portbench.util.console import results_console
from portbench.util.repository import find_checkout
from portbench.util.strict_json import shown
from portbench.util.text import escape_control


def parse_verdicts(context: click.Context, parameter: click.Parameter, value: str) -> Sequence[str]:
    """The verdicts in the words of --fail-on."""
    found = [name for name in value.split(",") if name]
    unknown = [name for name in found if name not in VERDICTS[1:]]
    if unknown:
        said = ", ".join(map(escape_control, unknown))
        raise click.BadParameter(f"found {said}, expected some of {', '.join(VERDICTS[1:])}, separated by commas")
    return found


@cli.command("verdict")
@click.argument("recording", metavar="FOLDER", type=click.Path(path_type=Path))
@click.argument("results", metavar="[RESULTS]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--study",
    metavar="STUDY",
    shell_complete=completion.STUDIES,
    help="A study, or run files of one: it is said whether a function that could be used instead passes there.",
)
@click.option(
    "--fail-on",
    "fail_on",
    default="",
    metavar="VERDICT,...",
    callback=parse_verdicts,
    help=f"Exit status 1 if any call has one of these verdicts: {', '.join(VERDICTS[1:])}.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Also write index.html, verdict.md and verdict.json to this folder.",
)
@click.option("--markdown", "as_text", is_flag=True, help="Print Markdown, for a comment on a pull request.")
@click.option("--json", "as_data", is_flag=True, help="Print JSON (schema/verdict.schema.json) instead of text.")
def command(
    recording: Path,
    results: tuple[Path, ...],
    study: str | None,
    fail_on: Sequence[str],
    out: Path | None,
    as_text: bool,
    as_data: bool,
) -> None:
    """Show what of a recorded program would run on each target.

    FOLDER is what 'portbench record' wrote. RESULTS are run files of its manifests, or folders of them (default:
    FOLDER/results and ./results). Of several run files of one target the newest counts.

    \b
    Every call has one verdict on a target:
      runs     on the device; where it was measured, with the values of the CPU
      host     the framework computes it, or a part of it, on the host's CPU
      wrong    other values than on the CPU
      refused  an error, a crash, too much memory or time, or the version lacks the function
      unknown  not repeated, not repeatable even on the CPU, or not predictable

    Functions are ranked by their share of the program's time in calls. Values are compared with the CPU of the
    target's version, so what a framework computes wrong everywhere is not seen.

    Exit status: 0, 1 for --fail-on, 2 wrong input.

    \b
    Examples:
      portbench verdict mymodel
      portbench verdict mymodel --fail-on refused,wrong --markdown > comment.md
      portbench verdict mymodel results/ -o mymodel/verdict
    """
    if as_text and as_data:
        raise click.UsageError("--markdown and --json exclude each other. -o writes both.")
    known = Known()
    if study:
        with study_of([study]) as opened:
            known = known_of(opened.summary, study)
    places = results or [path for path in (recording / "results", Path("results")) if path.exists()]
    verdicts = judge(recording, places, find_checkout(), known)
    written = write_verdict(verdicts, out) if out else None
    if as_data:
        click.echo(as_json(verdicts))
    elif as_text:
        click.echo(as_markdown(verdicts), nl=False)
    else:
        print_verdicts(verdicts, results_console())
    if written:
        click.echo(f"wrote {shown(written)}, verdict.md, verdict.json", err=as_data or as_text)
    if has_any(verdicts, fail_on):
        raise SystemExit(1)
