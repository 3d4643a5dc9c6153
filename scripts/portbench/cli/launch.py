"""``portbench launch``."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from portbench.cli import cli, completion
from portbench.cli.run import command as run_command
from portbench.errors import BadInput
from portbench.launch.engines import Engine, Kubernetes, Ray, SkyPilot, Slurm
from portbench.launch.estimate import Estimate, seconds_per_test
from portbench.launch.hand_over import hand_over, pairs, write
from portbench.launch.model import Launch, collect, shards_of
from portbench.run.listing import list_tests
from portbench.run.model import MOST_SHARDS, RunnerOptions, RunOptions
from portbench.run.plan import plan_run
from portbench.util import remote
from portbench.util.machine import Machine
from portbench.util.repository import find_checkout

_MOUNTED = "/portbench-results"
_OF_RUN = ("manifest", "backend", *RunnerOptions.__dataclass_fields__)
_NOT_OF_RUN = ("shard", "resume")


@dataclass(frozen=True)
class _Common:
    """The options that all engines have."""

    targets: tuple[str, ...]
    shards: int
    results: str
    out: Path
    machine: str
    submit: bool
    seconds: float | None
    measured: Path | None
    price: float | None


_OPTIONS = (
    click.option(
        "--shards",
        required=True,
        type=click.IntRange(1, MOST_SHARDS),
        metavar="N",
        help="In how many parts the tests of each target run. A part is one task of the engine.",
    ),
    click.option(
        "--results",
        required=True,
        metavar="DIR|URL",
        help="Where the run files go: a folder that all machines share, or a folder of an object store, such as "
        "s3://bucket/results.",
    ),
    click.option(
        "-o",
        "--out",
        required=True,
        type=click.Path(file_okay=False, path_type=Path),
        metavar="FOLDER",
        help="Write a file for each target here.",
    ),
    click.option(
        "--machine",
        metavar="NAME",
        help="The name of the machines in run files. They must be alike: results of differently named machines are "
        "never pooled, and a merge refuses one name with two kernels or CPUs. [default: the engine's name]",
    ),
    click.option("--submit", is_flag=True, help="Also submit the files, by the engine's own command."),
    click.option(
        "--seconds-per-test",
        "seconds",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="For the estimate: how long a test takes in one run.",
    ),
    click.option(
        "--measured",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="For the estimate: a run file, whose mean time of a test is taken.",
    ),
    click.option(
        "--price-per-hour",
        "price",
        type=click.FloatRange(0),
        metavar="PRICE",
        help="For the estimate: the price of one machine.",
    ),
)


@cli.group("launch")
def command() -> None:
    """Write what Slurm, Kubernetes, SkyPilot or Ray needs to run tests on many machines.

    The tests of each target run in shards, as tasks of the engine. It places, queues and repeats them; portbench
    writes the files and, with --submit, hands them over by the engine's own command. The command that merges the run
    files is printed.
    """


def _engine(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """A command of an engine: its own options, the common ones, and those of run."""

    def made(function: Callable[..., None]) -> click.Command:
        for option in reversed(_OPTIONS):
            function = option(function)
        function = click.argument(
            "targets", metavar="TARGET...", nargs=-1, required=True, shell_complete=completion.TARGETS
        )(function)
        built = click.pass_context(function)
        subcommand = command.command(name)(built)
        subcommand.params += [
            each for each in run_command.params if each.name in _OF_RUN and each.name not in _NOT_OF_RUN
        ]
        return subcommand

    return made


@_engine("slurm")
@click.option(
    "--sbatch",
    "options",
    multiple=True,
    metavar="OPTION",
    help="A further option of sbatch, such as --sbatch=--partition=gpu. Repeatable.",
)
def slurm(context: click.Context, /, options: tuple[str, ...], **given: Any) -> None:
    """Write a batch script with a job array for each TARGET.

    Each node must see this folder, the results and portbench's Python under the same paths. Slurm repeats a task whose
    node fails; the script asks it to requeue a task that a signal ended, at most three times. A repeated task continues
    where its journal ends.

    \b
    Example:
      portbench launch slurm torch-cpu --shards 8 --results /shared/results -o jobs --sbatch=--cpus-per-task=4
    """
    for option in options:
        if not option.startswith("--"):
            raise click.BadParameter(f"{option!r} does not begin with --", param_hint="--sbatch")
    _launch(context, "slurm", lambda common: Slurm(options), given)


@_engine("kubernetes")
@click.option("--image", required=True, metavar="IMAGE", help="An image in which 'portbench' is on the PATH.")
@click.option("--claim", metavar="NAME", help="The PersistentVolumeClaim that is mounted at the folder of --results.")
@click.option("--secret", metavar="NAME", help="A Secret whose entries become variables, such as AWS_ACCESS_KEY_ID.")
@click.option("--queue", metavar="NAME", help="The LocalQueue of Kueue that admits the jobs.")
@click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="NAME=QUANTITY",
    help="Requested and limit, such as nvidia.com/gpu=1. Repeatable.",
)
@click.option(
    "--node-selector", "selectors", multiple=True, metavar="LABEL=VALUE", help="Only nodes with this label. Repeatable."
)
def kubernetes(
    context: click.Context,
    /,
    image: str,
    claim: str | None,
    secret: str | None,
    queue: str | None,
    resources: tuple[str, ...],
    selectors: tuple[str, ...],
    **given: Any,
) -> None:
    """Write an Indexed Job for each TARGET.

    An index is a shard. Kubernetes repeats an index whose pod was killed at most three times, and does not count pods
    of nodes that it took away. With a claim, a repeated shard continues where its journal ends.

    \b
    Example:
      portbench launch kubernetes jax-tpu --shards 8 --results /results --claim results -o jobs \\
        --image example.org/portbench --resource google.com/tpu=4
    """
    requested, labels = pairs(resources, "resource"), pairs(selectors, "node-selector")
    _launch(context, "kubernetes", lambda common: Kubernetes(image, claim, secret, queue, requested, labels), given)


@_engine("skypilot")
@click.option("--accelerators", metavar="NAME:COUNT", help="By SkyPilot's names, such as H100:1 or tpu-v5e-8:1.")
@click.option("--infra", metavar="WHERE", help="A cloud, region or Kubernetes context, such as gcp/us-central1.")
@click.option("--cpus", metavar="N", help="CPUs of a machine, such as 8 or 8+.")
@click.option("--spot", is_flag=True, help="Take spot machines. A shard that lost its machine continues on another.")
@click.option(
    "--setup",
    default="make .venv/ready",
    show_default=True,
    metavar="COMMAND",
    help="Prepares a new machine, in a copy of the clone.",
)
@click.option(
    "--command",
    "program",
    default=".venv/bin/portbench",
    show_default=True,
    metavar="COMMAND",
    help="How portbench is called there.",
)
def skypilot(
    context: click.Context,
    /,
    accelerators: str | None,
    infra: str | None,
    cpus: str | None,
    spot: bool,
    setup: str,
    program: str,
    **given: Any,
) -> None:
    """Write a task for each TARGET, of which each shard is a managed job.

    --results is the URL of a bucket, which is mounted. SkyPilot repeats a job that lost its spot machine, and one that
    failed at most three times; it continues where its journal ends.

    \b
    Example:
      portbench launch skypilot jax-tpu --shards 8 --results s3://bucket/results -o jobs --accelerators tpu-v5e-8 --spot
    """
    root = str(find_checkout().root)
    _launch(
        context,
        "skypilot",
        lambda common: SkyPilot(common.results, root, setup, program, accelerators, infra, cpus, spot),
        given,
    )


@_engine("ray")
@click.option("--address", default="auto", show_default=True, metavar="ADDRESS", help="The address of the cluster.")
@click.option("--cpus", type=click.FloatRange(0), default=1, show_default=True, help="CPUs of a shard.")
@click.option("--gpus", type=click.FloatRange(0), default=0, show_default=True, help="GPUs of a shard.")
@click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="NAME=NUMBER",
    help="A resource of a shard, such as TPU=4. Repeatable.",
)
def ray(
    context: click.Context, /, address: str, cpus: float, gpus: float, resources: tuple[str, ...], **given: Any
) -> None:
    """Write a driver of Ray tasks for each TARGET.

    The nodes must see this folder and the results under the same paths, and have portbench in Ray's Python. Ray repeats
    a shard whose worker, node or run was killed at most three times; it continues where its journal ends.

    \b
    Example:
      portbench launch ray torch-cpu --shards 8 --results /shared/results -o jobs --cpus 4 --submit
    """
    try:
        numbers = {name: float(value) for name, value in pairs(resources, "resource").items()}
    except ValueError:
        raise BadInput(f"--resource {' '.join(resources)}: expected NAME=NUMBER, such as TPU=4") from None
    _launch(context, "ray", lambda common: Ray(address, cpus, gpus, numbers), given)


def _launch(context: click.Context, name: str, engine: Callable[[_Common], Engine], given: dict[str, Any]) -> None:
    options = {key: given.pop(key) for key in list(given) if key in _OF_RUN}
    common = _Common(**{**given, "machine": given["machine"] or name})
    if common.seconds is not None and common.measured is not None:
        raise click.UsageError("--seconds-per-test and --measured exclude each other")
    asked = _asked(common, options)
    plan = plan_run(asked, find_checkout(), context.find_object(Machine))
    seconds = seconds_per_test(common.measured) if common.measured else common.seconds
    for selected in list_tests(plan):
        shards = shards_of(selected, common.shards)
        click.echo(f"{Estimate(selected.target, shards, selected.runs, seconds, common.price)}")
    written = write(_planned(common, asked, name), engine(common), common.out)
    for each in written:
        click.echo(f"wrote {os.path.relpath(each.file)}")
    if common.submit:
        hand_over(written)
    else:
        click.echo("\nSubmit:")
        for each in written:
            for words in each.commands:
                click.echo(f"  {shlex.join([*words[:-1], os.path.relpath(words[-1])])}")
    click.echo(f"\nWhen all shards have ended:\n  {collect(_results(common, name))}")


def _asked(common: _Common, options: dict[str, Any]) -> RunOptions:
    manifest, backend = options.pop("manifest"), options.pop("backend")
    if manifest.endswith(".json") or "/" in manifest:
        manifest = str(Path(manifest).absolute())
    return RunOptions(common.targets, manifest, backend, runner=RunnerOptions(**options))


def _results(common: _Common, engine: str) -> str:
    is_here = engine in ("slurm", "ray") and not remote.is_url(common.results)
    if remote.is_url(common.results) and not remote.is_store(common.results):
        raise BadInput(f"--results {common.results} is no folder of an object store", "Such as s3://bucket/results.")
    return str(Path(common.results).absolute()) if is_here else common.results


def _planned(common: _Common, asked: RunOptions, engine: str) -> Launch:
    results = _results(common, engine)
    is_here = engine in ("slurm", "ray")
    manifest, root = asked.manifest, find_checkout().root
    if engine == "skypilot" and manifest.startswith("/"):
        if not Path(manifest).is_relative_to(root):
            raise BadInput(f"{manifest} is not in {root}, which SkyPilot copies", "Copy the manifest into that folder.")
        manifest = str(Path(manifest).relative_to(root))
        manifest = manifest if "/" in manifest else f"./{manifest}"
    words = ["--manifest", manifest, "--backend", asked.backend, *asked.runner.runner_argv()]
    return Launch(
        targets=tuple(dict.fromkeys(common.targets)),
        shards=common.shards,
        results=_MOUNTED if engine == "skypilot" else results,
        scratch=str(common.out.absolute() / "results") if is_here else _MOUNTED,
        machine=common.machine,
        options=tuple(words),
    )
