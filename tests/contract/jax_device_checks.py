"""What JAX's adapter promises of its devices beyond what every adapter must do: run inside an environment as
``python -m tests.contract.jax_device_checks CHECK...``; a broken promise is an AssertionError that names it."""

from __future__ import annotations

import functools
import os
import sys
import time
from unittest import mock

import numpy as np

import runners.jax
from runners.core import devices
from runners.core.adapter import HOST
from runners.core.errors import DeviceUnavailable
from runners.core.triage import sync_check
from tests.contract.forked_checks import run_each


def wait_waits(adapter, device):
    """For what lies in containers, closures and objects of any kind; the study waited for a bare array only."""
    call = adapter.calibration_kernel(16, device)
    adapter.wait(call())

    class Holder:
        def __init__(self, value):
            self.value = value

    for hold in (
        lambda array: array,
        lambda array: {"a": (array, [array])},
        lambda array: {1: array, "mixed keys": 2},
        lambda array: lambda: array,
        lambda array: [Holder({"deep": Holder(array)})],
    ):
        ((array,),) = call().values()
        assert not array.is_ready(), "the work is done before anybody waited: nothing is proved"
        adapter.wait(hold(array))
        assert array.is_ready(), hold(array)
    ((array,),) = call().values()
    adapter.wait_as_published((array,))
    assert not array.is_ready()
    adapter.wait_as_published(array)
    assert array.is_ready()


def sync_check_fails_without_a_wait(adapter, device):
    found = sync_check.check_sync(adapter, device, time.perf_counter_ns, lambda output: None)
    assert not found["passed"] and found["reason"], found


def trace_sees(adapter, device):
    """Each run, on the device or the host, by programs that were compiled before too, and what NumPy took back."""
    import jax
    import jax.numpy as jnp

    x = adapter.tensor(np.arange(64, dtype="float32").reshape(8, 8), "float32", device, "contiguous")
    host = jax.local_devices(backend="cpu")[0]
    sine, ready = jax.jit(jnp.sin), jax.jit(jnp.cos).lower(x).compile()
    here = adapter.location(x)

    def called_back(x):
        return jax.pure_callback(lambda a: np.asarray(a), jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    for name, call, expected in (
        ("jitted", lambda: sine(x), {here}),
        ("twice", lambda: sine(sine(x)), {here}),
        ("compiled ahead", lambda: ready(x), {here}),
        ("mapped", lambda: jax.pmap(jnp.sin, devices=[device])(np.ones((1, 4), "float32")), {here}),
        ("on the host", lambda: sine(jax.device_put(x, host)), {f"{host.platform}:{host.id}"}),
        ("a mask, whose places NumPy finds", lambda: x[x > 2], {here, HOST}),
        ("NumPy", lambda: np.sin(x), {HOST}),
        ("Python", lambda: jax.jit(called_back)(x), {here, HOST}),
        ("one number read", lambda: float(x[0, 0]), {here}),
        ("moved", lambda: (jnp.reshape(x, (4, 16)), jax.device_put(x, host), jnp.asarray(np.ones(3))), set()),
        ("a constant that a program takes in", lambda: jax.jit(lambda y: x + y)(x), {here}),
        ("nothing", lambda: jax.make_jaxpr(jnp.sin)(x), set()),
    ):
        with adapter.trace_ops(device) as trace:
            adapter.wait(call())
        found = {operation.location for operation in trace.operations}
        assert found == expected, (name, trace.operations)
    with adapter.trace_ops(device) as trace:
        sine(sine(x))
    assert trace.counters["executions"] == 2, trace.counters
    assert memoryview(np.asarray(x)).shape == (8, 8), "arrays have lost their buffers"
    with adapter.trace_ops(device) as trace:
        np.asarray(sine(x))
    assert (trace.counters["from_device"], trace.counters["from_device_bytes"]) == (1, 256), trace.counters


def a_trace_without_its_names_says_so(adapter, device):
    from jax._src.interpreters import pxla

    x = adapter.tensor(np.ones(3), "float32", device, "contiguous")
    with mock.patch.object(pxla, "ExecuteReplicated", None), adapter.trace_ops(device) as trace:
        pass
    assert not trace.operations
    assert any("operations were not traced" in line for line in trace.untraced), trace.untraced
    with mock.patch.dict(os.environ, PORTBENCH_JAX_OP_TRACE="0"), adapter.trace_ops(device) as trace:
        adapter.wait(x + 1)
    assert not trace.operations and "PORTBENCH_JAX_OP_TRACE=0" in trace.untraced[0], trace.untraced
    with adapter.trace_ops(device) as trace:
        adapter.wait(x + 1)
    assert trace.operations and not trace.untraced


def errors_for_held_devices_name_the_holders(adapter, device):
    """The messages are those of libtpu and CUDA."""
    holder = "python (process 12)"
    for kind, said in (
        ("tpu", "ABORTED: The TPU is already in use by process with pid 12. Not attempting to load libtpu.so"),
        ("gpu", "INTERNAL: CUDA_ERROR_DEVICE_UNAVAILABLE: all CUDA-capable devices are busy or unavailable"),
    ):
        error = RuntimeError(f"Unable to initialize backend '{kind}': {said} (set JAX_PLATFORMS='' to choose)")
        for holders in ([holder], []):
            with (
                mock.patch("jax.local_devices", side_effect=error),
                mock.patch.object(devices, "holders", lambda patterns, found=holders: found),
            ):
                try:
                    adapter.open_device(kind)
                except DeviceUnavailable as unavailable:
                    message = str(unavailable)
                    assert unavailable.remedy
                else:
                    raise AssertionError(f"opened a {kind} that is taken")
            assert "JAX_PLATFORMS" not in message and ". " not in message, message
            assert holder in message if holders else said.split(". ")[0] in message, message


def on_opened_device(check):
    adapter = runners.jax.adapter
    device = adapter.open_device("xla")
    with adapter.scope(device):
        check(adapter, device)


if __name__ == "__main__":
    os.environ.update(runners.jax.variables("xla"))
    import runners.jax.adapter

    runners.jax.adapter.prepare("xla")
    run_each({name: functools.partial(on_opened_device, globals()[name]) for name in sys.argv[1:]})
