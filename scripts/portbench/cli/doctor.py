"""``portbench doctor``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from portbench.cli import cli, completion
from portbench.doctor.diagnosis import Diagnosis, diagnose, examine
from portbench.targets.catalog import all_targets, by_image, find_targets, title
from portbench.util.console import results_console
from portbench.util.findings import Finding, error, ok
from portbench.util.machine import Machine
from portbench.util.repository import find_checkout
from portbench.util.text import escape_control

_WORDS = {"ok": "[green]ok[/]", "warning": "[yellow]warn[/]", "error": "[bold red]no[/]"}


@cli.command("doctor")
@click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=completion.TARGETS)
@click.option(
    "--backend",
    type=click.Choice(["auto", "docker", "venv"]),
    default="auto",
    show_default=True,
    help="The backend to check. auto: the one that 'portbench run' would take.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    metavar="FOLDER",
    help="The folder that run files will be written to.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
@click.pass_context
def command(context: click.Context, targets: tuple[str, ...], backend: str, out: Path, as_json: bool) -> None:
    """Check whether targets can run on this machine.

    Without a TARGET, it checks the machine and says for every target whether it can run. It checks Docker and its
    versions, Python, packages and their index, GPU, driver and container toolkit, TPU and the process that holds it,
    disk, memory and the folder for results. It changes nothing. 'portbench run' does the quick checks itself.

    \b
    Each line begins with
      ok    no problem
      warn  the target can run, but you should know this
      no    the target cannot run; the line below says how to fix it

    \b
    Examples:
      portbench doctor
      portbench doctor torch-gpu --backend docker

    Exit status 1 if a TARGET cannot run here; without a TARGET, if none can.
    """
    machine = context.find_object(Machine) or Machine()
    checkout, out = find_checkout(), out.absolute()
    chosen = find_targets(targets, checkout) if targets else all_targets(checkout)
    about_machine = [] if targets else examine(chosen, backend, machine, out)
    named = targets or as_json
    groups = [[target] for target in chosen] if named else by_image(chosen)
    diagnoses = [diagnose(group[0], backend, checkout, machine, out, thorough=bool(targets)) for group in groups]
    if as_json:
        click.echo(json.dumps(_as_data(about_machine, diagnoses), indent=2))
    elif targets:
        _print_each(diagnoses)
    else:
        _print_overview(about_machine, dict(zip(map(title, groups), diagnoses, strict=True)))
    sick = [diagnosis for diagnosis in diagnoses if diagnosis.blocker]
    context.exit(int(bool(sick) if targets else len(sick) == len(diagnoses)))


def _print_each(diagnoses: Sequence[Diagnosis]) -> None:
    console = results_console()
    for number, diagnosis in enumerate(diagnoses):
        verdict = "cannot run here" if diagnosis.blocker else f"can run here, {_way(diagnosis)}"
        console.print(f"{chr(10) * (number > 0)}[bold]{diagnosis.target.name}[/] {escape(verdict)}")
        _print_findings(diagnosis.findings, console)


def _print_overview(about_machine: Sequence[Finding], diagnoses: Mapping[str, Diagnosis]) -> None:
    console = results_console()
    console.print("[bold]this machine[/]")
    _print_findings(about_machine, console)
    console.print("\n[bold]targets[/]")
    lines = []
    for name, diagnosis in diagnoses.items():
        blocker = diagnosis.blocker
        lines.append(error(name, blocker.message, "") if blocker else ok(name, _way(diagnosis)))
    _print_findings(lines, console)
    console.print("\n'portbench doctor TARGET' shows everything about one target.")


def _way(diagnosis: Diagnosis) -> str:
    return "in a container" if diagnosis.backend == "docker" else f"in a virtual environment ({diagnosis.why})"


def _print_findings(findings: Iterable[Finding], console: Console) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        remedy = f"\n[dim]{_shown(finding.remedy)}[/]" if finding.remedy else ""
        table.add_row(f"  {_WORDS[finding.verdict]}", _shown(finding.subject), _shown(finding.message) + remedy)
    console.print(table)


def _shown(text: str) -> str:
    return escape(escape_control(text))


def _as_data(about_machine: Sequence[Finding], diagnoses: Sequence[Diagnosis]) -> dict[str, object]:
    return {
        "machine": [_row(finding) for finding in about_machine],
        "targets": [
            {
                "target": diagnosis.target.name,
                "can_run": diagnosis.blocker is None,
                "backend": diagnosis.backend,
                "why": diagnosis.why,
                "findings": [_row(finding) for finding in diagnosis.findings],
            }
            for diagnosis in diagnoses
        ],
    }


def _row(finding: Finding) -> dict[str, object]:
    return {key: value for key, value in asdict(finding).items() if key != "about_storage"}
