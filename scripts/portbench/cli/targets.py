"""``portbench targets``."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from portbench import environments
from portbench.backends.docker import Docker
from portbench.checkout import Checkout, find_checkout
from portbench.cli import cli
from portbench.doctor.diagnosis import ready_backend
from portbench.errors import PortbenchError
from portbench.machine import Machine
from portbench.printable import printable
from portbench.targets import Target, all_targets


@cli.command("targets")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(as_json: bool) -> None:
    """List the targets that images/ holds, and how 'portbench run' would run each here.

    A target is a framework, a version and a device: torch-2.9.0-cpu. Where the version is the framework's default (*),
    torch-cpu means it too. "image" says whether its container image is built, "venv" whether its virtual
    environment has been made; neither is needed beforehand.
    """
    rows = _rows(find_checkout())
    if as_json:
        click.echo(json.dumps({"targets": [asdict(row) for row in rows]}, indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("target", "default", "python", "image", "venv", "runs here"):
        table.add_column(heading, overflow="fold", no_wrap=heading != "runs here")
    for row in rows:
        image = _word(row.image_built, "built", "not built")
        venv = _word(row.environment_made, "made", "not made")
        here = f"with {row.backend}" if row.backend else f"no: {row.obstacle}"
        table.add_row(row.target, "*" if row.default else "", row.python, image, venv, escape(printable(here)))
    Console().print(table)


@dataclass(frozen=True)
class _Row:
    target: str
    framework: str
    version: str
    device: str
    default: bool
    python: str
    image_built: bool | None
    """None: no engine to ask, or no Dockerfile."""
    environment_made: bool | None
    """None: no lock."""
    backend: str | None
    obstacle: str | None
    """Why it cannot run here."""


def _rows(checkout: Checkout) -> list[_Row]:
    docker = Docker(checkout)
    engine = docker.engine_obstacle() is None
    return [_row(target, checkout, docker if engine else None) for target in all_targets(checkout)]


def _row(target: Target, checkout: Checkout, docker: Docker | None) -> _Row:
    backend, obstacle = None, None
    try:
        chosen = "auto" if docker else "venv"
        backend = ready_backend(chosen, target, checkout, Machine(), checkout.root / "results")[0].name
    except PortbenchError as error:
        obstacle = str(error)
    return _Row(
        target=target.name,
        framework=target.framework,
        version=target.version,
        device=target.device,
        default=target.is_default,
        python=target.python,
        image_built=docker.image_digest(target) is not None if docker and target.dockerfile else None,
        environment_made=environments.is_made(target) if target.lock else None,
        backend=backend,
        obstacle=obstacle,
    )


def _word(fact: bool | None, yes: str, no: str) -> str:
    return "-" if fact is None else yes if fact else no
