"""``portbench lock``."""

from __future__ import annotations

from collections import Counter

import click

from portbench.cli import cli
from portbench.targets.lock import Lock, all_locks, regenerate
from portbench.util.repository import find_clone


@cli.command("lock")
@click.argument("selection", metavar="[FRAMEWORK[/VERSION[/DEVICE]]]", required=False)
@click.option(
    "--upgrade",
    is_flag=True,
    help="Take the newest versions that the .in file allows, even if the lock pins older ones.",
)
def command(selection: str | None, upgrade: bool) -> None:
    """Update the locks: the exact packages of every environment.

    A lock pins packages by hash. Each images/FRAMEWORK/VERSION/DEVICE.lock is created from DEVICE.in in the same
    folder, and scripts/host.lock (portbench's own environment) from pyproject.toml. A lock keeps the versions that it
    pins as long as they are allowed, so only the packages that you changed in a .in file change. FRAMEWORK,
    FRAMEWORK/VERSION or FRAMEWORK/VERSION/DEVICE selects the locks to update.

    Some packages are on a vendor's release page and not in the package index. If that page cannot be reached, their
    locks stay as they are, the other locks are updated, and the exit status is 6.

    \b
    Examples:
      portbench lock
      portbench lock torch/2.9.0
      portbench lock jax/0.4.8/gpu
      portbench lock --upgrade jax
    """
    outcomes: Counter[str] = Counter()

    def report(done: Lock, word: str) -> None:
        outcomes[word] += 1
        click.echo(f"{word:9}  {done.path}")

    checkout = find_clone()
    locks = all_locks(checkout, selection)
    try:
        regenerate(locks, checkout, upgrade, report)
    finally:
        failed = f", {outcomes['failed']} failed" if outcomes["failed"] else ""
        click.echo(f"{outcomes['changed']} of {len(locks)} changed{failed}")
