"""Looks operations up in the kernels that a version of TensorFlow has for GPUs (``kernels/<version>.json``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Sequence

FOLDER = Path(__file__).parent / "kernels"

Types = Mapping[str, Sequence[str]]
"""The dtypes of an operation's attributes: ``{"T": ["float32"]}``; several where the attribute is a list."""


class Answer(NamedTuple):
    """What is known of an operation with its dtypes: ``device``, a kernel computes on the GPU; ``host``, one is for the
    GPU, but all of its arguments lie in the host's memory; ``dtype``, there are kernels, for other dtypes alone; or
    ``none``. ``kernels`` are those that there are."""

    verdict: str
    kernels: Sequence[Mapping[str, Any]]


class Table:
    """The kernels of one wheel; ``wheel`` says which (schema/kernels.schema.json)."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.version: str = document["version"]
        self.wheel: Mapping[str, Any] = document["wheel"]
        self._kernels: dict[str, list[dict[str, Any]]] = document["kernels"]

    def look_up(self, operation: str, types: Types) -> Answer:
        """Whether a kernel takes the operation with these dtypes. An attribute that is not given excludes no kernel."""
        kernels = self._kernels.get(operation, [])
        fitting = [kernel for kernel in kernels if _takes(kernel["types"], types)]
        if fitting:
            return Answer("host" if all(kernel.get("host") for kernel in fitting) else "device", kernels)
        return Answer("dtype" if kernels else "none", kernels)


def versions() -> list[str]:
    """The versions that there is a table of."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def of_version(version: str) -> Table:
    """Raises KeyError where there is no table of that version."""
    path = FOLDER / (version + ".json")
    if not path.is_file():
        raise KeyError(version)
    return Table(json.loads(path.read_text("utf-8")))


def refusal(operation: str, types: Types, answer: Answer) -> str:
    """In one sentence what is missing: operation, its dtypes, and the dtypes that the kernels have."""
    asked = _said(types)
    if answer.verdict == "none":
        return f"no GPU kernel: the operation {operation}{f' ({asked})' if asked else ''} has none"
    takes = "; or ".join(_said({name: have[name] for name in sorted(have)}) for have in _of_interest(types, answer))
    return f"no GPU kernel for these dtypes: the operation {operation} has {asked}, its kernels take {takes}"


def _of_interest(types: Types, answer: Answer) -> list[Types]:
    """What the kernels take, of attributes that the operation has; each once."""
    found: list[Types] = []
    for kernel in answer.kernels:
        have = {name: kinds for name, kinds in kernel["types"].items() if name in types}
        if have not in found:
            found.append(have)
    return found


def _takes(constraints: Types, types: Types) -> bool:
    return all(set(types[name]) <= set(allowed) for name, allowed in constraints.items() if name in types)


def _said(types: Types) -> str:
    return ", ".join(f"{name}={'|'.join(kinds)}" for name, kinds in sorted(types.items()) if kinds)
