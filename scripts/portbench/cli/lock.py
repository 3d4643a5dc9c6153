"""``portbench lock``."""

from __future__ import annotations

from collections import Counter

import click

from portbench.cli import cli
from portbench.targets.dockerfiles import create_dockerfiles, lock_bases
from portbench.targets.lock import Lock, all_locks, regenerate
from portbench.util.machine import Machine
from portbench.util.repository import Checkout, find_clone


@cli.command("lock")
@click.argument("selection", metavar="[FRAMEWORK[/VERSION[/DEVICE]]]", required=False)
@click.option(
    "--upgrade",
    is_flag=True,
    help="Take the newest versions that the .in file allows, even if the lock pins older ones.",
)
@click.option(
    "--bases",
    is_flag=True,
    help="Instead of locks, pin the base images of the Dockerfiles by the digests that their registry gives.",
)
def command(selection: str | None, upgrade: bool, bases: bool) -> None:
    """Update the locks: the exact packages of every environment. Then create the Dockerfiles.

    A lock pins packages by hash. Each images/FRAMEWORK/VERSION/DEVICE.lock is created from DEVICE.in in the same
    folder, and scripts/host.lock (portbench's own environment) from pyproject.toml. A lock keeps the versions that it
    pins as long as they are allowed, so only the packages that you changed in a .in file change. FRAMEWORK,
    FRAMEWORK/VERSION or FRAMEWORK/VERSION/DEVICE selects the locks to update.

    Some packages are on a vendor's release page and not in the package index. If that page cannot be reached, their
    locks stay as they are, the other locks are updated, and the exit status is 6.

    The Dockerfiles are created from images/Dockerfile.jinja, images/bases.lock and the .setup files. --bases writes
    images/bases.lock; it needs Docker's buildx and a machine that reaches the registry.

    \b
    Examples:
      portbench lock
      portbench lock torch/2.9.0
      portbench lock jax/0.4.8/gpu
      portbench lock --upgrade jax
      portbench lock --bases
    """
    outcomes: Counter[str] = Counter()

    def report(done: Lock, word: str) -> None:
        outcomes[word] += 1
        click.echo(f"{word:9}  {done.path}")

    checkout = find_clone()
    if bases:
        if selection or upgrade:
            raise click.UsageError(
                "--bases takes no selection and no --upgrade: it pins the base images of all targets"
            )
        for line in lock_bases(checkout, Machine()):
            click.echo(f"pinned     {line}")
        _create_dockerfiles(checkout)
        return
    locks = all_locks(checkout, selection)
    try:
        regenerate(locks, checkout, upgrade, report)
    finally:
        failed = f", {outcomes['failed']} failed" if outcomes["failed"] else ""
        click.echo(f"{outcomes['changed']} of {len(locks)} changed{failed}")
        _create_dockerfiles(checkout)


def _create_dockerfiles(checkout: Checkout) -> None:
    for path in create_dockerfiles(checkout):
        click.echo(f"changed    {path.relative_to(checkout.root)}")
