"""The functions whose calls are counted, read from a list of ``enumerate``, a manifest, plain JSON or CSV.

{"target": {"framework": "torch", "version": "2.9.0", ...}, "functions": [{"name": ..., "aliases": [...]}, ...]}
{"framework": "torch", "functions": [{"function": "torch.cat"}, ...]}
["torch.cat", {"name": "torch.nn.functional.relu", "aliases": ["torch.relu"]}]
name,aliases
torch.nn.functional.relu,torch.relu torch.nn.relu
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from portbench.errors import BadInput, StorageFailed
from portbench.util.strict_json import read_json, shown
from portbench.util.text import escape_control, shortened

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
_EXPECTED = (
    "Give a list that 'portbench enumerate' wrote, a manifest, a JSON list of names, or CSV with a column 'name'."
)
# The first part of public names, where it differs from the name of the imported module.
_MODULES = {"tf": "tensorflow"}


@dataclass(frozen=True)
class Function:
    """A function by its canonical name. Calls of its ``aliases`` count for it."""

    name: str
    aliases: tuple[str, ...] = ()

    @property
    def word(self) -> bytes:
        """The last part of the name: what the paper of 2023 counted."""
        return self.name.rpartition(".")[2].encode()


@dataclass(frozen=True)
class FunctionList:
    """The functions of one framework, sorted by their unique names."""

    framework: str
    version: str | None
    functions: tuple[Function, ...]

    @cached_property
    def root(self) -> bytes:
        """The module that a file must import: b"torch"."""
        return _module(self.functions[0].name).partition(".")[0].encode()

    @cached_property
    def paths(self) -> dict[bytes, int]:
        """The position in ``functions`` of each dotted path that begins with the imported module.

        A canonical name wins over an alias, a first alias over a later one.
        """
        found = {_module(function.name).encode(): place for place, function in enumerate(self.functions)}
        for place, function in enumerate(self.functions):
            for alias in function.aliases:
                found.setdefault(_module(alias).encode(), place)
        return found

    @cached_property
    def modules(self) -> dict[bytes, frozenset[bytes]]:
        """The names in each module or class: what ``from module import *`` may bind."""
        names: dict[bytes, set[bytes]] = {}
        for path in self.paths:
            while b"." in path:
                path, _, name = path.rpartition(b".")
                names.setdefault(path, set()).add(name)
        return {path: frozenset(name for name in found if name[:1] != b"_") for path, found in names.items()}

    @cached_property
    def words(self) -> frozenset[bytes]:
        """The last parts of all canonical names."""
        return frozenset(function.word for function in self.functions)

    @cached_property
    def sha256(self) -> str:
        """The digest of all names and aliases: two lists that count the same have the same digest."""
        text = json.dumps([[function.name, *function.aliases] for function in self.functions])
        return sha256(f"{self.framework} {self.version} {text}".encode()).hexdigest()


def read(path: Path) -> FunctionList:
    """Reads a list of functions of one framework.

    Raises BadInput if it is no such list or names functions of several frameworks, StorageFailed if it cannot be read.
    """
    data: Any = _csv(path) if path.suffix == ".csv" else read_json(path).data
    head = data if isinstance(data, dict) else {}
    entries = head.get("functions") if isinstance(data, dict) else data
    if not isinstance(entries, list) or not entries:
        raise BadInput(f"{shown(path)}: no list of functions", _EXPECTED)
    target = head.get("target", head)
    target = target if isinstance(target, dict) else {}
    functions: dict[str, Function] = {}
    for place, entry in enumerate(entries):
        function = _function(entry, f"{shown(path)}: entry {place + 1}")
        if function.name in functions:
            raise BadInput(f"{shown(path)}: entry {place + 1}: {function.name} is duplicated", "Remove one.")
        functions[function.name] = function
    roots = sorted({_module(function.name).partition(".")[0] for function in functions.values()})
    if len(roots) > 1:
        raise BadInput(
            f"{shown(path)}: functions of several frameworks: {', '.join(roots)}", "Give one list per framework."
        )
    ordered = tuple(functions[name] for name in sorted(functions))
    version = target.get("version", head.get("written_for"))
    return FunctionList(roots[0], version if isinstance(version, str) else None, ordered)


def _module(name: str) -> str:
    first, dot, rest = name.partition(".")
    return _MODULES.get(first, first) + dot + rest


def _function(entry: Any, where: str) -> Function:
    if isinstance(entry, str):
        entry = {"name": entry}
    if not isinstance(entry, dict):
        raise BadInput(f"{where}: {_found(entry)}, expected a name or an object with a name", _EXPECTED)
    name: Any = entry.get("name", entry.get("function"))
    aliases: Any = entry.get("aliases", [])
    for text in _texts(name, aliases):
        if not isinstance(text, str) or not _NAME.fullmatch(text):
            raise BadInput(
                f"{where}: {_found(text)}, expected a dotted name such as torch.nn.functional.relu", _EXPECTED
            )
    return Function(name, tuple(sorted(set(aliases) - {name})))


def _texts(name: Any, aliases: Any) -> Iterator[Any]:
    yield name
    yield from aliases if isinstance(aliases, list) else [aliases]


def _found(value: Any) -> str:
    return "found " + escape_control(shortened(json.dumps(value), 60))


def _csv(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{shown(path)}: not text in UTF-8", _EXPECTED) from None
    except OSError as error:
        raise StorageFailed(f"{shown(path)} cannot be read: {error.strerror}", "Give the path of a list.") from error
    rows = csv.DictReader(io.StringIO(text))
    if "name" not in (rows.fieldnames or ()):
        raise BadInput(f"{shown(path)}: no column 'name' in its first line", _EXPECTED)
    return [{"name": row["name"], "aliases": (row.get("aliases") or "").split()} for row in rows]
