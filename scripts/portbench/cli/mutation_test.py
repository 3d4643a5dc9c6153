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
from portbench.run.mutation import COARSE, MutationReporter, mutants, run_mutants, survivors_file_of
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
    timeout_s: float,
    backend: str,
    as_json: bool,
) -> None:
    """Mutate every function of MANIFEST and list the tests that do not notice.

    MANIFEST is a name (manifests/NAME/FRAMEWORK.json) or a file. A mutant scales a function's output, shifts it by one
    element, zeroes it, changes its dtype, adds an axis, replaces it by the first argument, or does nothing at all. A
    mutant whose output equals that of the real function does not count. --fine adds mutants like faults of real
    devices: digits that are lost to float32 (float32) or bfloat16 (bfloat16), a wrong element at the end of a row that
    is no multiple of eight (tile-end), NaN that becomes zero (nan-swallowed), a zero of the other sign (zero-sign), a
    wrong second call (second-call), an argument that is overwritten (overwritten), an error that is swallowed
    (accepted), a keyword argument that is ignored (keyword-ignored). The tests first run with the real functions: a
    test that does not time the manifest's function, or checks nothing, fails there.

    Exit status 1 if a test survives without a reason in the file of survivors, if a reason there is out of date, if no
    test of a function notices anything, or if a test fails with the real function.

    \b
    Examples:
      portbench mutation-test study --target torch-cpu
      portbench mutation-test study --target jax-cpu --function 'jax.numpy.*' --mutant shifted
    """
    known = mutants()
    default = known if fine else COARSE
    for name in chosen:
        if name not in known:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(known)}", param_hint="--mutant")
    machine = context.find_object(Machine)
    with tempfile.TemporaryDirectory(prefix="portbench-mutation-test-") as out:
        runner = RunnerOptions(runs=1, protocol="cold", timeout_s=timeout_s, functions=functions)
        plan = plan_run(RunOptions((target,), manifest, backend, out, runner), find_checkout(), machine)
        ((_, arguments),) = plan.arguments.items()
        reporter = MutationReporter(Console(stderr=True), Console(stderr=True))
        found = run_mutants(plan, chosen or default, survivors_file or survivors_file_of(arguments.manifest), reporter)
    if as_json:
        click.echo(json.dumps(as_data(found, chosen or default), indent=1))
    else:
        print_mutation_test(found, results_console())
    context.exit(0 if found.is_clean else 1)
