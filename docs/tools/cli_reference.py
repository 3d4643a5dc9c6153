"""Writes one Markdown page for each command of portbench, from the help that click prints.

    .venv/bin/python docs/tools/cli_reference.py build/docs/cli

Runs in portbench's own environment, since it imports the commands. docs/tools/hooks.py adds the pages to the manual.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from portbench.cli import cli


def write_pages(folder: Path) -> None:
    """Writes index.md and a page for each command into ``folder``, which is created."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        old.unlink()
    context = click.Context(cli, info_name="portbench", **cli.context_settings)
    rows = []
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        (folder / f"{name}.md").write_text("\n".join(page(command, name, context)) + "\n", "utf-8")
        rows.append(f"| [`{name}`]({name}.md) | {first_sentence(command)} |")
    index = ["# Commands", "", "| command | what it does |", "| --- | --- |", *rows, ""]
    (folder / "index.md").write_text("\n".join(index) + (Path(__file__).parent / "commands.md").read_text(), "utf-8")


def page(command: click.Command, name: str, parent: click.Context, level: int = 1) -> Iterator[str]:
    """The lines of a command's page; its subcommands follow as sections."""
    context = click.Context(command, info_name=name, parent=parent)
    yield from (f"{'#' * level} {context.command_path}", "", "```text")
    yield from (f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}", "```", "")
    yield from prose(command.help or "")
    records = (each.get_help_record(context) for each in command.get_params(context))
    options = [record for record in records if record and record[1]]
    if options:
        yield from ("| option | meaning |", "| --- | --- |")
        yield from (f"| `{names}` | {cell(meaning)} |" for names, meaning in options)
        yield ""
    yield from prose(command.epilog or "")
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            subcommand = command.get_command(context, each)
            assert subcommand is not None
            yield from page(subcommand, each, context, level + 1)


def prose(text: str) -> Iterator[str]:
    """The paragraphs of a help text as Markdown: lists that click prints as they are become blocks of code."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        title, _, lines = paragraph.removeprefix("\b\n").partition("\n")
        if paragraph.startswith("\b\n") and lines.startswith(" "):
            yield from (escaped(title), "", "```text", inspect.cleandoc(lines), "```", "")
        elif paragraph.strip():
            yield from (escaped(" ".join(paragraph.removeprefix("\b\n").split())), "")


def first_sentence(command: click.Command) -> str:
    """What the list of commands says of it."""
    return cell(" ".join((command.help or "").split("\n\n")[0].split()))


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return escaped(text).replace("|", "\\|")


def escaped(text: str) -> str:
    """Text in which Markdown and HTML find nothing of their own."""
    return re.sub(r"([*_<>\[\]`])", r"\\\1", text)


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
