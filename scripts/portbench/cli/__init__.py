"""The command ``portbench``: one module a command; each turns words into values and calls one function.

A module here is a command of the same name, with - for _: it is imported when that command is asked for, and adds it to
``cli``.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import click
from rich.console import Console

from portbench import __version__
from portbench.errors import PortbenchError
from portbench.util.console import show_error


class _Commands(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        names = {module.name for module in pkgutil.iter_modules(__path__)} - {"options"}
        return sorted(name.replace("_", "-") for name in names)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in self.list_commands(context):
            importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
        return super().get_command(context, name)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
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
        show_error(error, Console(stderr=True))
        sys.exit(error.exit_status)
