"""Rewrites the files of a version's folder for another version or another Python of the same framework.

Only the version itself changes: in a .in file for the framework's own packages (torch, torch_xla; jax, jaxlib;
tensorflow-cpu), in a .setup file everywhere. Other requirements (numpy<2, a CUDA library) stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from portbench.errors import BadInput

_BY_HAND = "Create its folder by hand: images/README.md describes it."
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^]]*\])?\s*(==|@)")


@dataclass(frozen=True)
class Requirements:
    """A .in file for another version."""

    text: str
    packages: tuple[str, ...]
    """The packages that it pins to that version, by normalized name (torch-xla)."""


def requirements_for(source: Path, framework: str, old: str, new: str) -> Requirements:
    """The .in file ``source`` with the framework's packages at version ``new`` instead of ``old``.

    A package of the framework with a different version (jaxlib 0.4.7 with jax 0.4.8) loses its pin: the framework's own
    metadata define which version fits. Raises BadInput where the file does not show the version.
    """
    text, lines, packages = source.read_text(), [], []
    for line in text.splitlines():
        found = _REQUIREMENT.match(line)
        name = re.sub(r"[-_.]+", "-", found[1]).lower() if found else ""
        if found is None or not name.startswith(framework):
            lines.append(line)
            continue
        moved = replace_version(line, old, new)
        if moved != line and found[2] == "==":
            packages.append(name)
        elif moved == line and found[2] == "==":
            moved = re.sub(r"\s*==\s*[^\s;,]+", "", line)
        elif moved == line:
            raise BadInput(f"{old}'s {source.name} takes {name} from an address without {old} in it", _BY_HAND)
        lines.append(moved)
    if "\n".join(lines) == text.rstrip("\n"):
        raise BadInput(f"{old}'s {source.name} pins no package of {framework} at {old}", _BY_HAND)
    return Requirements("\n".join(lines) + "\n", tuple(packages))


def setup_for(text: str, old: str, new: str, old_python: str, new_python: str) -> str:
    """A .setup file's ``text``, which is part of a Dockerfile, for version ``new`` and its Python."""
    moved = replace_version(text, old, new)
    if old_python == new_python:
        return moved
    return re.sub(rf"\bpython{re.escape(old_python)}(?![0-9])", f"python{new_python}", moved)


def replace_version(text: str, old: str, new: str) -> str:
    """``text`` with version ``new`` for each separate ``old``: for 2.9.0, but not within 12.9.0 or 2.9.0.1."""
    return re.sub(rf"(?<![\w.]){re.escape(old)}(?!\.?\w)", new, text)
