"""PyTorch on torch_xla: a TPU, or XLA's own CPU device. From 2.0 on with PJRT, before with XRT."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections import Counter
from typing import Any, Iterator, Mapping, Sequence

import torch

from runners.core import devices
from runners.core.adapter import Operation, OpTrace
from runners.core.errors import DeviceUnavailable, first_line
from runners.torch import libpython
from runners.torch.op_trace import only_moves, traced_ops

torch_xla: Any = None
xm: Any = None
metrics: Any = None
"""The modules of torch_xla, after ``prepare``."""

_sync: Any = None
_missing = ""
"""Why torch_xla cannot be imported."""


def prepare() -> None:
    """Imports torch_xla, once. A device cannot be opened if that fails."""
    global torch_xla, xm, metrics, _sync, _missing
    if torch_xla or _missing:
        return
    libpython.load()
    is_available = torch.cuda.is_available
    try:
        # Parts of PyTorch that torch_xla imports call this; after that, torch.cuda works in no process that is forked
        # from here.
        torch.cuda.is_available = lambda: False
        xm = importlib.import_module("torch_xla.core.xla_model")
        metrics = importlib.import_module("torch_xla.debug.metrics")
        torch_xla = importlib.import_module("torch_xla")
        _sync = getattr(torch_xla, "sync", xm.mark_step)
    except ImportError as error:
        _missing = str(error)
    finally:
        torch.cuda.is_available = is_available


def open_device(device: str) -> torch.device:
    prepare()
    if _missing:
        raise DeviceUnavailable(
            f"PyTorch reaches the device '{device}' through torch_xla, which cannot be imported: {_missing}",
            f"Use an environment or image made for it, such as torch-{device}.",
        )
    if device == "tpu":
        _require_tpu()
    try:
        opened = torch_xla.device() if hasattr(torch_xla, "device") else xm.xla_device()
        hardware = xm.xla_device_hw(opened)
    except (RuntimeError, OSError) as error:
        raise _refused(device, error) from error
    expected = {"tpu": "TPU", "xla": "CPU"}[device]
    if hardware != expected:
        raise DeviceUnavailable(
            f"torch_xla opened a {hardware} where a {expected} was asked for",
            "The first device that torch_xla opens in a process stays the one that it has.",
        )
    return torch.device(opened)


def _require_tpu() -> None:
    """Raises DeviceUnavailable without a TPU: libtpu would ask the cloud for one, for minutes."""
    remote = not os.environ.get("XRT_TPU_CONFIG", "localservice").startswith("localservice")
    if not remote and not devices.tpu_facts().get("device_nodes"):
        raise DeviceUnavailable(
            "there is no TPU on this machine: none of /dev/accel0, /dev/accel/accel0 and /dev/vfio/0 is there",
            "Run on a TPU VM; a container needs --privileged to see its TPU.",
        )


def _refused(device: str, error: Exception) -> DeviceUnavailable:
    said = first_line(error)
    held = devices.holders(devices.TPU_NODES) if device == "tpu" else []
    if held:
        return DeviceUnavailable(
            f"the TPU is held by {', '.join(held)}: {said}", "A TPU has one holder: end the other."
        )
    remedy = "Versions of torch_xla, libtpu and the TPU must fit: use the image torch-tpu." if device == "tpu" else ""
    return DeviceUnavailable(f"torch_xla cannot open the device '{device}': {said}", remedy)


def facts(device: torch.device) -> Mapping[str, Any]:
    found = {
        "kind": "xla",
        "torch_xla": torch_xla.__version__,
        "hardware": xm.xla_device_hw(device),
        "devices": len(xm.get_xla_supported_devices()),
        "runtime": "PJRT" if hasattr(torch_xla, "runtime") else "XRT",
        "matmul_precision": _precision(),
        "xla_flags": os.environ.get("XLA_FLAGS", "").strip(),
    }
    if found["hardware"] == "TPU":
        found.update(devices.tpu_facts(), kind="tpu", libtpu_flags=os.environ.get("LIBTPU_INIT_ARGS", "").strip())
        limit = _memory(device).get("bytes_limit")
        if limit is not None:
            found["memory_bytes"] = limit
    return found


def state(device: torch.device) -> Mapping[str, Any]:
    memory = _memory(device)
    names = {"bytes_used": "memory_used_bytes", "peak_bytes_used": "memory_peak_bytes"}
    return {names[name]: memory[name] for name in names if name in memory}


def _memory(device: torch.device) -> dict[str, int]:
    """Limit and use of the memory in bytes; empty if the runtime does not report them."""
    try:
        memory = xm.get_memory_info(device)
    except RuntimeError:
        return {}
    if "kb_total" in memory:  # XRT
        return {"bytes_limit": 1024 * memory["kb_total"], "bytes_used": 1024 * (memory["kb_total"] - memory["kb_free"])}
    return {name: int(value) for name, value in memory.items()}


def _precision() -> str | None:
    """Precision of products and convolutions of float32; a TPU's default is one pass in bfloat16."""
    get_precision = getattr(torch_xla._XLAC, "_xla_get_mat_mul_precision", None)
    return get_precision() if get_precision else None


