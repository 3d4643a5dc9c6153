"""Lists the kernels that a PyTorch wheel for CUDA has for GPUs, without any GPU.

    python -m runners.torch.kernel_registry OUT WHEEL SHA256

``portbench kernels`` starts this in an environment with that wheel and CUDA's libraries. It writes the document of
``schema/kernels.schema.json`` to OUT. WHEEL and SHA256 identify the wheel.

The dispatcher says which operations have a kernel, but not for which dtypes. PyTorch's own tests in the wheel do
(``op_db``): each entry names the dtypes that a function takes on CUDA and those that it takes on the CPU, and PyTorch
is tested for exactly these (``TestCommon.test_dtypes``). An operation gets them if the CPU takes a dtype that CUDA does
not, and if its entries compute nothing else.
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
from runners.torch.dispatch_listener import LAYOUT, Request, full_name, listening

_KEYS = {
    "CUDA": "strided",
    "SparseCUDA": "sparse_coo",
    "SparseCsrCUDA": "sparse_csr",
    "QuantizedCUDA": "quantized",
}
"""The dispatcher's keys of a GPU, with the layout of the tensors that they are for."""

_COMPOSITE = (
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",  # since 1.13
)
"""The dispatcher's keys of operations that are composed of others, on any device."""

_FEW = 4
"""The number of samples that are tried in a dtype that an entry does not name."""

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
    """The kernels of each operation. ``takes`` has the dtypes that kernels for plain tensors are known to take."""
    import torch

    found: dict[str, list[Kernel]] = {}
    for schema in torch._C._jit_get_all_schemas():
        name = full_name(schema.name, schema.overload_name)
        dtypes = {argument: sorted(taken) for argument, taken in takes.get(name, {}).items()}
        layouts = [layout for key, layout in _KEYS.items() if _has(name, key)]
        kernels = [{"types": {LAYOUT: [layout], **(dtypes if layout == "strided" else {})}} for layout in layouts]
        if is_composite(name):
            kernels = [{"types": dtypes}]
        if kernels:
            found[name] = merged(kernels)
    return {name: found[name] for name in sorted(found)}


def is_composite(operation: str) -> bool:
    """Whether an operation is composed of others, on any device."""
    return any(_has(operation, key) for key in _COMPOSITE)


def _has(operation: str, key: str) -> bool:
    import torch

    try:
        return bool(torch._C._dispatch_has_kernel_for_dispatch_key(operation, key))
    except RuntimeError:  # not an operation of the dispatcher, or not a key of this version
        return False


def constraints() -> dict[str, dict[str, set[str]]]:
    """The dtypes that arguments of operations may have, for operations for which they are certain."""
    evidence = _Evidence()
    for entry in _entries():
        evidence.add(entry)
    return evidence.constraints()


def _entries() -> list[Any]:
    import torch

    # PyTorch's tests need these packages, and the entries do not.
    for name, content in (("expecttest", {"TestCase": unittest.TestCase, "ACCEPT": False}), ("yaml", _YAML)):
        unused = types.ModuleType(name)
        vars(unused).update(content)
        sys.modules.setdefault(name, unused)
    from torch.testing._internal import common_cuda

    # Some entries name fewer dtypes for older GPUs, and without a GPU they assume the oldest. Assume the newest that
    # the wheel was compiled for instead.
    newest = max(int(name) for name in re.findall(r"sm_(\d+)", torch._C._cuda_getArchFlags() or ""))
    for name in vars(common_cuda):
        least = re.fullmatch(r"SM(\d+)OrLater", name)
        if least:
            setattr(common_cuda, name, newest >= int(least[1]))
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


class _Evidence:
    """What the entries of ``op_db`` show about operations."""

    def __init__(self) -> None:
        self._taken: dict[str, dict[str, set[str]]] = {}
        self._unnamed: dict[str, dict[str, set[str]]] = {}
        """By operation and argument: dtypes that are known to be taken, and dtypes that no entry names although the CPU
        can compute with them. The CPU cannot in all samples, so these are uncertain."""
        self._on_cuda: dict[str, set[str]] = {}
        self._on_cpu: dict[str, set[str]] = {}
        """The dtypes that entries name which compute only one operation, by that operation."""
        self._others: dict[str, set[str]] = {}
        """Arguments of these operations that have a dtype of their own, such as an index."""

    def add(self, entry: Any) -> None:
        """Computes the samples of an entry on the CPU, in every dtype that can make a difference."""
        on_cuda, on_cpu = ({_name(dtype) for dtype in named} for named in (entry.dtypesIfCUDA, entry.dtypes))
        operations: set[str] = set()
        others: dict[str, set[str]] = {}
        for dtype in _dtypes():
            own = _name(dtype)
            if own not in on_cpu and (own in on_cuda or on_cpu <= on_cuda):
                continue
            for asked in _requests_of(entry, dtype, None if own in on_cpu else _FEW):
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
                continue  # no dtype is only for the CPU
            unnamed = self._unnamed.get(operation, {})
            found[operation] = {
                name: on_cuda | dtypes | (unnamed.get(name, set()) - on_cpu)
                for name, dtypes in self._taken.get(operation, {}).items()
                if name not in others
            }
            # The variant that writes into its first argument has the same kernels.
            name, dot, overload = operation.partition(".")
            found.setdefault(f"{name}_{dot}{overload}", found[operation])
        return found


def _dtypes() -> list[Any]:
    from torch.testing._internal.common_dtype import get_all_dtypes

    return sorted(get_all_dtypes(), key=str)


def _requests_of(entry: Any, dtype: Any, most: int | None) -> Iterator[Request]:
    import torch

    torch.manual_seed(0)
    try:
        samples = list(itertools.islice(entry.sample_inputs("cpu", dtype, requires_grad=False), most))
    except Exception:  # samples that this machine cannot create show nothing
        return
    for sample in samples:
        asked: list[Request] = []
        try:
            with listening(asked.append):
                entry(sample.input, *sample.args, **sample.kwargs)
        except Exception:  # the cause may not be the dtype
            continue
        yield from (each for each in asked if not each.moves)


def _is_tested(entry: Any) -> bool:
    """Whether PyTorch's own tests hold the entry to the dtypes that it names."""
    return not any(
        getattr(decorator, "test_name", None) == "test_dtypes" and decorator.device_type in (None, "cuda")
        for decorator in entry.decorators or ()
    )


def _name(dtype: Any) -> str:
    return str(dtype)[len("torch.") :]


if __name__ == "__main__":
    main(sys.argv[1:])
