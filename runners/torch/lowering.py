"""What torch_xla lowers, as if for a TPU, and every program that comes of it, on a machine that has none.

torch_xla lowers some operations in another way for a TPU, or leaves them to the host there. In its SPMD mode, in which
one device stands for any number, it asks the environment each time what kind these are, even though it has opened the
CPU; nothing else differs with a single one.

Each program it appends to a file, just before it compiles it for what it has opened, if its environment said so before
the first: the program of a step, and those in between where a value is read or an operation goes to the host.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Iterator

import torch
from torch.utils import _python_dispatch

from runners.torch import xla

_SLICE = re.compile(
    r"^(?P<before> *(?:ROOT )?\S+ = \S+ dynamic-(?:update-)?slice\(.*, )"
    r"(?P<type>[su]\d+)\[(?P<rank>\d+)\]\{0\} (?P<start>%[^\s,)]+)\)(?P<after>.*)$",
    re.MULTILINE,
)
"""An instruction that is told where its slice starts by one array, its last operand."""

_GRAPH = re.compile(r"^## BEGIN_GRAPH\n(.*?)^(?:Graph Hash: [^\n]*\s+)?## END_GRAPH$", re.MULTILINE | re.DOTALL)


class Programs:
    """Those that torch_xla makes in this process, which must not have opened a device yet."""

    def __init__(self) -> None:
        xla.use_spmd()
        self._folder = Path(tempfile.mkdtemp(prefix="programs-"))
        os.environ.update(XLA_SAVE_TENSORS_FILE=str(self._folder / "of"), XLA_SAVE_TENSORS_FMT="hlo")

    def taken(self) -> list[str]:
        """The modules, as HLO text, that have come since this was called last."""
        text = ""
        # The file's name ends in the number of the device.
        for path in self._folder.iterdir():
            text += path.read_text("utf-8")
            path.unlink()
        return _GRAPH.findall(text)


@contextlib.contextmanager
def for_tpus() -> Iterator[None]:
    """What is traced and lowered inside is so as for a TPU, and a value that is read ends the program before it."""
    opened = os.environ["PJRT_DEVICE"]
    os.environ["PJRT_DEVICE"] = "TPU"
    try:
        with _EndingPrograms():
            yield
    finally:
        os.environ["PJRT_DEVICE"] = opened


def with_scalar_starts(program: str) -> str:
    """The same program, in HLO text, with a number for each dimension where a slice that is computed starts. torch_xla
    gives one array of them (in ``randperm``): an older form, which a TPU takes and which StableHLO has no like of."""
    count = itertools.count()

    def rewritten(found: re.Match[str]) -> str:
        kind, start, lines, starts = found["type"], found["start"], "", []
        for dimension in range(int(found["rank"])):
            name = f"%start-of-slice.{next(count)}"
            lines += f"  {name}-0 = {kind}[1]{{0}} slice({start}), slice={{[{dimension}:{dimension + 1}]}}\n"
            lines += f"  {name} = {kind}[] reshape({name}-0)\n"
            starts.append(name)
        return f"{lines}{found['before']}{', '.join(starts)}){found['after']}"

    return _SLICE.sub(rewritten, program)


class _EndingPrograms(_python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Computes all that is pending where one number is read.

    torch_xla would compute but what this number needs, and trace on: an optimiser that reads its loss a hundred times
    makes a hundred programs, each with all before it. A TPU must compile them; to learn what it would refuse, once is
    enough.
    """

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function.overloadpacket is torch.ops.aten._local_scalar_dense:
            xla.wait()
        return function(*args, **(kwargs or {}))
