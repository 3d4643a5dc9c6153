"""What every adapter must do, present and future: run inside an environment as ``python -m
tests.contract.adapter_checks FRAMEWORK VERSION DEVICE``; a broken promise is an AssertionError that names it."""

from __future__ import annotations

import importlib
import os
import sys
import time

import numpy as np

from runners.core.adapter import HOST
from runners.core.public import names
from runners.core.testing import tree
from runners.core.triage import sync_check

DTYPES = ("float16", "bfloat16", "float32", "int8", "int32", "uint8", "bool", "complex64")
LAYOUTS = ("contiguous", "transposed", "strided")


COUNTERS = {
    "traces",
    "lowerings",
    "compilations",
    "executions",
    "to_device",
    "from_device",
    "fallbacks",
    "trace_ns",
    "lower_ns",
    "compile_ns",
    "execute_ns",
    "to_device_ns",
    "from_device_ns",
    "to_device_bytes",
    "from_device_bytes",
}


def main(framework: str, expected_version: str, device_name: str) -> None:
    facts = names.framework(framework)
    assert facts.MODULE not in sys.modules, "the facts are read before the framework is imported"
    assert device_name in facts.DEVICES
    os.environ.update(facts.variables(device_name))
    adapter = importlib.import_module(f"runners.{framework}.adapter")
    for _ in range(2):
        adapter.prepare(device_name)

    home = sys.modules[facts.MODULE].__file__ or ""
    assert "site-packages" in home, f"the framework comes from {home}, not from its installation"
    assert adapter.version() == expected_version

    device = adapter.open_device(device_name)
    check_facts(adapter, device, device_name)
    adapter.seed(1)
    with adapter.float64_mode(), adapter.scope(device):
        for dtype in ("float64", "complex128"):
            check_round_trip(adapter, device, dtype, "contiguous")
    with adapter.scope(device):
        for dtype in DTYPES:
            for layout in LAYOUTS:
                check_round_trip(adapter, device, dtype, layout)
        check_nesting(adapter, device)
        check_what_is_no_tensor(adapter)
        check_synchronization(adapter, device)
        check_trace(adapter, device, device_name)
    assert not adapter.on_device(HOST, device)
    check_counters(adapter, device)
    try:
        adapter.dtype("float7")
    except KeyError:
        pass
    else:
        raise AssertionError("float7 is a dtype")


def check_facts(adapter, device, device_name):
    known = adapter.device_facts(device)
    assert known["kind"] == device_name, known
    for values in (known, adapter.device_state(device)):
        assert all(value is None or isinstance(value, (str, int, float, bool)) for value in values.values()), values
    with adapter.full_precision():
        pass
    assert adapter.device_facts(device) == known, "strict changed more than what it surrounds"


def check_synchronization(adapter, device):
    found = sync_check.check_sync(adapter, device, time.perf_counter_ns, adapter.wait)
    assert found["passed"], found
    output = adapter.calibration_kernel(1, device)()
    adapter.wait(output)
    (leaf,) = tree.leaves(output)
    assert adapter.on_device(adapter.location(leaf), device)


def check_trace(adapter, device, device_name):
    """On the host's own CPU there is nothing to tell apart, and an adapter may see nothing."""
    with adapter.trace_ops(device) as trace:
        pass
    assert not trace.operations, trace.operations
    call = adapter.calibration_kernel(1, device)
    adapter.wait(call())
    for _ in range(2):
        with adapter.trace_ops(device) as trace:
            adapter.wait(call())
        assert all(adapter.on_device(operation.location, device) for operation in trace.operations), trace.operations
        assert trace.operations or device_name == "cpu", "what was computed before is seen too"
    assert all(isinstance(count, int) for count in trace.counters.values()), trace.counters


def check_counters(adapter, device):
    before = adapter.counters()
    output = adapter.calibration_kernel(3, device)()
    adapter.wait(output)
    for leaf in tree.leaves(output):
        adapter.to_numpy(leaf)
    after = adapter.counters()
    assert set(after) <= COUNTERS, set(after) - COUNTERS
    assert all(isinstance(count, int) and count >= before.get(name, 0) for name, count in after.items()), after


def check_round_trip(adapter, device, dtype, layout):
    values = np.array([[0, 1, 2], [1, 0, 3]]).astype("float32" if dtype == "bfloat16" else dtype)
    tensor = adapter.tensor(values, dtype, device, layout)
    adapter.wait(tensor)
    assert adapter.dtype_name(tensor) == dtype, (dtype, adapter.dtype_name(tensor))
    assert adapter.on_device(adapter.location(tensor), device), adapter.location(tensor)
    back = adapter.to_numpy(tensor)
    assert isinstance(back, np.ndarray) and back.dtype == values.dtype and (back == values).all(), (dtype, layout, back)
    # Frameworks without strides, and XLA, ignore the layout.
    if hasattr(tensor, "is_contiguous") and str(device) == "cpu":
        assert tensor.is_contiguous() == (layout == "contiguous"), (dtype, layout)
    scalar = adapter.tensor(values[0, 1], dtype, device, layout)
    assert adapter.to_numpy(scalar).shape == ()
    empty = adapter.tensor(values[:0], dtype, device, layout)
    assert adapter.to_numpy(empty).shape == (0, 3)


def check_nesting(adapter, device):
    tensor = adapter.tensor(np.ones(2, "float32"), "float32", device, "contiguous")
    for output in (tensor, [tensor, (tensor, {"a": tensor})], (), None, 3, "text", [None, tensor]):
        adapter.wait(output)
        adapter.wait_as_published(output)


def check_what_is_no_tensor(adapter):
    for leaf in (None, 3, 2.5, "text", object(), np.ones(2)):
        assert adapter.dtype_name(leaf) is None, leaf
        assert adapter.location(leaf) in (None, HOST), leaf


if __name__ == "__main__":
    main(*sys.argv[1:])
