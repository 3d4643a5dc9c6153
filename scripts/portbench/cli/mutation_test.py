"""``portbench mutation-test``."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console

from portbench.cli import cli, completion
from portbench.cli import options as click_options
from portbench.run.model import RunnerOptions, RunOptions
from portbench.run.mutation import MutationReporter, mutants, run_mutants, survivors_file_of
from portbench.run.mutation_terminal import as_data, print_mutation_test
from portbench.run.own_mutants import OwnMutationTest, print_own_mutants, run_own_mutants
from portbench.run.own_mutants import as_data as own_as_data
from portbench.run.plan import plan_run
from portbench.util.console import results_console
from portbench.util.machine import Machine
from portbench.util.repository import find_checkout


@cli.command("mutation-test")
@click.argument("manifest", metavar="MANIFEST", shell_complete=completion.MANIFESTS)
@click.option(
    "--target",
    required=True,
    metavar="TARGET",
    shell_complete=completion.TARGETS,
    help="Where the tests run, such as torch-cpu.",
)
@click_options.FUNCTION
@click.option(
    "--mutant", "chosen", multiple=True, metavar="NAME", help="Only this way to mutate a function. May be repeated."
)
@click.option("--fine", is_flag=True, help="Also the mutants that are like faults of real devices.")
@click.option(
    "--mutants",
    "own_mutants",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Only the mutants of a Python file of yours, each until a test notices it.",
)
@click.option(
    "--survivors",
    "survivors_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Reasons why tests need not notice (schema/survivors.schema.json). Default: survivors/ beside the manifest.",
)
@click.option(
    "--time-budget",
    "time_budget_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Try what fits: the first test of each function, then the second ones, and so on. Says how many did not fit.",
)
@click_options.timeout(60.0, "Limit of one test: a mutated function may never end.")
@click_options.BACKEND
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object. Progress goes to stderr.")
@click.pass_context
def command(
    context: click.Context,
    manifest: str,
    target: str,
    functions: tuple[str, ...],
    chosen: tuple[str, ...],
    fine: bool,
    own_mutants: Path | None,
    survivors_file: Path | None,
    time_budget_s: float | None,
    timeout_s: float,
    backend: str,
    as_json: bool,
) -> None:
    """Mutate every function of MANIFEST and list the tests that do not notice.

    MANIFEST is a name (manifests/NAME/FRAMEWORK.json) or a file. A mutant scales a function's output, shifts it by one
    element, zeroes it, changes its dtype, adds an axis, replaces it by the first argument, or does nothing at all. A
    mutant that changes nothing in a test does not count. --fine adds mutants like faults of real devices, such as
    digits that are lost, a wrong element at the end of a row, NaN that becomes zero, a stale second output, an ignored
    keyword argument or seed, a wrong gradient, a lost state: schema/mutants.json says by class what each does. A test
    first runs with the real function: one that does not time the manifest's function, or checks nothing, fails there.

    Exit status 1 if a test survives without a reason in the file of survivors, if a reason there is out of date, if no
    test of a function notices anything, or if a test fails with the real function and that is no known failure of the
    version (expected/). A mutant of --fine needs a reason only if no test of its function notices it.

    --mutants tries faults that you wrote (manifests/README.md says how): which tests notice the bug that your device
    had? Exit status 1 if no test notices one of them.

    \b
    Examples:
      portbench mutation-test study --target torch-cpu
      portbench mutation-test study --target torch-cpu --fine --time-budget 60
      portbench mutation-test study --target jax-cpu --function 'jax.numpy.*' --mutant shifted
      portbench mutation-test study --target torch-cpu --mutants my_faults.py
    """
    if own_mutants and (chosen or fine or survivors_file or time_budget_s):
        raise click.UsageError("--mutants tries a file alone: without --mutant, --fine, --survivors and --time-budget")
    known = mutants()
    tried = chosen or (known if fine else mutants(coarse_only=True))
    for name in chosen:
        if name not in known:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(known)}", param_hint="--mutant")
    machine = context.find_object(Machine)
    with tempfile.TemporaryDirectory(prefix="portbench-mutation-test-") as out:
        runner = RunnerOptions(runs=1, protocol="cold", timeout_s=timeout_s, functions=functions)
        plan = plan_run(RunOptions((target,), manifest, backend, out, runner), find_checkout(), machine)
        ((_, arguments),) = plan.arguments.items()
        reporter = MutationReporter(Console(stderr=True), Console(stderr=True))
        if own_mutants:
            _report_own(context, run_own_mutants(plan, own_mutants, reporter), as_json)
        explained = survivors_file or survivors_file_of(arguments.manifest)
        found = run_mutants(plan, tried, explained, reporter, time_budget_s)
    if as_json:
        click.echo(json.dumps(as_data(found, tried), indent=1))
    else:
        print_mutation_test(found, results_console())
    context.exit(0 if found.is_clean else 1)


def _report_own(context: click.Context, found: OwnMutationTest, as_json: bool) -> NoReturn:
    if as_json:
        click.echo(json.dumps(own_as_data(found), indent=1))
    else:
        print_own_mutants(found, results_console())
    context.exit(1 if found.missed else 0)
