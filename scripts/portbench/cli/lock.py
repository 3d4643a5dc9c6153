"""``portbench lock``."""

from __future__ import annotations

from collections import Counter

import click

from portbench.cli import cli
from portbench.targets.lock import Lock, all_locks, regenerate
from portbench.util.repository import find_checkout


@cli.command("lock")
@click.argument("selection", metavar="[FRAMEWORK[/VERSION[/DEVICE]]]", required=False)
@click.option("--upgrade", is_flag=True, help="Take the newest versions that fit, also where the lock pins older ones.")
def command(selection: str | None, upgrade: bool) -> None:
    """Remake the locks: the exact packages, by hash, of every environment.

    Each images/FRAMEWORK/VERSION/DEVICE.lock is made from the DEVICE.in beside it, and scripts/host.lock (portbench's
    own environment) from pyproject.toml. A package that a lock pins already is kept as long as it fits, so only what
    you changed in a .in file changes. With FRAMEWORK, FRAMEWORK/VERSION or FRAMEWORK/VERSION/DEVICE only those are
    remade.

    Some packages lie on a vendor's release page, not in the package index. Where that page is not reached, their locks
    fail, stay as they were, and the others are remade; the exit status is then 6.

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

    checkout = find_checkout()
    locks = all_locks(checkout, selection)
    try:
        regenerate(locks, checkout, upgrade, report)
    finally:
        failed = f", {outcomes['failed']} failed" if outcomes["failed"] else ""
        click.echo(f"{outcomes['changed']} of {len(locks)} changed{failed}")
