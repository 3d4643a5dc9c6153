"""What PyTorch's adapter promises of its devices beyond what every adapter must do.

Run inside an environment as ``python -m tests.contract.torch_device_checks DEVICE CHECK...``; a broken promise is an
AssertionError that names it.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from types import ModuleType, SimpleNamespace
from unittest import mock

import numpy as np

import runners.torch
from runners.core import devices
from runners.core.adapter import HOST
from runners.core.errors import DeviceUnavailable
from runners.core.triage import sync_check
from tests.contract.forked_checks import run_each

# Through torch_xla


def only_both_steps_wait():
    """A step launches; waiting without one waits for nothing. The study did only the first."""
    adapter, device = opened("xla")
    xm = importlib.import_module("torch_xla.core.xla_model")
    for wait in (lambda output: None, adapter.wait_as_published, lambda output: xm.wait_device_ops()):
        found = sync_check.check_sync(adapter, device, time.perf_counter_ns, wait)
        assert not found["passed"] and found["reason"], found
    assert sync_check.check_sync(adapter, device, time.perf_counter_ns, adapter.wait)["passed"]


def trace_sees_what_falls_back():
    """Each lowered operation, what torch_xla leaves to the host by itself, and what the program does there."""
    adapter, device = opened("xla")
    import torch

    x = adapter.tensor(np.arange(12, dtype="float32").reshape(3, 4), "float32", device, "contiguous")
    here = adapter.location(x)
    parameter = torch.nn.Parameter(x.clone())
    for name, call, expected in (
        ("lowered", lambda: x + 1, {("xla::add", here)}),
        ("left to the host", lambda: torch.nonzero(x), {("aten::nonzero", "cpu")}),
        ("partly", lambda: x[x > 3], {("xla::gt", here), ("xla::index", here), ("aten::nonzero", "cpu")}),
        ("one number read", lambda: x.sum().item(), {("xla::sum", here)}),
        ("read", lambda: x.tolist(), {("read to host", HOST)}),
        ("NumPy", lambda: x.cpu().numpy() + 1, {("read to host", HOST)}),
        ("on the host", lambda: torch.ones(3) * 2, {("aten::ones", "cpu"), ("aten::mul.Tensor", "cpu")}),
        ("numbers on the host", lambda: torch.tensor(1.0) + 1, set()),
        ("moved", lambda: (x.t()[1:].reshape(-1), torch.tensor([1.0, 2.0]).to(device), x.clone()), set()),
        ("backwards", lambda: torch.sin(parameter).sum().backward(), None),
    ):
        with adapter.trace_ops(device) as trace:
            adapter.wait(call())
        found = set(map(tuple, trace.operations))
        assert found == expected if expected is not None else ("xla::cos", here) in found, (name, found)


def counters_tell_what_a_call_cost():
    adapter, device = opened("xla")
    import torch

    x = adapter.tensor(np.arange(12, dtype="float32"), "float32", device, "contiguous")
    adapter.wait(x)
    before = dict(adapter.counters())
    adapter.wait(torch.sinh(x))
    after = adapter.counters()
    grown = {name: after[name] - before.get(name, 0) for name in after}
    assert (grown["compilations"], grown["executions"], grown["fallbacks"]) == (1, 1, 0), grown
    assert grown["traces"] and grown["compile_ns"] and grown["execute_ns"], grown
    torch.nonzero(x)
    later = adapter.counters()
    names = ("fallbacks", "from_device", "from_device_bytes")
    assert [later[name] - after.get(name, 0) for name in names] == [1, 1, 48], later


def complex_numbers_come_back_whole():
    """torch_xla's own way back drops the imaginary part of the wide ones."""
    adapter, device = opened("xla")
    values = np.array([1 + 2j, 3 - 4j])
    tensor = adapter.tensor(values, "complex128", device, "contiguous")
    assert (adapter.to_numpy(tensor) == values).all(), adapter.to_numpy(tensor)


def a_seed_fixes_what_is_drawn():
    check_draws(*opened("xla"))


def check_draws(adapter, device):
    """A seed fixes what is drawn on the host and on the device."""
    import torch

    drawn = []
    for seed in (1, 1, 2):
        adapter.seed(seed)
        drawn.append((torch.rand(5).tolist(), torch.rand(5, device=device).tolist()))
    assert drawn[0] == drawn[1]
    assert drawn[0][0] != drawn[2][0] and drawn[0][1] != drawn[2][1], drawn


def strict_multiplies_in_full_precision():
    adapter, device = opened("xla")
    assert adapter.device_facts(device)["matmul_precision"] == "default"
    with adapter.full_precision():
        assert adapter.device_facts(device)["matmul_precision"] == "highest"
    assert adapter.device_facts(device)["matmul_precision"] == "default"


