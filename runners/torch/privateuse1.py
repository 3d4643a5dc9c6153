"""PyTorch on a vendor's backend in the dispatch key PrivateUse1, which a module of Python registers.

Nothing here is specific to a vendor. The module is named by ``BACKEND``; what it registers says the name of its device,
and PyTorch's conventions for such a module say the rest: ``torch.<name>.is_available``, ``device_count``,
``synchronize``, ``get_device_name``.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Iterator, Mapping

import torch

from runners.core import vendors
from runners.core.adapter import OpTrace
from runners.core.errors import DeviceUnavailable, first_line
from runners.torch import BACKEND, host
from runners.torch.kernel_trace import traced_kernels
from runners.torch.op_trace import traced_ops
from runners.torch.opening import compute_once

_REMEDY = (
    f"Set {BACKEND} to the name of the vendor's module, or to the absolute path of its file or folder; "
    "docs/bring-your-device.md says what it needs."
)
_OTHER_MODULE = "Name the module whose import registers the backend. Some register none if they find no device."

_UNNAMED = "privateuseone"
"""What PyTorch calls the device until a backend names it."""

_NEEDED = "aten::empty.memory_format"
"""Every backend registers this operation: without it there is no tensor."""

_ACCELERATOR = "torch.accelerator"
"""It takes a device for unused, and does not wait for it, until PyTorch has called the module's ``_lazy_init``."""

_synchronize: Callable[[], object] | None = None
_waits_by = ""


def open_device(device: str) -> torch.device:
    """The first device of the backend, after it has computed and has been waited for once."""
    global _synchronize, _waits_by
    value = vendors.named(BACKEND, "privateuse1", _REMEDY)
    vendors.imported(BACKEND, value, f"PyTorch {torch.__version__}")
    name = _registered_name()
    of_device = getattr(torch, name, None)
    _require_available(name, of_device)
    opened = torch.device(name, 0)
    compute_once(opened, f"the backend of {BACKEND}={os.environ[BACKEND]} cannot open its device '{name}'")
    _waits_by, _synchronize = _working_synchronize(name, of_device)
    return opened


def _registered_name() -> str:
    """The device's name. Raises DeviceUnavailable if the import has registered no backend."""
    has_kernel = getattr(torch._C, "_dispatch_has_kernel_for_dispatch_key", None)
    if has_kernel is not None and not has_kernel(_NEEDED, "PrivateUse1"):
        raise DeviceUnavailable(
            f"{BACKEND}={os.environ[BACKEND]} was imported, and registered no backend in PrivateUse1: it has no "
            f"{_NEEDED}",
            _OTHER_MODULE,
        )
    get_name = getattr(torch._C, "_get_privateuse1_backend_name", None)
    return get_name() if get_name else _UNNAMED


def _require_available(name: str, of_device: Any) -> None:
    """Raises DeviceUnavailable if the backend itself says so, or cannot say it: a computation might end the process
    instead, as TorchTPU's does without a TPU."""
    if of_device is None:
        raise DeviceUnavailable(
            f"{BACKEND}={os.environ[BACKEND]} was imported, and registered no module torch.{name} for its device",
            f"{_OTHER_MODULE} A backend of your own calls torch._register_device_module.",
        )
    for question in ("is_available", "device_count"):
        ask = getattr(of_device, question, None)
        try:
            found = ask() if ask else True
        except Exception as error:
            raise DeviceUnavailable(f"torch.{name}.{question}() failed: {first_line(error)}") from error
        if not found:
            raise DeviceUnavailable(
                f"the backend of {BACKEND}={os.environ[BACKEND]} has no device here: torch.{name}.{question}() is "
                f"{found}",
                "Check that the device and its driver are there.",
            )


def _working_synchronize(name: str, of_device: Any) -> tuple[str, Callable[[], object]]:
    """What waits for all work of the device: the backend's own function or else PyTorch's, whichever works."""
    said = []
    for called, holder in ((f"torch.{name}", of_device), (_ACCELERATOR, getattr(torch, "accelerator", None))):
        synchronize = getattr(holder, "synchronize", None)
        if synchronize is None:
            said.append(f"there is no {called}.synchronize")
            continue
        if called == _ACCELERATOR and not hasattr(of_device, "_lazy_init"):
            said.append(f"{called}.synchronize() does nothing, since there is no torch.{name}._lazy_init")
            continue
        try:
            synchronize()
        except Exception as error:
            said.append(f"{called}.synchronize() failed: {first_line(error)}")
            continue
        return f"{called}.synchronize", synchronize
    raise DeviceUnavailable(
        f"the work of the device '{name}' cannot be waited for: {'; '.join(said)}",
        "Nothing can be timed without it: the vendor's module needs a function synchronize().",
    )


def facts(device: torch.device) -> Mapping[str, Any]:
    module = vendors.module_name(os.environ[BACKEND])
    of_device = getattr(torch, device.type, None)
    found = {
        "kind": "privateuse1",
        "backend": module,
        "backend_version": vendors.version(module),
        "device_name": device.type,
        "waits_by": _waits_by,
    }
    for key, question, arguments in (("model", "get_device_name", (0,)), ("devices", "device_count", ())):
        with contextlib.suppress(Exception):  # whatever a vendor's code raises: a fact is then not known
            answer = getattr(of_device, question)(*arguments)
            found[key] = answer if isinstance(answer, int) else str(answer)
    return found


state = host.state
read = host.read
full_precision = host.full_precision
"""PyTorch's own setting, which a backend may follow. Most have others, which are unknown here."""


def seed(seed: int) -> None:
    """Does nothing: torch.manual_seed has seeded the backend, if it can be seeded."""


def wait(output: Any = None) -> None:
    """Waits for all work of the device, and raises what failed since its call had returned."""
    assert _synchronize is not None
    _synchronize()


def wait_as_published() -> None:
    """The paper's synchronization was that of the device."""
    wait()


@contextlib.contextmanager
def trace_ops(device: torch.device, counts: bool = True) -> Iterator[OpTrace]:
    """Traces operations as they are dispatched, and what the backend's kernels compute on the host with PyTorch."""
    trace = OpTrace()
    wait()
    with traced_kernels(device) as inside, traced_ops(device) as operations:
        yield trace
        wait()
    trace.untraced = inside.untraced
    trace.operations = inside.applied_to(operations)


def counters() -> Mapping[str, int]:
    """Empty: backends have no counters in common."""
    return {}
