"""Options of the command line that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from portbench.backends.selection import BACKENDS

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
    help="Only tests whose id matches, such as 'rows[dtype=float32]' or 'rows*'; brackets mean themselves. May be "
    "repeated.",
)

BACKEND: Option = click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default="auto",
    show_default=True,
    help="Where it runs: in a container (docker), in a virtual environment made from the target's lock once and kept "
    "(venv), in your own Python (current). auto: docker where an engine answers and the image is built, else venv.",
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
