"""Lists the kernels that a PyTorch wheel for CUDA has for GPUs, without any GPU.

    python -m runners.torch.kernel_registry OUT WHEEL SHA256

is what ``portbench kernels`` starts in an environment with that wheel and CUDA's libraries: it writes the document of
``schema/kernels.schema.json`` to OUT. The other two say which wheel it was.

Which operations have a kernel the dispatcher tells. It does not tell of which dtypes; PyTorch's own tests do, which are
in the wheel (``op_db``): each entry names the dtypes that a function takes on CUDA and those that it takes on
the CPU, and PyTorch is tested for just these (``TestCommon.test_dtypes``). An operation gets them where the CPU takes
one that CUDA does not, if its entries compute nothing else.
"""

from __future__ import annotations

import itertools
import re
import sys
import types
import unittest
from pathlib import Path
from typing import Any, Iterator

from runners.core.prediction.kernel_table import Kernel, merged, text
from runners.torch.dispatch_listener import LAYOUT, Asked, full_name, listening

_KEYS = {
    "CUDA": "strided",
    "SparseCUDA": "sparse_coo",
    "SparseCsrCUDA": "sparse_csr",
    "QuantizedCUDA": "quantized",
}
"""The dispatcher's keys of a GPU, with the layout of the tensors that it chooses them for."""

_COMPOSITE = (
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",  # since 1.13
)
"""Its keys of what is made of other operations, whatever the device."""

_FEW = 4
"""Samples that are tried in a dtype that an entry does not name."""

_YAML = dict.fromkeys(("Loader", "SafeLoader", "CSafeLoader", "Dumper", "SafeDumper", "CSafeDumper"), object)


def main(arguments: list[str]) -> None:
    """Writes the document."""
    out, wheel, sha256 = arguments
    import torch

    cudnn = torch.backends.cudnn.version()
    head = {
        "schema": "portbench/kernels",
        "schema_version": 1,
        "framework": "torch",
        "version": torch.__version__.split("+")[0],
        "wheel": {"name": wheel, "sha256": sha256, "cuda": torch.version.cuda, "cudnn": cudnn and str(cudnn)},
    }
    Path(out).write_text(text(head, registered(constraints())), "utf-8")


def registered(takes: dict[str, dict[str, set[str]]]) -> dict[str, list[Kernel]]:
    """The kernels of each operation; ``takes`` are the dtypes that those for plain tensors are known to take."""
    import torch

    found: dict[str, list[Kernel]] = {}
    for schema in torch._C._jit_get_all_schemas():
        name = full_name(schema.name, schema.overload_name)
        dtypes = {argument: sorted(taken) for argument, taken in takes.get(name, {}).items()}
        layouts = [layout for key, layout in _KEYS.items() if _has(name, key)]
        kernels = [{"types": {LAYOUT: [layout], **(dtypes if layout == "strided" else {})}} for layout in layouts]
        if any(_has(name, key) for key in _COMPOSITE):
            kernels = [{"types": dtypes}]
        if kernels:
            found[name] = merged(kernels)
    return {name: found[name] for name in sorted(found)}


def _has(operation: str, key: str) -> bool:
    import torch

    try:
        return bool(torch._C._dispatch_has_kernel_for_dispatch_key(operation, key))
    except RuntimeError:  # no operation of the dispatcher, or no key of this version
        return False


def constraints() -> dict[str, dict[str, set[str]]]:
    """The dtypes that arguments of an operation may have, of those of which that is sure."""
    seen = _Evidence()
    for entry in _entries():
        seen.look_at(entry)
    return seen.constraints()


def _entries() -> list[Any]:
    import torch

    # Packages that PyTorch's tests want, and the entries do not.
    for name, content in (("expecttest", {"TestCase": unittest.TestCase, "ACCEPT": False}), ("yaml", _YAML)):
        unused = types.ModuleType(name)
        vars(unused).update(content)
        sys.modules.setdefault(name, unused)
    from torch.testing._internal import common_cuda

    # Some entries name fewer dtypes for older GPUs, and without a GPU they take it for the oldest. It is to be the
    # newest that the wheel was compiled for.
    newest = max(int(name) for name in re.findall(r"sm_(\d+)", torch._C._cuda_getArchFlags() or ""))
    for name in vars(common_cuda):
        least = re.fullmatch(r"SM(\d+)OrLater", name)
        if least:
            setattr(common_cuda, name, newest >= int(least[1]))
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