def the_error_for_a_held_tpu_names_the_holder():
    adapter, _ = opened("xla")
    from runners.torch import xla

    said = "TPU initialization failed: open(/dev/accel0): Device or resource busy\nand a stack"
    for holders in (["python (process 12)"], []):
        with (
            mock.patch.object(xla.torch_xla, "device", side_effect=RuntimeError(said)),
            mock.patch.object(devices, "tpu_facts", lambda: {"device_nodes": 1}),
            mock.patch.object(devices, "holders", lambda patterns, found=holders: found),
        ):
            message = refused(adapter, "tpu")
        assert "resource busy" in message and "stack" not in message, message
        assert not holders or holders[0] in message, message


def another_device_is_no_tpu():
    """torch_xla opens what it was said at its import: here its CPU device."""
    adapter, _ = opened("xla")
    with mock.patch.object(devices, "tpu_facts", lambda: {"device_nodes": 1}):
        assert "CPU" in refused(adapter, "tpu")


def the_xla_of_the_paper_is_used_in_its_own_way():
    """Only the names that torch_xla 1.12 has are here: it steps by mark_step, over XRT, and tells memory in kB."""
    import torch

    steps, precisions = [], []
    model = ModuleType("torch_xla.core.xla_model")
    vars(model).update(
        xla_device=lambda: torch.device("cpu"),
        xla_device_hw=lambda device: "TPU",
        get_xla_supported_devices=lambda: ["xla:1", "xla:2"],
        get_memory_info=lambda device: {"kb_total": 8, "kb_free": 6},
        set_rng_state=lambda seed: None,
        mark_step=lambda: steps.append("step"),
        wait_device_ops=lambda: steps.append("wait"),
    )
    metrics = ModuleType("torch_xla.debug.metrics")
    vars(metrics).update(
        counter_names=lambda: ["aten::nonzero", "aten::_local_scalar_dense", "xla::add"],
        counter_value=lambda name: 2,
        metric_names=lambda: ["CompileTime", "TransferToServerTime"],
        metric_data=lambda name: (3, 5.0, ()),
    )
    native = SimpleNamespace(
        _xla_set_use_full_mat_mul_precision=lambda use_full_mat_mul_precision: precisions.append(
            use_full_mat_mul_precision
        )
    )
    package, core, debug = (ModuleType(name) for name in ("torch_xla", "torch_xla.core", "torch_xla.debug"))
    vars(package).update(__version__="1.12", _XLAC=native, core=core, debug=debug)
    core.xla_model, debug.metrics = model, metrics
    sys.modules.update({module.__name__: module for module in (package, core, debug, model, metrics)})
    adapter = prepared("tpu")
    with mock.patch.object(devices, "tpu_facts", lambda: {"device_nodes": 4}):
        device = adapter.open_device("tpu")
        facts = adapter.device_facts(device)
    assert (facts["kind"], facts["runtime"], facts["devices"], facts["memory_bytes"]) == ("tpu", "XRT", 2, 8192), facts
    assert adapter.device_state(device) == {"memory_used_bytes": 2048}
    adapter.seed(1)
    adapter.wait(None)
    adapter.wait_as_published(None)
    assert steps == ["step", "wait", "step"], steps
    with adapter.full_precision():
        assert precisions == [True]
    assert precisions == [True, False]
    counted = {"compilations": 3, "compile_ns": 5, "to_device": 3, "to_device_ns": 5, "fallbacks": 2}
    assert adapter.counters() == counted, adapter.counters()


# On CUDA, as far as it goes without one; in every version


def trace_sees_where_operations_run():
    """PyTorch's device without data stands in for one that is not the host's."""
    import torch

    from runners.torch.op_trace import traced_ops

    there = torch.device("meta")
    x, y = torch.ones(3, 4, device=there), torch.ones(3, 4)
    for name, call, expected in (
        ("there", lambda: torch.add(x, x), ["meta"]),
        ("in place", lambda: x.add_(1), ["meta"]),
        ("given an output", lambda: torch.mul(x, 2, out=torch.empty(3, 4, device=there)), ["meta"]),
        ("here", lambda: torch.add(y, y), ["cpu"]),
        ("with one number of here", lambda: torch.add(x, torch.tensor(2.0)), ["meta"]),
        ("views", lambda: (x.t(), x[1:], x.view(-1), x.detach(), x.expand(2, 3, 4), x.unbind()), []),
        ("copies", lambda: (x.clone(), x.contiguous(), x.half(), torch.empty(3), y.to(there)), []),
        ("an index, copied", lambda: x.index_copy(0, torch.tensor([1], device=there), x[:1]), ["meta"]),
        ("numbers", lambda: torch.tensor(2.0) * torch.tensor(3.0), []),
    ):
        with traced_ops(there) as seen:
            call()
        assert [operation.location for operation in seen] == expected, (name, seen)
    with traced_ops(torch.device("cpu")) as seen:
        z = y.clone().requires_grad_()
        torch.sin(z).sum().backward()
    assert "aten::cos" in {operation.name for operation in seen}, seen


