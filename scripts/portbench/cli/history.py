"""``portbench history``."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from portbench.cli import cli, completion
from portbench.cli.bisect import check_function, run_bisection, typed
from portbench.errors import NothingRan
from portbench.history.changes import History, read_history
from portbench.history.environments import Sources
from portbench.history.output import as_data, write
from portbench.history.releases import choose, list_releases
from portbench.history.run import HistoryPlan, run_versions
from portbench.history.tables import tables
from portbench.run.plan import find_manifest
from portbench.run.progress import Reporter
from portbench.tables.as_terminal import print_tables
from portbench.util.console import results_console
from portbench.util.machine import Machine
from portbench.util.repository import find_checkout
from portbench.util.strict_json import shown


@cli.command("history")
@click.argument("framework")
@click.option(
    "--versions",
    "words",
    required=True,
    metavar="A..B|A,B,...",
    help="Releases: a range (one release of each minor version) or a list. 2.4 means the release of 2.4 that images/ "
    "pins, else the latest; 2.4.1 means that one.",
)
@click.option(
    "--device", default="cpu", show_default=True, help="A device without hardware of its own, or one that is here."
)
@click.option(
    "--manifest",
    default="study",
    show_default=True,
    metavar="NAME|FILE",
    shell_complete=completion.MANIFESTS,
    help="The functions and tests to run.",
)
@click.option("--bisect", "function", metavar="FUNCTION", help="Only find the two releases between which it changed.")
@click.option(
    "--keep", is_flag=True, help="Keep the environments that are created. Default: remove each after its run."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Also write the figure, the tables and JSON here: history.svg, .png, .md and .json.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.pass_context
def command(
    context: click.Context,
    /,
    framework: str,
    words: str,
    device: str,
    manifest: str,
    function: str | None,
    keep: bool,
    out: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run a manifest on many releases of a FRAMEWORK and show what changed, by version.

    A release that images/ does not pin is added to a copy in the user's cache, as 'portbench add-version' adds it, with
    packages of its own time. Each release runs once, in its own environment, which is removed afterwards. Results are
    kept: the same command again runs only what is new, also after Ctrl-C. A release that cannot be installed or run is
    named with the reason.

    \b
    Examples:
      portbench history torch --versions 1.12..2.15
      portbench history torch --versions 1.12..2.15 --device gpu-predicted --out history
      portbench history jax --versions 0.4.13..0.12 --bisect jax.numpy.clip
    """
    clone = find_checkout()
    sources = Sources(framework, device, clone)
    pinned = sources.pinned()
    path = find_manifest(manifest, framework, clone)
    if function is not None:
        check_function(function, path)
    exact = [word.strip() for word in words.split(",")]
    releases = {} if set(exact) <= set(pinned) else list_releases(sources.packages())
    plan = HistoryPlan(sources, releases, path, keep, machine=context.find_object(Machine) or Machine(), again=typed())
    versions = choose(words, releases, pinned)
    reporter = Reporter(Console(stderr=True), Console(stderr=True), verbosity=-quiet)
    if function is not None:
        run_bisection(plan, function, versions, reporter, as_json)
        return
    runs = list(run_versions(plan, versions, reporter))
    history = read_history(framework, device, manifest, runs)
    files = write(history, out) if out else []
    _show(history, as_json)
    for file in files:
        click.echo(f"wrote {shown(file)}", err=True)
    if not history.ran:
        raise NothingRan("no version ran", "The reasons are above.")


def _show(history: History, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(as_data(history), indent=1))
    else:
        print_tables(tables(history), results_console())
