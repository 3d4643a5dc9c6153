"""Defaults of the options of ``run``: portbench.toml, or [tool.portbench] in pyproject.toml, in the nearest folder.

A key is an option without its dashes. Values are checked as on the command line, which overrides them.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from portbench.errors import BadInput, StorageFailed
from portbench.util.strict_json import quoted, shown
from portbench.util.text import did_you_mean

ONLY_ON_THE_COMMAND_LINE = ("help", "failed", "resume", "dry-run")
"""Options that are about one run, so they have no default."""


@dataclass(frozen=True)
class Defaults:
    """The content of a file. ``path`` is None, and ``values`` empty, where there is none."""

    path: Path | None
    values: Mapping[str, Any]


class WithDefaults(click.Command):
    """A command whose options have their defaults in a file."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """As in click. Raises BadInput for a file that is not valid, unless only the help is wanted."""
        if not ({"-h", "--help"} & set(args) or extra.get("resilient_parsing")):
            defaults = find_defaults(Path.cwd())
            extra["default_map"] = _by_parameter(self, defaults)
            extra["obj"] = extra.get("obj") or (parent.obj if parent else None)
            self.defaults_path = defaults.path
        return super().make_context(info_name, args, parent, **extra)


def used_defaults(context: click.Context) -> str:
    """``portbench.toml: runs, timeout`` for the defaults that a command took from a file; empty if there are none."""
    path = getattr(context.command, "defaults_path", None)
    used = [
        option_name(parameter)
        for parameter in context.command.params
        if parameter.name and context.get_parameter_source(parameter.name) is ParameterSource.DEFAULT_MAP
    ]
    return f"{shown(Path(os.path.relpath(path)))}: {', '.join(used)}" if path and used else ""


def find_defaults(start: Path) -> Defaults:
    """The defaults of the nearest folder that has any, from ``start`` upwards. portbench.toml comes before
    pyproject.toml. Raises BadInput for a file that is not TOML, StorageFailed for one that cannot be read."""
    for folder in (start, *start.parents):
        path = folder / "portbench.toml"
        if path.is_file():
            return Defaults(path, _read(path))
        path = folder / "pyproject.toml"
        tools = _read(path).get("tool") if path.is_file() else None
        if isinstance(tools, dict) and "portbench" in tools:
            values = tools["portbench"]
            if not isinstance(values, dict):
                raise BadInput(f"{shown(path)}: tool.portbench: found {values!r}, expected a table")
            return Defaults(path, values)
    return Defaults(None, {})


def option_name(parameter: click.Parameter) -> str:
    """The key of an option: its longest name without dashes."""
    return max(parameter.opts, key=len).lstrip("-")


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise StorageFailed(f"{shown(path)} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"{shown(path)}: not valid TOML: {error}", "Fix the file.") from error


def _by_parameter(command: click.Command, defaults: Defaults) -> dict[str, Any]:
    """The values by the names of the command's parameters. Raises BadInput for an unknown key or a wrong value."""
    options = {option_name(each): each for each in command.params if isinstance(each, click.Option)}
    known = {name: option for name, option in options.items() if name not in ONLY_ON_THE_COMMAND_LINE}
    found = {}
    for key, value in defaults.values.items():
        place = f"{shown(defaults.path or Path())}: {quoted(key)}"
        if key not in known:
            raise BadInput(
                f"{place}: unknown key{did_you_mean(key, known)}",
                f"Options with a default: {', '.join(sorted(known))}.",
            )
        option = known[key]
        value = _resolved(key, value, defaults.path)
        problem = _problem(command, option, value)
        if problem:
            raise BadInput(f"{place}: found {value!r}: {problem}", f"portbench {command.name} --help explains --{key}.")
        assert option.name is not None
        found[option.name] = value
    return found


def _problem(command: click.Command, option: click.Option, value: Any) -> str:
    if option.is_flag != isinstance(value, bool):
        return "expected true or false" if option.is_flag else "true and false are for flags only"
    if option.multiple != isinstance(value, list) or (
        option.multiple and not all(isinstance(each, str) for each in value)
    ):
        return "expected a list of texts" if option.multiple else "expected one value"
    try:
        option.process_value(click.Context(command), value)
    except click.BadParameter as error:
        return error.message
    return ""


def _resolved(key: str, value: Any, path: Path | None) -> Any:
    """A path is relative to the folder of its file."""
    is_path = key == "out" or (
        key == "manifest" and isinstance(value, str) and ("/" in value or value.endswith(".json"))
    )
    if is_path and isinstance(value, str) and path:
        return os.path.relpath(path.parent / value)
    return value
