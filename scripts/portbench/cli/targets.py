"""``portbench targets``."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

import click
from rich.markup import escape
from rich.table import Table

from portbench.backends.docker import Docker
from portbench.cli import cli
from portbench.devices import PREDICTED_DEVICES
from portbench.doctor.diagnosis import ready_backend
from portbench.errors import PortbenchError
from portbench.targets import environments
from portbench.targets.catalog import Target, all_targets, by_image, needed_environments, title
from portbench.targets.pinning import PINNED, pinning
from portbench.util.console import results_console
from portbench.util.machine import CachedMachine
from portbench.util.repository import find_checkout
from portbench.util.text import escape_control


@cli.command("targets")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(as_json: bool) -> None:
    """List the targets and how each would run on this machine.

    A target is a framework, a version and a device, such as torch-2.9.0-cpu. If the version is the framework's default
    (marked *), torch-cpu means the same target. Of the newest version on this device (marked +), torch-latest-cpu is
    another name. A target marked ~ is pinned by version, not by hash.

    "image" says whether the container image is built, and "venv" whether
    the virtual environment exists. 'portbench run' creates both when it needs them. "no (1)" refers to the reasons
    below the table.

    A "predicted" target needs no device: outcomes on that device are predicted. Targets of a version that share an
    image are on one line: tpu-v2 … tpu7x are tpu-v2, tpu-v3, tpu-v4, tpu-v5e, tpu-v5p, tpu-v6e and tpu7x.
    """
    checkout = find_checkout()
    docker = Docker(checkout, CachedMachine())
    groups = by_image(all_targets(checkout))
    if as_json:
        rows = [row for group in groups for row in _rows(group, docker)]
        click.echo(json.dumps({"targets": [asdict(row) for row in rows]}, indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("target", "python", "image", "venv", "runs here"):
        table.add_column(heading, overflow="fold", no_wrap=heading != "runs here")
    # A column of whole sentences would have no room on a terminal of 80 columns.
    reasons: dict[str, int] = {}
    for group in groups:
        row = _row(group[0], docker)
        image = _word(row.image_built, "built", "not built")
        venv = _word(row.environment_made, "created", "not created")
        if row.blocker is None:
            here = f"with {row.backend}{', predicted' if row.predicted else ''}"
        else:
            here = f"no ({reasons.setdefault(row.blocker, len(reasons) + 1)})"
        marked = {" *": row.default, " +": row.latest, " ~": row.pins == PINNED}
        marks = "".join(mark for mark, is_so in marked.items() if is_so)
        table.add_row(f"{title(group)}{marks}", row.python, image, venv, here)
    console = results_console()
    console.print(table)
    if loose := [group[0] for group in groups if pinning(group[0]) == PINNED]:
        command = f"portbench lock {loose[0].framework}/{loose[0].version}/{loose[0].packages}"
        why = "only a vendor has some of its packages. Where the vendor can be reached,"
        console.print(f"~ {PINNED}: {why} '{command}' (and so on) creates the lock.", highlight=False)
    for reason, number in reasons.items():
        console.print(f"({number}) {escape(escape_control(reason))}", highlight=False)


@dataclass(frozen=True)
class _Row:
    target: str
    framework: str
    version: str
    device: str
    default: bool
    latest: bool
    predicted: bool
    python: str
    pins: str | None
    """How its packages are pinned: hash-locked, or not, or None if it cannot be installed."""
    image_built: bool | None
    """None: there is no engine, or no Dockerfile."""
    environment_made: bool | None
    """None: nothing pins its packages."""
    backend: str | None
    blocker: str | None
    """Why the target cannot run here."""


def _rows(group: list[Target], docker: Docker) -> list[_Row]:
    """One row for each target of a group that shares an image. The rows differ only in the device."""
    first = _row(group[0], docker)
    if first.blocker is not None:  # it may name the target
        return [first, *(_row(target, docker) for target in group[1:])]
    return [replace(first, target=target.name, device=target.device) for target in group]


def _row(target: Target, docker: Docker) -> _Row:
    checkout, has_engine = docker.checkout, docker.engine_blocker() is None
    backend, blocker = None, None
    try:
        chosen = "auto" if has_engine else "venv"
        backend = ready_backend(chosen, target, checkout, docker.machine, checkout.root / "results")[0].name
    except PortbenchError as error:
        blocker = str(error)
    return _Row(
        target=target.name,
        framework=target.framework,
        version=target.version,
        device=target.device,
        default=target.is_default,
        latest=target.is_latest,
        predicted=target.device in PREDICTED_DEVICES,
        python=target.python,
        pins=pinning(target),
        image_built=docker.is_built(target) if has_engine and target.dockerfile else None,
        environment_made=all(map(environments.environment_exists, needed_environments(target, checkout)))
        if pinning(target)
        else None,
        backend=backend,
        blocker=blocker,
    )


def _word(fact: bool | None, yes: str, no: str) -> str:
    return "-" if fact is None else yes if fact else no
