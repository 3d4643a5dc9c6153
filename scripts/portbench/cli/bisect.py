"""``portbench bisect``."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from portbench.cli import cli, completion
from portbench.errors import BadInput, NothingRan
from portbench.history.bisect import Bisection, bisect
from portbench.history.environments import Sources
from portbench.history.releases import every_release, list_releases
from portbench.history.run import HistoryPlan, run_versions
from portbench.run.plan import find_manifest, function_names
from portbench.run.progress import Reporter
from portbench.util.machine import Machine
from portbench.util.repository import find_checkout
from portbench.util.strict_json import read_json, shown
from portbench.util.text import did_you_mean, escape_control, pluralize, shortened

_NAME = re.compile(r"(?P<framework>[a-z]+)-(?P<version>\d+(?:\.\d+)*)(?:-(?P<device>[a-z0-9-]+))?")


@cli.command("bisect")
@click.option("--good", required=True, metavar="TARGET", help="A version in which the function works: torch-2.0.1.")
@click.option("--bad", required=True, metavar="TARGET", help="A later version in which it does not: torch-2.15.0.")
@click.option("--function", required=True, metavar="FUNCTION", help="The function of the manifest.")
@click.option(
    "--manifest",
    default="study",
    show_default=True,
    metavar="NAME|FILE",
    shell_complete=completion.MANIFESTS,
    help="The manifest with the tests of the function.",
)
@click.option(
    "--keep", is_flag=True, help="Keep the environments that are created. Default: remove each after its run."
)
@click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    context: click.Context,
    /,
    good: str,
    bad: str,
    function: str,
    manifest: str,
    keep: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Find the release of a framework that broke a function, or fixed it.

    All releases between the two are candidates; of 60, about 7 run. Each runs as 'portbench history' runs it: in its
    own environment, which is created for it and removed afterwards, and with its result kept, so that the same command
    goes on after Ctrl-C. A release that cannot be installed or run is passed over.

    Add the device to the names where it is not the CPU. --good may be the later one: then it is the fix that is found.

    \b
    Examples:
      portbench bisect --good torch-2.0.1 --bad torch-2.15.0 --function torch.nn.GELU
      portbench bisect --good jax-0.4.13-gpu-predicted --bad jax-0.12.0.1-gpu-predicted --function jax.lax.top_k

    \b
    Exit status: 0 the release was found; 1 the function has the same status in both; 2 wrong input; 4 nothing ran.
    """
    (framework, device), ends = _ends(good, bad)
    clone = find_checkout()
    sources = Sources(framework, device, clone)
    pinned = sources.pinned()
    path = find_manifest(manifest, framework, clone)
    check_function(function, path)
    releases = list_releases(sources.packages())
    versions = every_release(*ends, releases, pinned)
    plan = HistoryPlan(sources, releases, path, keep, machine=context.find_object(Machine) or Machine(), again=typed())
    reporter = Reporter(Console(stderr=True), Console(stderr=True), verbosity=-quiet)
    found = run_bisection(plan, function, versions, reporter, as_json)
    context.exit(int(found.change is None))


def run_bisection(
    plan: HistoryPlan, function: str, versions: Sequence[str], reporter: Reporter, as_json: bool
) -> Bisection:
    """Looks for the change among the versions and prints it. Raises NothingRan if no version has a status."""
    plan = plan.with_only(function)
    sources = plan.sources
    found = bisect(
        sources.framework, sources.device, function, versions, lambda each: next(run_versions(plan, [each], reporter))
    )
    if as_json:
        click.echo(json.dumps(asdict(found), indent=1))
    else:
        for line in _said(found, len(versions)):
            click.echo(escape_control(line))
    if not found.statuses:
        raise NothingRan("no version ran the function", "The reasons are above.")
    return found


def check_function(function: str, manifest: Path) -> None:
    """Raises BadInput if the manifest has no such function."""
    known = function_names(read_json(manifest).data)
    if function not in known:
        raise BadInput(f"{shown(manifest)} has no function {function}{did_you_mean(function, known)}")


def typed() -> str:
    """The command line, for a message."""
    return shlex.join(["portbench", *sys.argv[1:]])


def _ends(good: str, bad: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """The framework and the device, and the two versions."""
    ends = []
    for option, name in (("--good", good), ("--bad", bad)):
        match = _NAME.fullmatch(name)
        if match is None:
            raise BadInput(
                f"{option} {escape_control(shortened(name, 60))}: expected FRAMEWORK-VERSION[-DEVICE]",
                "Such as torch-2.9.0 or torch-2.9.0-gpu-predicted. 'portbench targets' lists frameworks and devices.",
            )
        ends.append(match)
    first, second = [(match["framework"], match["device"] or "cpu") for match in ends]
    if first != second:
        raise BadInput(
            f"--good is {'-'.join(first)} and --bad is {'-'.join(second)}",
            "Give two versions of one framework on one device.",
        )
    return first, (ends[0]["version"], ends[1]["version"])


def _said(found: Bisection, versions: int) -> list[str]:
    lines = [f"{version}: {status}" for version, status in found.statuses]
    lines.append(f"{pluralize(len(found.statuses), 'version')} of {versions} ran")
    change = found.change
    if change is None:
        return [*lines, f"{found.function} has the same status in the first and the last version"]
    lines.append(
        f"{change.function} {change.kind} in {change.version}: {change.before} in {change.since}, then {change.after}"
    )
    lines += [f"  {', '.join(change.tests)}: {change.evidence}"] if change.tests else []
    return lines + ([f"  between them, and not run: {', '.join(found.between)}"] if found.between else [])