def only_kernels_have_kernel_time():
    from torch.autograd import DeviceType

    from runners.torch import cuda

    def event(name, microseconds, device_type=DeviceType.CUDA, **more):
        return SimpleNamespace(
            name=name,
            device_type=device_type,
            time_range=SimpleNamespace(elapsed_us=lambda: microseconds),
            **more,
        )

    events = [
        event("sgemm", 12.5),
        event("vectorized_elementwise_kernel", 2),
        event("Memcpy DtoH (Device -> Pageable)", 100),
        event("Memset (Device)", 100),
        event("aten::mm", 100, DeviceType.CPU),
        event("Optimizer.step#Adam.step", 100, is_user_annotation=True),
    ]
    assert cuda.kernel_ns(events) == 14500


def a_profile_and_a_trace_work_together():
    """The host's own operations stand in for CUDA's."""
    import torch

    from runners.torch import cuda

    memory = {"memory_allocated": lambda device: 4096, "max_memory_allocated": lambda device: 4608}
    stand_ins = {"synchronize": lambda: None, "reset_peak_memory_stats": lambda device: None, **memory}
    with mock.patch.multiple(torch.cuda, **stand_ins):
        for _ in range(2):
            with cuda.trace_ops(torch.device("cpu")) as trace:
                torch.sin(torch.ones(3))
            assert [operation.name for operation in trace.operations] == ["aten::ones", "aten::sin"]
            assert trace.counters.pop("memory_bytes") == 512
            assert not any(trace.counters.values()), trace.counters
        with cuda.trace_ops(torch.device("cpu"), counts=False) as trace:
            torch.sin(torch.ones(3))
        assert ([operation.name for operation in trace.operations], trace.counters) == (["aten::ones", "aten::sin"], {})


def precision_switches_are_restored():
    import torch

    from runners.torch import cuda

    for wanted in ("highest", "high", "medium"):
        torch.set_float32_matmul_precision(wanted)
        before = cuda._switches()
        with cuda.full_precision():
            assert len(before) >= 3 and not any(cuda._switches().values()), cuda._switches()
        assert cuda._switches() == before and torch.get_float32_matmul_precision() == wanted


def a_cuda_device_that_cannot_be_used_has_a_reason():
    adapter = prepared("gpu")
    import torch

    holder = "python (process 12)"
    for said, holders, expected in (
        ("CUDA error: all CUDA-capable devices are busy or unavailable", [holder], holder),
        ("CUDA error: out of memory\nCUDA kernel errors might be", [holder], holder),
        ("CUDA error: all CUDA-capable devices are busy or unavailable", [], "busy or unavailable"),
        ("The NVIDIA driver on your system is too old. Please update", [holder], "too old"),
        ("CUDA error: no kernel image is available for execution on the device", [], "sm_37, sm_70"),
    ):
        with (
            mock.patch.object(torch.cuda, "init", side_effect=RuntimeError(said)),
            mock.patch.object(torch.cuda, "get_arch_list", lambda: ["sm_37", "sm_70"]),
            mock.patch.object(torch.cuda, "get_device_capability", lambda device: (9, 0)),
            mock.patch.object(torch.cuda, "get_device_name", lambda device: "NVIDIA H200"),
            mock.patch.object(devices, "holders", lambda patterns, found=holders: found),
        ):
            message = refused(adapter, "gpu")
        assert expected in message and "\n" not in message and ". " not in message, message


def opened(device_name):
    adapter = prepared(device_name)
    return adapter, adapter.open_device(device_name)


def prepared(device_name):
    os.environ.update(runners.torch.variables(device_name))
    adapter = importlib.import_module("runners.torch.adapter")
    adapter.prepare(device_name)
    return adapter


def refused(adapter, device_name):
    try:
        adapter.open_device(device_name)
    except DeviceUnavailable as error:
        return str(error)
    raise AssertionError(f"opened a {device_name} that is not there")


if __name__ == "__main__":
    prepared(sys.argv[1])
    run_each({name: globals()[name] for name in sys.argv[2:]})
