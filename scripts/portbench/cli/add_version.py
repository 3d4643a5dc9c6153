"""``portbench add-version``."""

from __future__ import annotations

import click

from portbench.cli import cli
from portbench.errors import Interrupted
from portbench.targets.add_version import Added, NewVersion, add_version, by_reason
from portbench.util.processes import stoppable
from portbench.util.repository import find_clone
from portbench.util.strict_json import shown
from portbench.util.text import escape_control


@cli.command("add-version")
@click.argument("framework")
@click.argument("version")
@click.option(
    "--from",
    "source",
    metavar="VERSION",
    help="Copy this version's folder. Default: for each device, the nearest version that has it.",
)
@click.option("--python", metavar="X.Y", help="The Python that the version needs. Default: that of the copied version.")
def command(framework: str, version: str, source: str | None, python: str | None) -> None:
    """Add a VERSION of a FRAMEWORK to images/, with Dockerfiles and locks.

    The new folder is a copy of the nearest version's. The framework's packages change to VERSION, all other choices of
    packages stay, and all packages are locked again. A device is left out and named if that fails, for example if
    torch_xla has no such version. If it fails for every device, images/ does not change.

    \b
    Examples:
      portbench add-version torch 2.8.0
      portbench add-version jax 0.9.2 --from 0.10.2 --python 3.11
    """
    try:
        with stoppable():
            added = add_version(NewVersion(framework, version, source, python), find_clone(), click.echo)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; nothing was added") from None
    _print(framework, version, added)


def _print(framework: str, version: str, added: Added) -> None:
    click.echo(f"wrote {shown(added.folder)}, a copy of {' and '.join(dict.fromkeys(added.sources.values()))}:")
    several = len(set(added.sources.values())) > 1
    for devices, python in added.pythons.items():
        click.echo(f"  {devices}: Python {python}{f', from {added.sources[devices]}' if several else ''}")
    for reason, skipped in by_reason(added.skipped).items():
        click.echo(f"  left out {', '.join(skipped)}: {escape_control(reason)}")
    if added.kernels:
        click.echo(
            f"\ngpu-predicted needs the list of this version's GPU kernels:\n  portbench kernels {added.kernels}"
        )
    click.echo("\nTry it:")
    for device in (devices.split()[0] for devices in added.pythons):
        click.echo(f"  portbench run {framework}-{version}-{device}")
        click.echo(f"  {framework.upper()}_VERSION={version} docker compose run --rm {framework}-{device}")
