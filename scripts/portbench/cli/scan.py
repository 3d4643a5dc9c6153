"""``portbench scan``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from portbench.cli import cli, completion
from portbench.errors import BadInput
from portbench.record.known import known_of
from portbench.record.scan import VERDICTS, scan
from portbench.record.scan_output import as_data, print_scan
from portbench.study.open import study_of
from portbench.targets.catalog import find_targets
from portbench.util.console import results_console
from portbench.util.repository import Checkout, find_checkout
from portbench.util.text import escape_control


def _verdicts(context: click.Context, parameter: click.Parameter, value: str) -> Sequence[str]:
    found = [name for name in value.split(",") if name]
    wrong = [name for name in found if name not in VERDICTS[1:]]
    if wrong:
        said = ", ".join(map(escape_control, wrong))
        raise click.BadParameter(f"found {said}, expected some of {', '.join(VERDICTS[1:])}, separated by commas")
    return found


@cli.command("scan")
@click.argument("source", nargs=-1, required=True, metavar="SOURCE...", type=click.Path(path_type=Path))
@click.option(
    "--target", required=True, metavar="TARGET", shell_complete=completion.TARGETS, help="Such as torch-tpu-v5e."
)
@click.option(
    "--study",
    metavar="STUDY",
    shell_complete=completion.STUDIES,
    help="A study, or run files of one. [default: ./study, ./results, or the newest that 'make study' made]",
)
@click.option(
    "--fail-on",
    "fail_on",
    default="",
    metavar="VERDICT,...",
    callback=_verdicts,
    help=f"Exit status 1 if a function has one of these: {', '.join(VERDICTS[1:])}.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(source: tuple[Path, ...], target: str, study: str | None, fail_on: Sequence[str], as_json: bool) -> None:
    """Show what a study knows of the functions that source code calls.

    SOURCE are .py files, or folders of them. Nothing is run. portbench finds the calls as 'portbench count' does,
    through imports, aliases and scopes, and looks the functions up in the results of a study on TARGET. It does not see
    methods of tensors, what libraries call, or arguments: a function that fails in a study may work with yours.
    'portbench record' sees what a program really calls.

    Exit status: 0, 1 for --fail-on, 2 wrong input.

    \b
    Example:
      portbench scan src/ --target torch-tpu-v5e --study build/study-20261101T120000Z/study
    """
    checkout = find_checkout()
    (wanted,) = find_targets([target], checkout)
    given = study or _default_study(checkout)
    with study_of([given]) as opened:
        found = scan(source, wanted, known_of(opened.summary, given))
    if as_json:
        click.echo(json.dumps({**as_data(found), "study": given}, indent=1))
    else:
        print_scan(found, results_console())
    if any(found.with_verdict(name) for name in fail_on):
        raise SystemExit(1)


def _default_study(checkout: Checkout) -> str:
    made = sorted(checkout.root.glob("build/study-*/study/study.json"))
    for path in (Path("study"), Path("results"), *(each.parent for each in reversed(made))):
        if any(path.glob("*.json")):
            return str(path)
    raise BadInput(
        "there is no study here: no folder study or results, nothing that 'make study' made",
        "Give one with --study, or make one: portbench run TARGET --runs 1 --protocol cold",
    )
