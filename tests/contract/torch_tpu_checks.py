"""What PyTorch's adapter promises of TorchTPU, on its stand-in, XLA's CPU compiler.

Run inside an environment as ``python -m tests.contract.torch_tpu_checks DEVICE CHECK...``; a broken promise is an
AssertionError that names it.
"""

from __future__ import annotations

import importlib
import os
import sys
from unittest import mock

import numpy as np

import runners.torch
from runners.core import devices
from runners.core.adapter import HOST
from runners.core.errors import DeviceUnavailable
from tests.contract.forked_checks import run_each
from tests.contract.torch_device_checks import check_draws


def a_late_error_is_raised_by_the_wait_for_its_own_output():
    """The stand-in cannot compile a cumulative sum, and learns it after the call has returned."""
    adapter, device = opened()
    import torch

    x = adapter.tensor(np.ones((8, 8), "float32"), "float32", device, "contiguous")
    adapter.wait(x)
    output = {"sum": (torch.cumsum(x, 0),)}
    assert "scan" in said_by(lambda: adapter.wait(output))
    following = torch.cumsum(x, 0) + 1
    assert said_by(lambda: adapter.wait(following))
    adapter.wait(x + 1)


def nothing_falls_back_to_the_host():
    adapter, device = opened()
    import torch

    x = adapter.tensor(np.eye(4, dtype="float32"), "float32", device, "contiguous")
    assert "aten::linalg_eig' is not implemented for TPU" in said_by(lambda: torch.linalg.eig(x))
    assert adapter.device_facts(device)["cpu_fallback"] is False


def a_trace_says_where_operations_run():
    adapter, device = opened()
    import torch

    x = adapter.tensor(np.arange(12, dtype="float32").reshape(3, 4), "float32", device, "contiguous")
    here = adapter.location(x)
    for name, call, expected in (
        ("computed", lambda: x + 1, {("aten::add.Tensor", here)}),
        ("read", lambda: x.tolist(), {("read to host", HOST)}),
        ("on the host", lambda: torch.ones(3) * 2, {("aten::ones", "cpu"), ("aten::mul.Tensor", "cpu")}),
        ("moved", lambda: (x.t()[1:].reshape(-1), x.clone()), set()),
    ):
        with adapter.trace_ops(device) as trace:
            adapter.wait(call())
        assert set(map(tuple, trace.operations)) == expected, (name, trace.operations)


def counters_tell_what_a_call_cost():
    adapter, device = opened()
    import torch

    x = adapter.tensor(np.arange(12, dtype="float32"), "float32", device, "contiguous")
    grown = []
    for _ in range(2):
        before = dict(adapter.counters())
        adapter.wait(torch.sinh(x))
        grown.append({name: count - before[name] for name, count in adapter.counters().items()})
    assert grown == [
        {"executions": 1, "compilations": 1, "fallbacks": 0},
        {"executions": 1, "compilations": 0, "fallbacks": 0},
    ], grown


def a_seed_fixes_what_is_drawn():
    check_draws(*opened())


def full_precision_reaches_the_program():
    adapter, device = opened()
    from runners.torch import tpu

    x = adapter.tensor(np.ones((8, 8), "float32"), "float32", device, "contiguous")
    taken = {}
    for name, context in (("usual", mock.MagicMock()), ("full", adapter.full_precision()), ("after", mock.MagicMock())):
        tpu.parts.backend._clear_cache()
        tpu.parts.tracing._drain_structured_log_buffer()
        with context:
            adapter.wait(x @ x)
        (event,) = tpu.parts.tracing._drain_structured_log_buffer()["events"]
        taken[name] = "HIGHEST" in event["stablehlo"]
    assert taken == {"usual": False, "full": True, "after": False}, taken


def a_machine_without_a_tpu_is_refused_before_any_computation():
    """TorchTPU would abort the process."""
    adapter = prepared()
    assert "there is no TPU for TorchTPU" in refused(adapter, "tpu")


def the_error_for_a_held_tpu_names_the_holder():
    adapter = prepared()
    from runners.torch import tpu

    with (
        mock.patch.object(tpu.parts.hardware, "get_tpu_device_count", lambda: 4),
        mock.patch.object(devices, "holders", lambda patterns: ["python (process 12)"]),
    ):
        assert refused(adapter, "tpu") == "the TPU is held by python (process 12)"


def a_private_name_that_is_gone_is_one_sentence():
    adapter = prepared()
    from runners.torch import tpu

    sync = tpu.parts.sync
    tpu.parts = None
    with mock.patch.object(sync, "computation_mlir", create=True):
        del sync.computation_mlir
        message = refused(adapter, "xla")
    assert "has no torch_tpu._internal.sync.computation_mlir" in message, message


def opened():
    adapter = prepared()
    return adapter, adapter.open_device("xla")


def prepared():
    os.environ.update(runners.torch.variables("xla"))
    adapter = importlib.import_module("runners.torch.adapter")
    adapter.prepare("xla")
    return adapter


def refused(adapter, device_name):
    try:
        adapter.open_device(device_name)
    except DeviceUnavailable as error:
        return str(error)
    raise AssertionError(f"opened a {device_name} that is not there")


def said_by(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("nothing was raised")


if __name__ == "__main__":
    prepared()
    run_each({name: globals()[name] for name in sys.argv[2:]})
