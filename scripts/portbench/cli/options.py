"""Options of the command line that several commands have."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from portbench.backends.selection import BACKENDS
from portbench.cli import completion
from portbench.formats.upgrade import RENAMED_SYNC
from portbench.run.model import SYNCHRONIZATIONS

_NUMBER = r"(\d+(?:\.\d+)?)"
_DURATION = re.compile(rf"(?:{_NUMBER}h)?(?:{_NUMBER}m)?(?:{_NUMBER}s?)?")
# The clock of the waits in a runner ends after 2^31 milliseconds.
_LONGEST_S = 24 * 86_400

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

FUNCTION: Option = click.option(
    "--function",
    "functions",
    multiple=True,
    metavar="GLOB",
    shell_complete=completion.FUNCTIONS,
    help="Only functions whose name matches, such as 'torch.linalg.*'. May be repeated.",
)

EXCLUDE: Option = click.option(
    "--exclude",
    "excluded",
    multiple=True,
    metavar="GLOB",
    shell_complete=completion.FUNCTIONS,
    help="No functions whose name matches, whatever --function says. May be repeated.",
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


class Duration(click.ParamType):  # type: ignore[type-arg]  # click 8.1 has no arguments here
    """A time of at least a moment and at most 24 days: 900, 2.5, 90s, 10m, 1h30m. Its value is in seconds."""

    name = "time"

    def convert(self, value: str | float, parameter: click.Parameter | None, context: click.Context | None) -> float:
        found = _DURATION.fullmatch(str(value))
        seconds = (
            sum(float(part or 0) * unit for part, unit in zip(found.groups(), (3600, 60, 1), strict=True))
            if found
            else 0
        )
        if not 0 < seconds <= _LONGEST_S:
            self.fail(
                f"{value!r} is not a time such as 900, 2.5, 90s, 10m or 1h30m, at most 24 days.", parameter, context
            )
        return seconds


def timeout(default_s: float, help: str) -> Option:
    """``--timeout``, as the parameter ``timeout_s``."""
    return click.option(
        "--timeout",
        "timeout_s",
        type=Duration(),
        default=default_s,
        show_default=True,
        metavar="TIME",
        help=f"{help} In seconds, or as 10m or 1h30m.",
    )
