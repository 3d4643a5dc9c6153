"""``portbench mutation-test``."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click
from rich.console import Console

from portbench.cli import cli, completion
from portbench.cli import options as click_options
from portbench.run.model import RunnerOptions, RunOptions
from portbench.run.mutation import MutationReporter, mutants, run_mutants, survivors_file_of
from portbench.run.mutation_terminal import as_data, print_mutation_test
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

    \b
    Examples:
      portbench mutation-test study --target torch-cpu
      portbench mutation-test study --target torch-cpu --fine --time-budget 60
      portbench mutation-test study --target jax-cpu --function 'jax.numpy.*' --mutant shifted
    """
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
        explained = survivors_file or survivors_file_of(arguments.manifest)
        found = run_mutants(plan, tried, explained, reporter, time_budget_s)
    if as_json:
        click.echo(json.dumps(as_data(found, tried), indent=1))
    else:
        print_mutation_test(found, results_console())
    context.exit(0 if found.is_clean else 1)
