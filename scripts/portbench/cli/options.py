"""Options of the command line that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from portbench.backends.selection import BACKENDS
from portbench.formats.upgrade import RENAMED_SYNC
from portbench.run.model import SYNCHRONIZATIONS

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

FUNCTION: Option = click.option(
    "--function",
    "functions",
    multiple=True,
    metavar="GLOB",
    help="Only functions whose name matches, such as 'torch.linalg.*'. May be repeated.",
)

TEST: Option = click.option(
    "--test",
    "tests",
    multiple=True,
    metavar="GLOB",
    help="Only tests whose id matches, such as 'rows[dtype=float32]' or 'rows*'. Brackets match themselves. May be "
    "repeated.",
)

BACKEND: Option = click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default="auto",
    show_default=True,
    help="Where the runner runs: in a container (docker), in a virtual environment that is created once from the "
    "target's lock (venv), or in your own Python (current). auto takes docker if an engine responds and the image is "
    "built, else venv.",
)


class Sync(click.Choice):  # type: ignore[type-arg]  # click 8.1 has no arguments here
    """One of ``SYNCHRONIZATIONS``, or its word in older versions."""

    def convert(self, value: str, parameter: click.Parameter | None, context: click.Context | None) -> str:
        return str(super().convert(RENAMED_SYNC.get(value, value), parameter, context))


def sync(default: str | None, help: str) -> Option:
    """``--sync``, as the parameter ``sync``. ``default`` None: the option may be missing."""
    return click.option(
        "--sync",
        type=Sync(SYNCHRONIZATIONS),
        default=default,
        show_default=default is not None,
        help=help,
    )


def timeout(default_s: float, help: str) -> Option:
    """``--timeout``, as the parameter ``timeout_s``."""
    return click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(min=0, min_open=True),
        default=default_s,
        show_default=True,
        metavar="SECONDS",
        help=help,
    )
