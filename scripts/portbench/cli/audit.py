"""``portbench audit``."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click
from rich.console import Console

from portbench.cli import cli
from portbench.cli import options as click_options
from portbench.run.execute import RunOptions, plan_run
from portbench.run.mutation import AuditReporter, audit, explanations_beside, mutants
from portbench.run.mutation_terminal import as_data, print_audit
from portbench.util.machine import Machine
from portbench.util.repository import find_checkout


@cli.command("audit")
@click.argument("manifest", metavar="MANIFEST")
@click.option("--target", required=True, metavar="TARGET", help="Where the tests run, such as torch-cpu.")
@click_options.FUNCTION
@click.option(
    "--mutant", "chosen", multiple=True, metavar="NAME", help="Only this way to break a function. May be repeated."
)
@click.option(
    "--survivors",
    "explanations",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Reasons why tests may not notice (schema/survivors.schema.json). Default: survivors/ beside the manifest.",
)
@click_options.timeout(60.0, "Limit of one test: a broken function may never come to an end.")
@click_options.BACKEND
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; progress goes to stderr.")
@click.pass_context
def command(
    context: click.Context,
    manifest: str,
    target: str,
    functions: tuple[str, ...],
    chosen: tuple[str, ...],
    explanations: Path | None,
    timeout_s: float,
    backend: str,
    as_json: bool,
) -> None:
    """Break every function of MANIFEST on purpose and list the tests that do not notice.

    MANIFEST is a name (manifests/NAME/FRAMEWORK.json) or a file. Each function's output is scaled, shifted by one
    element, zeroed, given another dtype, given one axis more, replaced by the first argument; or the function does
    nothing. A mutant whose output is that of the true function does not count. The tests run unbroken first: a test
    that does not time the manifest's function, or checks nothing, fails there.

    Exit status 1 where a test survives without a reason in the file of survivors, a reason there is out of date,
    no test of a function notices anything, or a test fails with the function as it is.

    \b
    Examples:
      portbench audit study --target torch-cpu
      portbench audit study --target jax-cpu --function 'jax.numpy.*' --mutant shifted
    """
    known = mutants()
    for name in chosen:
        if name not in known:
            raise click.BadParameter(f"{name!r} is none of {', '.join(known)}", param_hint="--mutant")
    machine = context.find_object(Machine)
    with tempfile.TemporaryDirectory(prefix="portbench-audit-") as out:
        options = RunOptions(
            targets=(target,),
            manifest=manifest,
            functions=functions,
            runs=1,
            protocol="cold",
            timeout_s=timeout_s,
            backend=backend,
            out=out,
        )
        plan = plan_run(options, find_checkout(), machine)
        ((_, arguments),) = plan.arguments.items()
        reporter = AuditReporter(Console(stderr=True), Console(stderr=True))
        found = audit(plan, chosen or known, explanations or explanations_beside(arguments.manifest), reporter)
    if as_json:
        click.echo(json.dumps(as_data(found, chosen or known), indent=1))
    else:
        print_audit(found, Console(highlight=False))
    context.exit(0 if found.is_clean else 1)
