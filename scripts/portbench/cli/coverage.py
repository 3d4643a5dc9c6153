"""``portbench coverage``."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from portbench.cli import cli
from portbench.corpus.coverage import Coverage, Covered, as_data, coverage
from portbench.formats.documents import read_document
from portbench.util.console import results_console
from portbench.util.format import percent
from portbench.util.text import escape_control, pluralize

_MOST_MISSING = 25


@cli.command("coverage")
@click.argument("manifests", type=click.Path(path_type=Path), metavar="MANIFEST...", nargs=-1, required=True)
@click.option(
    "--functions",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The list of all public functions, by 'portbench enumerate -o FILE'.",
)
@click.option(
    "--counts",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Weight by use in a corpus, by 'portbench count -o FILE'; what is missing comes in the order of use.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, all missing functions included.")
def command(manifests: tuple[Path, ...], functions: Path, counts: Path | None, as_json: bool) -> None:
    """Show how many public functions of a framework have a test, and which have none.

    Functions are counted, not tests: one test in any MANIFEST is enough. 'Independent': a test compares with something
    else than the framework itself. 'Gradient': a test compares gradients. In scope are functions that one process can
    call on one device: docs/api-coverage.md says which are not.

    \b
    Examples:
      portbench enumerate torch-latest-cpu -o api/functions.json
      portbench coverage api/torch.json manifests/study/torch.json --functions api/functions.json
      portbench coverage api/torch.json --functions api/functions.json --counts counts.json --json
    """
    found = coverage(
        [read_document(path, "manifest") for path in manifests],
        read_document(functions, "functions"),
        read_document(counts, "counts") if counts else None,
    )
    if as_json:
        click.echo(json.dumps(as_data(found), indent=1))
    else:
        _print(found, results_console())


def _print(found: Coverage, console: Console) -> None:
    in_scope = found.in_scope
    share = _share(in_scope.tested, in_scope.functions)
    console.print(
        Text(
            f"{escape_control(f'{found.framework} {found.version}')}: {in_scope.tested:,} of "
            f"{pluralize(in_scope.functions, 'public function')} in scope have a test ({share})",
            "bold",
        )
    )
    if in_scope.uses:
        share = _share(in_scope.tested_uses, in_scope.uses)
        of_all = _share(found.all.tested_uses, found.all.uses)
        console.print(
            Text(
                f"{share} of {in_scope.uses:,} calls in the corpus of functions in scope are calls of these; of all "
                f"{found.all.uses:,} calls {of_all}"
            )
        )
    table = Table(box=SIMPLE_HEAD)
    table.add_column("module")
    for heading in ("functions", "tested", "share", "independent", "gradient"):
        table.add_column(heading, justify="right")
    rows = sorted(found.by_module.items(), key=lambda item: (-item[1].functions, item[0]))
    for module, covered in [*rows, ("in scope", in_scope), ("all", found.all)]:
        table.add_row(Text(escape_control(module)), *_cells(covered))
    console.print(table)
    if found.out_of_scope:
        console.print(Text("Out of scope, since one process does not call them on one device:"))
        for reason, number in found.out_of_scope.items():
            console.print(Text(f"  {number:,}  {reason}"))
    missing = [each for each in found.missing if each.out_of_scope is None]
    if missing:
        by_use = ", most used first" if missing[0].uses is not None else ""
        console.print(Text(f"In scope and without a test{by_use}:"))
        for each in missing[:_MOST_MISSING]:
            used = f"  ({pluralize(each.uses, 'call')})" if each.uses is not None else ""
            console.print(Text(f"  {escape_control(each.function)}{used}"))
        if len(missing) > _MOST_MISSING:
            console.print(Text(f"  and {len(missing) - _MOST_MISSING:,} more: --json has them all"))
    if found.unlisted:
        some = ", ".join(map(escape_control, found.unlisted[:3]))
        console.print(Text(f"{pluralize(len(found.unlisted), 'tested function')} not in the list, such as {some}"))


def _cells(covered: Covered) -> tuple[str, ...]:
    numbers = (covered.functions, covered.tested, covered.independent, covered.gradient)
    all_, tested, independent, gradient = (f"{number:,}" for number in numbers)
    return all_, tested, _share(covered.tested, covered.functions), independent, gradient


def _share(part: int, whole: int) -> str:
    return f"{percent(part, whole)} %"