def read(leaf: torch.Tensor) -> torch.Tensor:
    """A tensor on the host. torch_xla 2.9 reads complex128 back without the imaginary part, so the parts are read
    apart."""
    if leaf.dtype == torch.complex128 and leaf.device.type == "xla":
        return torch.complex(leaf.real.cpu(), leaf.imag.cpu())
    return leaf.cpu()


@contextlib.contextmanager
def full_precision() -> Iterator[None]:
    before = _precision()
    if before is None:
        torch_xla._XLAC._xla_set_use_full_mat_mul_precision(use_full_mat_mul_precision=True)
    else:
        torch_xla._XLAC._xla_set_mat_mul_precision("highest")
    try:
        yield
    finally:
        if before is None:
            torch_xla._XLAC._xla_set_use_full_mat_mul_precision(use_full_mat_mul_precision=False)
        else:
            torch_xla._XLAC._xla_set_mat_mul_precision(before)


def seed(seed: int) -> None:
    """Seeds XLA's random state, which torch.manual_seed does not."""
    xm.set_rng_state(seed)


def wait(output: Any = None) -> None:
    """A step only launches what was traced, even if it is called with wait=True."""
    _sync()
    xm.wait_device_ops()


def wait_as_published() -> None:
    xm.mark_step()


def has_spmd() -> bool:
    """Whether torch_xla is there and has the mode in which one device represents any number."""
    prepare()
    return not _missing and hasattr(getattr(torch_xla, "runtime", None), "use_spmd")


def use_spmd() -> None:
    """From here on, one device represents all. Call it before the first device is opened."""
    torch_xla.runtime.use_spmd()


def hlo_of(tensors: Sequence[torch.Tensor]) -> str:
    """The program that computes these tensors, as HLO text. Compiles nothing; raises what the lowering raises."""
    return str(torch_xla._XLAC._get_xla_tensors_hlo(list(tensors)))


@contextlib.contextmanager
def trace_ops(device: torch.device, counts: bool = True) -> Iterator[OpTrace]:
    """torch_xla counts what it lowers or leaves to the host; operations elsewhere are traced as they are dispatched."""
    trace = OpTrace()
    wait()
    before = _counted()
    with traced_ops(device) as seen:
        yield trace
    after = _counted()
    here = str(device)
    trace.operations = [operation for operation in seen if operation.location != here]
    fresh = {name: after[name] - before.get(name, 0) for name in after}
    lowered: Counter[str] = Counter()
    for name, count in fresh.items():
        if name.startswith("xla::"):
            lowered[_base(name)] += count
    for name in _fallbacks(fresh):
        trace.operations.append(Operation(name, "cpu"))
        # The device's own entry was called too and passed it on.
        lowered[_base(name)] -= fresh[name]
    bases = [base for base, count in lowered.items() if count > 0 and not only_moves(base)]
    trace.operations += [Operation(f"xla::{base}", here) for base in bases]


def _counted() -> dict[str, int]:
    return {name: metrics.counter_value(name) for name in metrics.counter_names()}


def _base(name: str) -> str:
    """``xla::add_symint`` and ``aten::add.Tensor`` are both ``add``."""
    base = name.split("::")[1].split(".")[0]
    return base[: -len("_symint")] if base.endswith("_symint") else base


def _fallbacks(counted: Mapping[str, int]) -> list[str]:
    """Operations that ran on the host. Reading one number back is not one."""
    return [
        name
        for name, count in counted.items()
        if name.startswith("aten::") and name != "aten::_local_scalar_dense" and count > 0
    ]


_METRICS = {
    "LazyTracing": ("traces", ""),
    "CompileTime": ("compilations", "compile_ns"),
    "ExecuteTime": ("executions", "execute_ns"),
    "TransferToDeviceTime": ("to_device", "to_device_ns"),
    "TransferFromDeviceTime": ("from_device", "from_device_ns"),
    "TransferToServerTime": ("to_device", "to_device_ns"),
    "TransferFromServerTime": ("from_device", "from_device_ns"),
    "OutboundData": ("", "to_device_bytes"),
    "InboundData": ("", "from_device_bytes"),
}
"""torch_xla's metrics, each a number of samples and their sum; XRT says server instead of device. The time of a trace
inside another trace is in both, and their sum would be longer than the call, so it is not used."""


def counters() -> Mapping[str, int]:
    found = {}
    for metric in metrics.metric_names():
        if metric in _METRICS:
            count, total, _ = metrics.metric_data(metric)
            samples, sums = _METRICS[metric]
            if samples:
                found[samples] = count
            if sums:
                found[sums] = int(total)
    counted = _counted()
    found["fallbacks"] = sum(counted[name] for name in _fallbacks(counted))
    return found
