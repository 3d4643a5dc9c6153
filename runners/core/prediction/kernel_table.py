"""Reads and writes the kernels that a version of a framework has for GPUs:
``runners/<framework>/kernels/<version>.json``."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Dict, Iterable, Mapping, NamedTuple, Sequence

from runners.core.errors import DeviceUnavailable

Kernel = Dict[str, Any]
"""``types``: for each constrained attribute the dtypes that it may have. ``host``: true if everything that the kernel
reads and writes is in the host's memory, so that the host computes."""

Types = Mapping[str, Sequence[str]]
"""The dtypes of an operation's attributes: ``{"T": ["float32"]}``; several where the attribute is a list."""


class Answer(NamedTuple):
    """What the table says about an operation with its dtypes.

    ``verdict``: ``device``, a kernel computes on the GPU; ``host``, a kernel is for the GPU but all its arguments are
    in the host's memory; ``dtype``, the kernels are for other dtypes; ``none``, there is no kernel. ``kernels`` has all
    kernels of the operation.
    """

    verdict: str
    kernels: Sequence[Mapping[str, Any]]


class Table:
    """The kernels of one wheel; ``wheel`` says which (schema/kernels.schema.json)."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.version: str = document["version"]
        self.wheel: Mapping[str, Any] = document["wheel"]
        self._kernels: dict[str, list[dict[str, Any]]] = document["kernels"]

    def look_up(self, operation: str, types: Types) -> Answer:
        """Whether there is a kernel for the operation with these dtypes. An attribute that is not given matches all."""
        kernels = self._kernels.get(operation, [])
        fitting = [kernel for kernel in kernels if _takes(kernel["types"], types)]
        if fitting:
            return Answer("host" if all(kernel.get("host") for kernel in fitting) else "device", kernels)
        return Answer("dtype" if kernels else "none", kernels)


def versions(framework: str) -> list[str]:
    """The versions of a framework that have a table, the oldest first."""
    found = [path.stem for path in _folder(framework).glob("*.json")]
    return sorted(found, key=lambda version: [int(part) for part in re.findall("[0-9]+", version)])


def of_device(framework: str, version: str, device: str) -> Table:
    """The table of a version for a device that is no GPU of NVIDIA, such as mps. Raises DeviceUnavailable if there is
    none."""
    path = _folder(framework) / device / (version + ".json")
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in path.parent.glob("*.json"))) or "none"
        raise DeviceUnavailable(
            f"there is no list of the {device} kernels of {framework} {version}, only of {known}",
            f"'portbench kernels {framework}-{version}-{device}-predicted' makes it.",
        )
    return Table(json.loads(path.read_text("utf-8")))


def of_version(framework: str, version: str) -> Table:
    """The table of a version, which may also be in the folder $PORTBENCH_KERNELS. Raises DeviceUnavailable if there is
    none."""
    own = os.environ.get("PORTBENCH_KERNELS")
    folders = [_folder(framework), *([Path(own)] if own else [])]
    path = next((path for path in (folder / (version + ".json") for folder in folders) if path.is_file()), None)
    if path is None:
        known = ", ".join(versions(framework)) or "none"
        raise DeviceUnavailable(
            f"there is no list of the GPU kernels of {framework} {version}, only of {known}",
            f"'portbench kernels {framework}-{version}-gpu' makes it from the wheel for CUDA.",
        )
    return Table(json.loads(path.read_text("utf-8")))


def _folder(framework: str) -> Path:
    return Path(__file__).parents[2] / framework / "kernels"


def refusal(operation: str, types: Types, answer: Answer) -> str:
    """One sentence that says what is missing: the operation, its dtypes, and the dtypes of its kernels."""
    asked = _said(types)
    if answer.verdict == "none":
        return f"no GPU kernel: the operation {operation}{f' ({asked})' if asked else ''} has none"
    takes = "; or ".join(_said({name: have[name] for name in sorted(have)}) for have in _of_interest(types, answer))
    return f"no GPU kernel for these dtypes: the operation {operation} has {asked}, its kernels take {takes}"


def _of_interest(types: Types, answer: Answer) -> list[Types]:
    """The dtypes that the kernels take for the attributes of the operation; each combination once."""
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


def merged(kernels: Iterable[Kernel]) -> list[Kernel]:
    """The same kernels in fewer entries: kernels that differ only in the dtypes of one attribute become one."""
    found = {_key(kernel): kernel for kernel in kernels}
    for attribute in sorted({name for kernel in found.values() for name in kernel["types"]}):
        groups: dict[str, Kernel] = {}
        for kernel in found.values():
            types = dict(kernel["types"])
            own = types.pop(attribute, None)
            group = groups.setdefault(_key({**kernel, "types": types, "has": own is not None}), kernel)
            if own is not None and group is not kernel:
                group["types"][attribute] = sorted({*group["types"][attribute], *own})
        found = {_key(kernel): kernel for kernel in groups.values()}
    return [found[key] for key in sorted(found)]


def text(head: dict[str, Any], kernels: dict[str, list[Kernel]]) -> str:
    """The document with one operation a line, so that versions can be compared."""
    lines = (f"{json.dumps(name)}: {json.dumps(entries, sort_keys=True)}" for name, entries in kernels.items())
    begin = json.dumps(head, indent=1)[: -len("\n}")]
    return begin + ',\n "kernels": {\n  ' + ",\n  ".join(lines) + "\n }\n}\n"


def _key(kernel: Kernel) -> str:
    return json.dumps(kernel, sort_keys=True)
