"""``portbench run``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console

from portbench.cli import cli, completion
from portbench.cli import options as click_options
from portbench.cli.defaults import WithDefaults, used_defaults
from portbench.formats.documents import read_document
from portbench.run.execute import exit_status, run_targets
from portbench.run.failures import FailedRun, FailedTest, failed_tests, read_failed
from portbench.run.known_failures import Check, KnownFailures, check_run, known_failures_of
from portbench.run.known_failures_terminal import as_data, print_check
from portbench.run.listing import as_data as selected_as_data
from portbench.run.listing import list_tests, print_selected
from portbench.run.model import MOST_SHARDS, SCALING, RunnerOptions, RunOptions, RunPlan, TargetResult
from portbench.run.plan import create_out, plan_run
from portbench.run.progress import Reporter
from portbench.run.summary import print_summary
from portbench.util.console import results_console
from portbench.util.machine import Machine
from portbench.util.repository import find_checkout
from portbench.util.strict_json import read_json, shown


def _size(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    found = re.fullmatch("([1-9][0-9]{0,15})([KMGT]?)", value)
    if not found:
        raise click.BadParameter("expected a number of bytes, or a number with K, M, G or T, such as 2G")
    if int(found[1]) << 10 * " KMGT".index(found[2] or " ") >= 2**63:
        raise click.BadParameter(f"expected fewer than {2**33}G")
    return value


def _shard(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    found = re.fullmatch("([1-9][0-9]{0,4})/([1-9][0-9]{0,4})", value) if value is not None else None
    if value is not None and not (found and int(found[1]) <= int(found[2]) <= MOST_SHARDS):
        raise click.BadParameter(f"expected K/N with 1 <= K <= N <= {MOST_SHARDS}, such as 1/4")
    return value


def _store(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        from portbench.util import remote  # imports DuckDB, for which every run would wait

        if not remote.is_store(value):
            raise click.BadParameter("expected a folder in an object store, such as s3://bucket/results")
        remote.check_extension()
    return value


@cli.command("run", cls=WithDefaults)
@click.argument("targets", metavar="TARGET...", nargs=-1, shell_complete=completion.TARGETS)
@click.option(
    "--manifest",
    default=RunOptions.manifest,
    show_default=True,
    metavar="NAME|FILE",
    shell_complete=completion.MANIFESTS,
    help="The functions and tests to run. A name means manifests/NAME/FRAMEWORK.json and serves several frameworks. "
    "With --protocol scaling the default is scaling.",
)
@click_options.FUNCTION
@click_options.EXCLUDE
@click_options.TEST
@click.option(
    "--shard",
    metavar="K/N",
    callback=_shard,
    help="Only the K-th of N parts of the selected tests, such as 1/4. The parts run on N machines; 'portbench merge' "
    "joins them. A test stays in its part when other tests are added.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1, max=10_000),
    default=RunnerOptions.runs,
    show_default=True,
    metavar="N",
    help="How often to run the manifest, each time in new processes. Tests that only check values run once.",
)
@click.option(
    "--protocol",
    type=click.Choice(["cold", "steady", "both", SCALING]),
    default=RunnerOptions.protocol,
    show_default=True,
    help="What to time: the first call (cold), the steady state over many later calls (steady), both, or the steady "
    "state of tests with sizes (scaling), which 'portbench scaling' shows.",
)
@click_options.sync(
    RunnerOptions.sync,
    "What ends a timed region. complete: all work behind the output has finished. as-published: the call that the "
    "paper of 2023 made there, which on some devices only starts the work. Results of the two are never pooled.",
)
@click.option(
    "--cold",
    type=click.Choice(["test", "process"]),
    default=RunnerOptions.cold,
    show_default=True,
    help="What a first call is the first of. test: of its test, in a process that may have run other tests. process: "
    "of its process, since each test has one of its own, which takes longer. Results of the two are never pooled.",
)
@click_options.timeout(RunnerOptions.timeout_s, "Limit of one test. A test that reaches it is recorded as timed out.")
@click.option(
    "--steady-budget",
    "steady_budget_s",
    type=click.FloatRange(min=0, min_open=True, max=86_400),
    default=RunnerOptions.steady_budget_s,
    show_default=True,
    metavar="SECONDS",
    help="How long one call may be repeated to time its steady state.",
)
@click.option(
    "--shuffle",
    type=click.IntRange(-(2**63), 2**63 - 1),
    metavar="SEED",
    help="Run the tests in another order. The same seed gives the same order. No outcome may depend on it.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    callback=_size,
    help="Memory limit of one test and all processes that it starts: bytes, or 500M, 2G. A test that exceeds it is "
    "recorded as crashed: out of memory. [default: none]",
)
@click.option(
    "--sandbox",
    type=click.Choice(["auto", "off", "required"]),
    default=RunnerOptions.sandbox,
    show_default=True,
    help="Confine the tests: no connection, no other program, files changed only in their own folder. auto: tests of a "
    "manifest that is not in this repository, as far as the system can; off: never; required: always, and run nothing "
    "if the system cannot.",
)
@click.option(
    "--private-names",
    is_flag=True,
    help="Allow a manifest to use names that its framework does not call public. Only for manifests that you trust.",
)
@click_options.BACKEND
@click.option(
    "--failed",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Run only the tests that did not pass in this run file, by default on its target and with its manifest.",
)
@click.option("--resume", is_flag=True, help="Continue an interrupted run of the same target and manifest.")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default=RunOptions.out,
    show_default=True,
    metavar="FOLDER",
    help="Write the run files here, one per target.",
)
@click.option(
    "--copy-to",
    metavar="URL",
    callback=_store,
    help="Copy each run file, when it is complete, to this folder of an object store, such as s3://bucket/results. "
    "Credentials are those of 'portbench merge'.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Compare the failures with the known failures in expected/FRAMEWORK-DEVICE.json beside the manifest. Exit "
    "status 1 if a failure is new or a known failure passes.",
)
@click.option(
    "--dry-run", is_flag=True, help="List what would run, and run nothing. With -v also every test, as --test takes it."
)
@click.option("-q", "--quiet", is_flag=True, help="Print no progress, only errors and the summary at the end.")
@click.option("-v", "--verbose", is_flag=True, help="Print a line about every test.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.pass_context
def command(
    context: click.Context,
    /,
    targets: tuple[str, ...],
    manifest: str,
    backend: str,
    out: str,
    failed: str | None,
    copy_to: str | None,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    check: bool,
    as_json: bool,
    **runner_options: Any,
) -> None:
    """Run a manifest on each TARGET and write one run file per target.

    A target is a framework on a device, such as torch-cpu, or one version of it, such as torch-2.9.0-cpu.
    'portbench targets' lists them. Timed targets run one after the other, each alone; predicted ones side by side, one
    for each core. Missing environments are created together, and predicted targets run meanwhile. If a target cannot
    run, the others still do. The exit status is that of the first failure; failed tests change it only with --check.

    Progress and errors go to stderr. At the end stdout gets the tests that did not pass, the counts of each target, and
    the commands to type next. --dry-run lists what the other options select; there is no other command for that.

    portbench.toml, or [tool.portbench] in pyproject.toml, can hold defaults of these options.
    Ctrl-C stops the run. Finished results are kept, and portbench prints the command that continues the run.

    \b
    Examples:
      portbench run torch-cpu tensorflow-cpu jax-cpu
      portbench run torch-2.9.0-cpu --function 'torch.linalg.*' --runs 1
      portbench run --failed results/torch-1.12.0-cpu-vm-20260131T120000Z.json
      portbench run jax-cpu --backend current --manifest my-manifest.json

    \b
    Exit status: 0 a run file for each target; 1 --check found a difference; 2 wrong input; 3 target not available here;
    4 nothing ran; 5 not written or not copied; 6 the environment or the framework does not start; 130 interrupted.
    """
    if not targets and not failed:
        raise click.UsageError("Missing argument 'TARGET...'. 'portbench targets' lists the targets.")
    runner = RunnerOptions(**runner_options)
    options = RunOptions(targets, _manifest(context, manifest), backend, out, runner, failed, copy_to, check, as_json)
    of_failed = read_failed(Path(failed)) if failed else None
    if of_failed and not of_failed.tests:
        _show_nothing(of_failed, as_json)
        return
    plan = plan_run(options, find_checkout(), context.find_object(Machine), of_failed)
    if dry_run:
        _show_selected(plan, verbose, as_json)
        return
    known = known_failures_of(plan) if check else {}
    create_out(plan)
    results = run_targets(plan, _reporter(context, verbose - quiet))
    failures, checks = _examine(results, known)
    if as_json:
        click.echo(json.dumps({"targets": _as_data(results, failures, checks)}, indent=2))
    else:
        _show_end(results, failures, checks, options)
    context.exit(exit_status(results) or int(not all(found.is_clean for found in checks.values())))


def _manifest(context: click.Context, given: str) -> str:
    """The manifest that was given; without one the default of the protocol."""
    is_default = context.get_parameter_source("manifest") is ParameterSource.DEFAULT
    return SCALING if is_default and context.params["protocol"] == SCALING else given


def _reporter(context: click.Context, verbosity: int) -> Reporter:
    reporter = Reporter(Console(stderr=True), Console(stderr=True), verbosity=verbosity)
    defaults = used_defaults(context)
    if defaults:
        reporter.say(f"defaults from {defaults}")
    return reporter


def _show_end(
    results: Sequence[TargetResult],
    failures: Mapping[str, Sequence[FailedTest]],
    checks: Mapping[str, Check],
    options: RunOptions,
) -> None:
    console = results_console()
    print_summary(results, failures, options, console)
    for target, found in checks.items():
        print_check(target, found, console)


def _show_nothing(failed: FailedRun, as_json: bool) -> None:
    nothing = f"{shown(failed.path)}: no test failed, nothing to run"
    click.echo(json.dumps({"targets": []}) if as_json else nothing)


def _show_selected(plan: RunPlan, each_test: bool, as_json: bool) -> None:
    selected = list_tests(plan)
    if as_json:
        click.echo(json.dumps({"targets": selected_as_data(selected)}, indent=2))
    else:
        print_selected(selected, each_test, results_console())


def _examine(
    results: Sequence[TargetResult], known: Mapping[str, KnownFailures]
) -> tuple[dict[str, Sequence[FailedTest]], dict[str, Check]]:
    """The failed tests of each target and, where known failures are given, how they differ from these."""
    failures: dict[str, Sequence[FailedTest]] = {}
    checks = {}
    for result in results:
        if result.run_file:
            failures[result.planned] = failed_tests(read_json(result.run_file).data)
            if known:
                checks[result.planned] = check_run(read_document(result.run_file, "run").data, known[result.planned])
    return failures, checks


def _as_data(
    results: Sequence[TargetResult], failures: Mapping[str, Sequence[FailedTest]], checks: Mapping[str, Check]
) -> list[dict[str, object]]:
    return [
        {
            "target": result.target,
            "backend": result.backend,
            "exit_status": result.exit_status,
            "run_file": str(result.run_file) if result.run_file else None,
            "copy": result.copy,
            "outcomes": dict(result.outcomes),
            "disturbed": result.disturbed,
            "failed": [asdict(test) for test in failures.get(result.planned, ())],
            "seconds": round(result.seconds, 3),
            "error": str(result.error) if result.error else None,
            "check": as_data(checks[result.planned]) if result.planned in checks else None,
        }
        for result in results
    ]
