"""``portbench record``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console

from portbench.cli import cli
from portbench.cli import options as click_options
from portbench.cli.verdict import parse_verdicts
from portbench.formats.documents import Document
from portbench.record.program import Recorded, default_folder, record
from portbench.record.sentences import summary
from portbench.record.terminal import print_verdicts
from portbench.record.verdict import has_any, judge
from portbench.record.write import write_verdict
from portbench.run.execute import exit_status, run_targets
from portbench.run.model import RunnerOptions, RunOptions
from portbench.run.plan import create_out, plan_run
from portbench.run.progress import Reporter
from portbench.targets.catalog import Target, find_targets, of_version
from portbench.util.console import results_console
from portbench.util.repository import Checkout, find_checkout
from portbench.util.strict_json import shown
from portbench.util.text import escape_control, pluralize


@cli.command("record", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", metavar="-- PROGRAM...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write the recording and its manifests here, in place of an earlier recording. [default: the program's name "
    "with -recording: train-recording]",
)
@click.option(
    "--targets",
    metavar="TARGET,...",
    default="",
    help="Also run what was recorded on these targets, and show the verdict: torch-tpu-v5e,torch-cpu. A name without "
    "a version means the version that the program used, if there is such a target, else the latest.",
)
@click.option(
    "--fail-on",
    "fail_on",
    metavar="VERDICT,...",
    default="",
    callback=parse_verdicts,
    help="With --targets: exit status 1 if any call has one of these verdicts: host, wrong, refused, unknown.",
)
@click.option(
    "--steps",
    type=click.IntRange(1, 10**9),
    metavar="N",
    help="Record until an optimizer has made N steps; the program goes on at full speed.",
)
@click.option(
    "--values",
    is_flag=True,
    help="Keep arrays of up to 64 elements as they are. Without it no value of the program is kept, only facts such as "
    "shapes and ranges.",
)
@click_options.BACKEND
def command(
    command: tuple[str, ...],
    out: Path | None,
    targets: str,
    fail_on: Sequence[str],
    steps: int | None,
    values: bool,
    backend: str,
) -> None:
    """Run a program and record which functions of its framework it calls, as a manifest.

    The program runs in its own environment, with its own Python (3.8 or newer). Each distinct call becomes a test that
    makes inputs of the same shapes, dtypes and ranges. Run them on any target, then ask for the verdict; with --targets
    this command does both, and writes the verdict to FOLDER/verdict as a page, Markdown and JSON.

    The program's output is its own. What portbench says goes to stderr, the verdict to stdout.

    Exit status: that of the program if it is not 0, and nothing is run on the targets then; else that of 'portbench
    run', or 1 for --fail-on. 4 if the program called no framework.

    \b
    Examples:
      portbench record -o mymodel -- python train.py --epochs 1
      portbench record --targets torch-tpu-v5e,torch-latest-cpu -- python train.py
    """
    checkout = find_checkout()
    wanted = find_targets([name for name in targets.split(",") if name], checkout)
    if fail_on and not wanted:
        raise click.UsageError("--fail-on needs --targets. Or later: portbench verdict FOLDER --fail-on VERDICT")
    folder = out or default_folder(command)
    found = record(command, folder, checkout, steps, values)
    for manifest in found.manifests:
        _say(manifest)
    if found.status:
        click.echo(f"the program ended with exit status {found.status}: this is what it called until then", err=True)
        raise SystemExit(found.status)
    if not wanted:
        command_to_run = f"portbench run TARGET --manifest {found.manifests[0].path} --runs 1 --protocol cold"
        click.echo(f"next: {escape_control(command_to_run)} --out {shown(folder / 'results')}", err=True)
        return
    raise SystemExit(_run_and_judge(found, folder, wanted, targets, checkout, backend, fail_on))


def _say(manifest: Document) -> None:
    recorded = manifest.data["recorded"]
    left_out = sum(entry["calls"] for entry in recorded["left_out"])
    click.echo(
        f"{shown(manifest.path)}: {summary(manifest)}"
        + (f"; no test repeats {pluralize(left_out, 'call')}, see left_out" if left_out else ""),
        err=True,
    )
    for failure in recorded["failures"][:3]:
        said = f"  {pluralize(failure['calls'], 'call')} not recorded: {failure['message']}"
        click.echo(escape_control(said), err=True)


def _run_and_judge(
    found: Recorded,
    folder: Path,
    wanted: Sequence[Target],
    named: str,
    checkout: Checkout,
    backend: str,
    fail_on: Sequence[str],
) -> int:
    """Runs the manifests on their targets and shows the verdict. Returns the exit status."""
    status = 0
    ran = False
    manifests: Mapping[str, Document] = {manifest.data["framework"]: manifest for manifest in found.manifests}
    for framework in dict.fromkeys(target.framework for target in wanted):
        given = [target for target in wanted if target.framework == framework]
        if framework not in manifests:
            named = ", ".join(target.name for target in given)
            click.echo(f"{named}: nothing to run, the program called no function of {framework}", err=True)
            continue
        version = str(manifests[framework].data.get("written_for", ""))
        names = tuple(target.name for target in of_version(given, version, checkout))
        runner = RunnerOptions(runs=1, protocol="cold")
        asked = RunOptions(names, str(manifests[framework].path), backend, str(folder / "results"), runner)
        plan = plan_run(asked, checkout)
        create_out(plan)
        results = run_targets(plan, Reporter(Console(stderr=True), Console(stderr=True), verbosity=0))
        ran = ran or any(result.run_file for result in results)
        status = status or exit_status(results)
    if ran:
        verdicts = judge(folder, [folder / "results"], checkout)
        print_verdicts(verdicts, results_console())
        click.echo(f"wrote {shown(write_verdict(verdicts, folder / 'verdict'))}, verdict.md, verdict.json", err=True)
        status = status or int(has_any(verdicts, fail_on))
    return status
