"""Makes torch_xla lower programs as if for a TPU, on a machine that has none, and collects every program.

torch_xla lowers some operations in another way for a TPU, or leaves them to the host there. In its SPMD mode, in which
one device represents any number, it reads the kind of these devices from the environment each time, even though it has
opened the CPU. With a single device, nothing else differs.

If the environment asks for it before the first program, torch_xla appends each program to a file just before it
compiles it: the program of a step, and those in between when a value is read or an operation runs on the host.
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
"""An instruction that gets the start of its slice as one array, its last operand."""

_GRAPH = re.compile(r"^## BEGIN_GRAPH\n(.*?)^(?:Graph Hash: [^\n]*\s+)?## END_GRAPH$", re.MULTILINE | re.DOTALL)


class Programs:
    """The programs that torch_xla makes in this process, which must not have opened a device yet."""

    def __init__(self) -> None:
        xla.use_spmd()
        self._folder = Path(tempfile.mkdtemp(prefix="programs-"))
        os.environ.update(XLA_SAVE_TENSORS_FILE=str(self._folder / "of"), XLA_SAVE_TENSORS_FMT="hlo")

    def taken(self) -> list[str]:
        """The modules, as HLO text, since the last call."""
        text = ""
        # The file's name ends in the number of the device.
        for path in self._folder.iterdir():
            text += path.read_text("utf-8")
            path.unlink()
        return _GRAPH.findall(text)


@contextlib.contextmanager
def for_tpus() -> Iterator[None]:
    """A context that traces and lowers as for a TPU. Reading a value ends the program before it."""
    opened = os.environ["PJRT_DEVICE"]
    os.environ["PJRT_DEVICE"] = "TPU"
    try:
        with _EndingPrograms():
            yield
    finally:
        os.environ["PJRT_DEVICE"] = opened


def with_scalar_starts(program: str) -> str:
    """The same program, as HLO text, with one start for each dimension of a dynamic slice. torch_xla uses one array for
    all (in ``randperm``): an older form that a TPU takes and that StableHLO does not have."""
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
    """Computes everything that is pending when one number is read.

    torch_xla would compute only what this number needs, and continue the trace: an optimizer that reads its loss a
    hundred times makes a hundred programs, each with everything before it. A TPU must compile them all, but one is
    enough to find out what it would refuse.
    """

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function.overloadpacket is torch.ops.aten._local_scalar_dense:
            xla.wait()
        return function(*args, **(kwargs or {}))
