"""The command ``portbench``: one module per command; each parses its words and calls one function.

A module here has the name of its command, with _ for - (``import_`` for ``import``), and adds the command to ``cli``.
It is imported when somebody asks for that command: ``portbench --help`` takes its sentences from the table below and
imports none of them.
"""

from __future__ import annotations

import errno
import importlib
import io
import keyword
import os
import sys

import click

from portbench import __version__
from portbench.errors import BadInput, Interrupted, PortbenchError, StorageFailed
from portbench.util.text import did_you_mean, escape_control, shortened

COMMANDS = {
    "Run tests": {
        "targets": "List the targets and how each would run on this machine.",
        "doctor": "Check whether targets can run on this machine.",
        "init": "Write a manifest with one test of FUNCTION, ready to run.",
        "run": "Run a manifest on each TARGET and write one run file per target.",
        "launch": "Write what Slurm, Kubernetes, SkyPilot or Ray needs to run tests on many machines.",
        "check": "Compare the failures in run files with the known failures.",
        "mutation-test": "Mutate every function of MANIFEST and list the tests that do not notice.",
        "validate": "Check manifests, run files, studies and other files against their formats.",
    },
    "Examine your own program": {
        "record": "Run a program and record which functions of its framework it calls, as a manifest.",
        "verdict": "Show what of a recorded program would run on each target.",
        "scan": "Show what a study knows of the functions that source code calls.",
    },
    "Study the results": {
        "merge": "Merge run files from any number of machines into one study.",
        "report": "Show the results of a study: what runs where, how fast, and why the rest fails.",
        "publish": "Write a static site of a study: a page with a stable address for each function.",
        "scaling": "Show time against size: from which size on one target is faster than another.",
        "explain": "Show everything that STUDY records about one FUNCTION.",
        "compare": "Show what changed from A to B: outcomes, times, environments.",
        "history": "Run a manifest on many releases of a FRAMEWORK and show what changed, by version.",
        "bisect": "Find the release of a framework that broke a function, or fixed it.",
        "classify": "Derive the categories of a study's failures again.",
        "import": "Convert test reports of other software to a run file.",
        "import-study-2023": "Convert the raw data of the paper of 2023 to run files.",
    },
    "Choose functions and collect tests": {
        "enumerate": "List every public function and class of a framework.",
        "count": "Count how often functions are called in a corpus of Python source.",
        "collect": "Collect tests for a whole API from the packages of TARGET's environment.",
        "coverage": "Show how many public functions of a framework have a test, and which have none.",
        "sample": "Draw a stratified sample of functions, as a manifest without tests.",
    },
    "Maintain environments": {
        "images": "Build, list, check and remove the container images of targets.",
        "lock": "Update the locks: the exact packages of every environment. Then create the Dockerfiles.",
        "add-version": "Add a VERSION of a FRAMEWORK to images/, with Dockerfiles and locks.",
        "kernels": "List the GPU kernels in the CUDA wheel of TARGET.",
    },
}
"""Every command with the first sentence of its help, by section of ``portbench --help``."""


class _Commands(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in self.list_commands(context):
            module = name.replace("-", "_")
            importlib.import_module(f"{__name__}.{module}{'_' * keyword.iskeyword(module)}")
        return super().get_command(context, name)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(context, args)
        except click.UsageError as error:
            meant = did_you_mean(args[0], self.list_commands(context))
            raise click.UsageError(f"{error.message.rstrip('.')}{meant or '.'}", context) from None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl(list(section.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="portbench")
def cli() -> None:
    """Measure how portable machine-learning frameworks are across hardware."""


def _run() -> None:
    """Runs the command. A path that no module below checks is one message, too: a name of 256 characters, a path of
    5,000, one that is not UTF-8."""
    try:
        cli(prog_name="portbench")
    except BrokenPipeError:
        raise
    except RuntimeError as error:
        # Ctrl-C in a query: DuckDB has no exception of its own for it.
        if str(error) != "Query interrupted":
            raise
        raise Interrupted("interrupted") from error
    except UnicodeEncodeError as error:
        found = escape_control(shortened(ascii(error.object), 200))
        raise BadInput(f"{found} is not UTF-8", "Give another path.") from error
    except OSError as error:
        name = escape_control(shortened(os.fsdecode(error.filename or ""), 200))
        kind = BadInput if error.errno == errno.ENAMETOOLONG else StorageFailed
        raise kind(f"{name}: {error.strerror or error}", "Give another path, or check its permissions.") from error


def main() -> None:
    """Entry point of the console command: runs it and shows a PortbenchError as one message.

    Exit status: 0, the error's (see portbench.errors), or 2 for wrong usage.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal's encoding lacks becomes a question mark.
        sys.stdout.reconfigure(errors="replace")
    try:
        _run()
    except PortbenchError as error:
        from rich.console import Console

        from portbench.util.console import show_error

        show_error(error, Console(stderr=True))
        sys.exit(error.exit_status)
