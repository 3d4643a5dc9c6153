"""``portbench run``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import click
from rich.console import Console

from portbench.cli import cli
from portbench.cli import options as click_options
from portbench.formats.documents import read_document
from portbench.run.execute import RunOptions, TargetResult, exit_status, plan_run, run_targets
from portbench.run.known_failures import Check, check_run, expectations_of
from portbench.run.known_failures_terminal import as_data, print_check
from portbench.run.progress import Reporter
from portbench.util.machine import Machine
from portbench.util.repository import find_checkout


def _size(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch("[1-9][0-9]{0,15}[KMGT]?", value):
        raise click.BadParameter("a number of bytes is needed, or one with K, M, G or T behind it, such as 2G")
    return value


@cli.command("run")
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option(
    "--manifest",
    default="study",
    show_default=True,
    metavar="NAME|FILE",
    help="What is tested. A name means manifests/NAME/FRAMEWORK.json, so it serves targets of several frameworks.",
)
@click_options.FUNCTION
@click_options.TEST
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="How often the whole manifest is run, each time in fresh processes.",
)
@click.option(
    "--protocol",
    type=click.Choice(["cold", "steady", "both"]),
    default="both",
    show_default=True,
    help="What is timed: the first call (cold), many calls after it (steady), or both.",
)
@click.option(
    "--sync",
    type=click.Choice(["complete", "study"]),
    default="complete",
    show_default=True,
    help="What ends a timed region: all work behind the output is done (complete), or what the study called there, "
    "which on some devices only starts the work (study). Results of the two are never pooled.",
)
@click_options.timeout(900.0, "Limit of one test; a test that reaches it is recorded as timed out.")
@click.option(
    "--steady-budget",
    "steady_budget_s",
    type=click.FloatRange(min=0, min_open=True),
    default=0.1,
    show_default=True,
    metavar="SECONDS",
    help="How long one call may be repeated for its steady time.",
)
@click.option(
    "--shuffle",
    type=int,
    metavar="SEED",
    help="Run the tests in another order, the same for the same seed: no outcome may depend on it.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    callback=_size,
    help="Limit of the memory of one test with all that it starts: bytes, or 500M, 2G. A test that exceeds it is "
    "recorded as crashed, for want of memory. [default: none]",
)
@click_options.BACKEND
@click.option("--resume", is_flag=True, help="Go on with an interrupted run of the same target and manifest.")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="results",
    show_default=True,
    metavar="FOLDER",
    help="Where run files appear, one a target.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Compare the failures with the known ones, in expected/FRAMEWORK-DEVICE.json beside the manifest: exit "
    "status 1 where one is new, or a known one passes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end; progress goes to stderr.")
@click.pass_context
def command(
    context: click.Context,
    targets: tuple[str, ...],
    manifest: str,
    functions: tuple[str, ...],
    tests: tuple[str, ...],
    runs: int,
    protocol: str,
    sync: str,
    timeout_s: float,
    steady_budget_s: float,
    shuffle: int | None,
    memory: str | None,
    backend: str,
    resume: bool,
    out: str,
    check: bool,
    as_json: bool,
) -> None:
    """Run a manifest on each TARGET and leave one run file for each.

    A target is a framework on a device, such as torch-cpu, or one version of it, such as torch-2.9.0-cpu;
    'portbench targets' lists them. Targets run one after the other. One that cannot run does not keep the others from
    running: the exit status is that of the first failure. Tests that fail are results, not failures, but with --check.

    Ctrl-C stops in order: finished results are kept, and the command that goes on is printed.

    \b
    Examples:
      portbench run torch-cpu tensorflow-cpu jax-cpu
      portbench run torch-2.9.0-cpu --function 'torch.linalg.*' --runs 1
      portbench run jax-cpu --backend current --manifest my-manifest.json

    \b
    Exit status: 0 a run file for each target; 1 not as --check wants it; 2 wrong input; 3 target not available here;
    4 nothing ran; 5 disk full or not writable; 6 the environment or the framework does not start; 130 interrupted.
    """
    options = RunOptions(
        targets=targets,
        manifest=manifest,
        functions=functions,
        tests=tests,
        runs=runs,
        protocol=protocol,
        sync=sync,
        timeout_s=timeout_s,
        steady_budget_s=steady_budget_s,
        shuffle=shuffle,
        memory=memory,
        backend=backend,
        resume=resume,
        out=out,
        check=check,
        json=as_json,
    )
    plan = plan_run(options, find_checkout(), context.find_object(Machine))
    expected = expectations_of(plan) if check else {}
    results = run_targets(plan, Reporter(Console(stderr=as_json), Console(stderr=True)))
    checks = {
        result.target: check_run(read_document(result.run_file, "run").data, expected[result.target])
        for result in results
        if check and result.run_file
    }
    if as_json:
        click.echo(json.dumps({"targets": _as_data(results, checks)}, indent=2))
    else:
        for target, found in checks.items():
            print_check(target, found, Console(highlight=False))
    context.exit(exit_status(results) or int(not all(found.is_clean for found in checks.values())))


def _as_data(results: Sequence[TargetResult], checks: Mapping[str, Check]) -> list[dict[str, object]]:
    return [
        {
            "target": result.target,
            "backend": result.backend,
            "exit_status": result.exit_status,
            "run_file": str(result.run_file) if result.run_file else None,
            "outcomes": dict(result.outcomes),
            "seconds": round(result.seconds, 3),
            "error": str(result.error) if result.error else None,
            "check": as_data(checks[result.target]) if result.target in checks else None,
        }
        for result in results
    ]
