"""What torch_xla lowers, as if for a TPU, and every program that comes of it, on a machine that has none.

torch_xla lowers some operations in another way for a TPU, or leaves them to the host there. In its SPMD mode, in which
one device stands for any number, it asks the environment each time what kind these are, even though it has opened the
CPU; nothing else differs with a single one.

Each program it appends to a file, just before it compiles it for what it has opened, if its environment said so before
the first: the program of a step, and those in between where a value is read or an operation goes to the host.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path
from typing import Iterator

from runners.torch import xla

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
    """What is traced and lowered inside is so as for a TPU."""
    opened = os.environ["PJRT_DEVICE"]
    os.environ["PJRT_DEVICE"] = "TPU"
    try:
        yield
    finally:
        os.environ["PJRT_DEVICE"] = opened