class _Evidence:
    """What the entries of ``op_db`` show of operations."""

    def __init__(self) -> None:
        self._taken: dict[str, dict[str, set[str]]] = {}
        self._unnamed: dict[str, dict[str, set[str]]] = {}
        """By operation and argument, dtypes that are known to be taken, and those that no entry names though the CPU
        can compute in them: it cannot in some samples, so none the wiser."""
        self._on_cuda: dict[str, set[str]] = {}
        self._on_cpu: dict[str, set[str]] = {}
        """What the entries name of operations that are all that those compute."""
        self._others: dict[str, set[str]] = {}
        """Arguments of these that have dtypes of their own: an index, say."""

    def look_at(self, entry: Any) -> None:
        """Computes the samples of an entry on the CPU, in every dtype that can make a difference."""
        on_cuda, on_cpu = ({_said(dtype) for dtype in named} for named in (entry.dtypesIfCUDA, entry.dtypes))
        operations: set[str] = set()
        others: dict[str, set[str]] = {}
        for dtype in _dtypes():
            own = _said(dtype)
            if own not in on_cpu and (own in on_cuda or on_cpu <= on_cuda):
                continue
            for asked in _asked_of(entry, dtype, None if own in on_cpu else _FEW):
                operations.add(asked.name)
                for name, dtypes in asked.types.items():
                    if own in on_cuda or own not in on_cpu:
                        seen = self._taken if own in on_cuda else self._unnamed
                        seen.setdefault(asked.name, {}).setdefault(name, set()).update(dtypes)
                    if dtypes != [own]:
                        others.setdefault(asked.name, set()).add(name)
        if len(operations) == 1 and on_cuda and _is_tested(entry):
            (only,) = operations
            self._on_cuda.setdefault(only, set()).update(on_cuda)
            self._on_cpu.setdefault(only, set()).update(on_cpu)
            self._others.setdefault(only, {LAYOUT}).update(others.get(only, ()))

    def constraints(self) -> dict[str, dict[str, set[str]]]:
        found = {}
        for operation, on_cuda in self._on_cuda.items():
            on_cpu, others = self._on_cpu[operation], self._others[operation]
            if on_cpu <= on_cuda:
                continue  # what the CPU takes, too, need not be looked up
            unnamed = self._unnamed.get(operation, {})
            found[operation] = {
                name: on_cuda | dtypes | (unnamed.get(name, set()) - on_cpu)
                for name, dtypes in self._taken.get(operation, {}).items()
                if name not in others
            }
            # The same kernels, for an operation that writes into its first argument.
            name, dot, overload = operation.partition(".")
            found.setdefault(f"{name}_{dot}{overload}", found[operation])
        return found


def _dtypes() -> list[Any]:
    from torch.testing._internal.common_dtype import get_all_dtypes

    return sorted(get_all_dtypes(), key=str)


def _asked_of(entry: Any, dtype: Any, most: int | None) -> Iterator[Asked]:
    import torch

    torch.manual_seed(0)
    try:
        samples = list(itertools.islice(entry.sample_inputs("cpu", dtype, requires_grad=False), most))
    except Exception:  # what cannot be made on this machine shows nothing
        return
    for sample in samples:
        asked: list[Asked] = []
        try:
            with listening(asked.append):
                entry(sample.input, *sample.args, **sample.kwargs)
        except Exception:  # as likely of its own as of the dtype
            continue
        yield from (each for each in asked if not each.moves)


def _is_tested(entry: Any) -> bool:
    """Whether PyTorch's own tests hold the entry to the dtypes that it names."""
    return not any(
        getattr(decorator, "test_name", None) == "test_dtypes" and decorator.device_type in (None, "cuda")
        for decorator in entry.decorators or ()
    )


def _said(dtype: Any) -> str:
    return str(dtype)[len("torch.") :]


if __name__ == "__main__":
    main(sys.argv[1:])
