"""Lists the kernels that PyTorch's wheel for macOS has for MPS (Apple's GPUs), without a Mac.

    python -m runners.torch.mps_registry OUT WHEEL SHA256 DYLIB

``portbench kernels`` starts this in an environment of the same version of PyTorch, which says what every operation is
composed of. DYLIB is libtorch_cpu.dylib of the wheel. It writes the document of ``schema/kernels.schema.json`` to OUT.
"""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import torch

from runners.core.prediction.kernel_table import Kernel, merged, text
from runners.torch.dispatch_listener import LAYOUT, full_name
from runners.torch.kernel_registry import is_composite
from runners.torch.mps_library import Registered, registrations

_KEYS = {"MPS": "strided", "SparseMPS": "sparse_coo", "SparseCsrMPS": "sparse_csr"}
"""The dispatcher's keys of MPS, with the layout of the tensors that they are for."""


def main(arguments: list[str]) -> None:
    """Writes the document."""
    out, wheel, sha256, library = arguments
    head = {
        "schema": "portbench/kernels",
        "schema_version": 1,
        "framework": "torch",
        "version": torch.__version__.split("+")[0],
        "wheel": {"name": wheel, "sha256": sha256, "cuda": None, "cudnn": None},
    }
    with Path(library).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = list(registrations(content))
    Path(out).write_text(text(head, _kernels(found)), "utf-8")


def _kernels(found: list[Registered]) -> dict[str, list[Kernel]]:
    own: dict[str, list[Kernel]] = {}
    for each in found:
        kernel: Kernel = {"types": {LAYOUT: [_KEYS[each.key]]}}
        own.setdefault(f"aten::{each.name}", []).append({**kernel, "host": True} if each.on_host else kernel)
    kernels: dict[str, list[Kernel]] = {}
    for schema in torch._C._jit_get_all_schemas():
        name = full_name(schema.name, schema.overload_name)
        if is_composite(name):
            kernels[name] = [{"types": {}}]
        elif name in own:
            kernels[name] = merged(own[name])
    return {name: kernels[name] for name in sorted(kernels)}


if __name__ == "__main__":
    main(sys.argv[1:])
