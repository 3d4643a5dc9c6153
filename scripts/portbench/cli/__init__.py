"""The command ``portbench``: one module a command; each turns words into values and calls one function."""

from __future__ import annotations

import sys

import click
from rich.console import Console

from portbench import __version__
from portbench.errors import PortbenchError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="portbench")
def cli() -> None:
    """Measure how portable machine-learning frameworks are across hardware."""


def main() -> None:
    """Entry point of the console command: runs it and shows a user's mistake as one message.

    Exit status: 0, or that of the error (see portbench.errors), or 2 for wrong usage.
    """
    try:
        cli(prog_name="portbench")
    except PortbenchError as error:
        console = Console(stderr=True, highlight=False)
        console.print(f"[bold red]error:[/] {_escaped(str(error))}", soft_wrap=True)
        if error.remedy:
            console.print(_escaped(error.remedy), soft_wrap=True)
        sys.exit(error.exit_status)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
