"""The commands of ``portbench``: what its help lists, and what a command loads."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

import portbench.cli
from portbench.cli import COMMANDS, cli

SENTENCES = {name: sentence for section in COMMANDS.values() for name, sentence in section.items()}
HEAVY = ("duckdb", "jsonschema", "matplotlib", "numpy", "orjson", "rich", "scipy", "tree_sitter", "uv")


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below a group, with its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def test_the_table_has_every_module_of_a_command() -> None:
    modules = {
        module.name.removesuffix("_").replace("_", "-") for module in pkgutil.iter_modules(portbench.cli.__path__)
    }
    assert set(SENTENCES) == modules - {"options", "defaults", "completion"}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_table_has_the_first_sentence_of_the_commands_help(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None and command.help is not None
    assert command.help.partition("\n\n")[0].replace("\n", " ") == SENTENCES[name]


def test_help_lists_every_command_with_its_sentence() -> None:
    shown = " ".join(CliRunner().invoke(cli, ["--help"]).output.split())
    for name, sentence in SENTENCES.items():
        assert f"{name} {sentence}" in shown


def test_every_command_and_option_has_a_help_text() -> None:
    for words, command in commands(cli):
        assert command.help, words
        for parameter in command.params:
            assert not isinstance(parameter, click.Option) or parameter.help, (words, parameter.name)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_no_heavy_library(option: str) -> None:
    script = f"""
import sys
from portbench.cli import main
try:
    main()
finally:
    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script, option], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize(
    ("command", "libraries"),
    [
        ("run", ("duckdb", "jsonschema", "matplotlib", "numpy", "scipy", "tree_sitter")),
        ("targets", ("duckdb", "jsonschema", "matplotlib", "numpy", "orjson", "scipy", "tree_sitter")),
        ("explain", ("jsonschema", "matplotlib", "scipy", "tree_sitter")),
    ],
)
def test_a_command_loads_no_library_that_it_does_not_need(command: str, libraries: tuple[str, ...]) -> None:
    script = f"import sys, portbench.cli.{command}; print([name for name in {libraries!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
