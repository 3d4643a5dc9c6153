"""``portbench lock``."""

from __future__ import annotations

import click

from portbench.checkout import find_checkout
from portbench.cli import cli
from portbench.lock import Lock, all_locks, remake


@cli.command("lock")
@click.argument("selection", metavar="[FRAMEWORK[/VERSION]]", required=False)
@click.option("--upgrade", is_flag=True, help="Take the newest versions that fit, also where the lock pins older ones.")
def command(selection: str | None, upgrade: bool) -> None:
    """Remake the locks: the exact packages, by hash, of every environment.

    Each images/FRAMEWORK/VERSION/DEVICE.lock is made from the DEVICE.in beside it, and scripts/host.lock (portbench's
    own environment) from pyproject.toml. A package that a lock pins already is kept as long as it fits, so only what
    you changed in a .in file changes. With FRAMEWORK or FRAMEWORK/VERSION only those are remade.

    \b
    Examples:
      portbench lock
      portbench lock torch/2.9.0
      portbench lock --upgrade jax
    """
    changed: list[Lock] = []

    def report(done: Lock, differs: bool) -> None:
        click.echo(f"{'changed  ' if differs else 'unchanged'}  {done.path}")
        changed.extend([done] if differs else [])

    checkout = find_checkout()
    locks = all_locks(checkout, selection)
    remake(locks, checkout, upgrade, report)
    click.echo(f"{len(changed)} of {len(locks)} changed")
