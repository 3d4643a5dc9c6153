"""What TensorFlow's adapter does on an XLA device: run inside an environment as
``python -m tests.contract.tensorflow_device_checks VERSION``; a broken promise is an AssertionError that names it."""

from __future__ import annotations

import contextlib
import os
import sys
import time

from runners import tensorflow as facts
from runners.core.errors import DeviceUnavailable
from runners.core.triage import sync_check


def main(version: str) -> None:
    os.environ.update(facts.variables("xla"))
    from runners.tensorflow import adapter

    assert adapter.version() == version
    check_what_is_not_there(adapter)
    check_what_is_held(adapter)
    adapter.prepare("xla")
    device = adapter.open_device("xla")
    assert adapter.device_facts(device)["kind"] == "xla"
    with adapter.scope(device):
        check_locations(adapter, device)
        check_placement(adapter)
        check_waiting(adapter, device)
        check_waiting_behind(adapter, device)
        check_trace(adapter, device)
        check_full_precision(adapter)
        check_traces(adapter)
    check_what_an_error_of_a_graph_says()
    check_scope_ends(adapter, device)


def check_what_is_not_there(adapter):
    for kind in ("gpu", "tpu"):
        error = unavailable(adapter, kind)
        assert "\n" not in str(error) and error.remedy, error
        assert "TensorFlow" in str(error), error


def check_what_is_held(adapter):
    """With a GPU that TensorFlow lists and cannot open the error names the process that has it."""
    import tensorflow as tf

    from runners.core import devices as system

    def refuse(*_):
        raise RuntimeError("cudaSetDevice() on GPU:0 failed. Status: all CUDA-capable devices are busy")

    listed = tf.config.list_physical_devices

    with contextlib.ExitStack() as stack:
        replace(stack, tf.config, "list_physical_devices", lambda kind=None: ["gpu"] if kind == "GPU" else listed(kind))
        replace(stack, tf.config, "set_visible_devices", refuse)
        replace(stack, system, "holders", lambda nodes: ["python3 (process 41)"])
        assert str(unavailable(adapter, "gpu")) == "the GPU is held by python3 (process 41)"
        replace(stack, system, "holders", lambda nodes: [])
        assert "all CUDA-capable devices are busy" in str(unavailable(adapter, "gpu"))


def check_what_an_error_of_a_graph_says():
    import tensorflow as tf

    from runners.tensorflow import devices

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        given = tf.compat.v1.placeholder("float32")
        wrong = tf.raw_ops.Reshape(tensor=given, shape=[7])
        try:
            session.run(wrong, {given: [1.0]})
        except tf.errors.InvalidArgumentError as error:
            said = devices.said_by(error)
    assert said.startswith("Input to reshape is a tensor with 1 values"), said


def check_locations(adapter, device):
    """Composite tensors have the location of their values; the host's own CPU is not the device."""
    import tensorflow as tf

    ones = tf.ones([2])
    ragged = tf.RaggedTensor.from_row_splits(ones, tf.constant([0, 2], tf.int64))
    sparse = tf.SparseTensor(tf.constant([[0, 1], [2, 0]], tf.int64), ones, [3, 4])
    for leaf in (ones, tf.Variable(ones), ragged, sparse):
        assert adapter.on_device(adapter.location(leaf), device), leaf
    with tf.device("/device:CPU:0"):
        there = adapter.location(tf.ones([2]))
    assert there == "CPU:0" and not adapter.on_device(there, device)


def check_placement(adapter):
    """Neither a graph that names no device, nor a session that asks for it, lets an operation move to the host."""
    import tensorflow as tf

    v1 = tf.compat.v1
    for soft in (None, v1.ConfigProto(allow_soft_placement=True)):
        with tf.Graph().as_default():
            drawn = tf.random.gamma([3], 2.0)
            with v1.Session(config=soft) as session:
                assert "no supported kernel" in raised(tf.errors.InvalidArgumentError, session.run, drawn)
    assert "RandomGamma" in raised(tf.errors.InvalidArgumentError, tf.random.gamma, [3], 2.0)
    gamma = tf.function(lambda: tf.random.gamma([3], 2.0))
    assert "RandomGamma" in raised(tf.errors.InvalidArgumentError, gamma)


def check_waiting(adapter, device):
    """Where eager operations run behind the caller's back, a wait that does not wait is found out."""
    with asynchronous():
        not_waiting = sync_check.check_sync(adapter, device, time.perf_counter_ns, lambda output: None)
        assert not not_waiting["passed"], not_waiting
        waiting = sync_check.check_sync(adapter, device, time.perf_counter_ns, adapter.wait)
        assert waiting["left_ns"] < waiting["grown_ns"] / 4, waiting


def check_waiting_behind(adapter, device):
    """As on a GPU or TPU: the operation that is waited for is behind all others, and not one of a test's."""
    import tensorflow as tf

    from runners.tensorflow import waiting

    waiting.wait_behind(device)
    with asynchronous():
        found = sync_check.check_sync(adapter, device, time.perf_counter_ns, adapter.wait)
        assert found["left_ns"] < found["grown_ns"] / 4, found
    with tf.Graph().as_default() as graph:
        adapter.wait(None)
        assert graph.get_operations() == []
    with adapter.trace_ops(device) as trace:
        with tf.device("/device:CPU:0"):
            output = tf.cos(1.0)
        adapter.wait(output)
    assert trace.operations == [("Cos", "CPU:0")], trace.operations


def check_trace(adapter, device):
    """Each way to compute is seen, with its place; nothing is seen of what was computed before."""
    import numpy as np
    import tensorflow as tf

    host = "/device:CPU:0"
    ones = tf.ones([2, 2])
    by_numpy = tf.function(lambda x: tf.numpy_function(np.sin, [x], tf.float32))
    compiled = tf.function(tf.sin, jit_compile=True)

    def on_host(call, *args):
        with tf.device(host):
            return call(*args)

    for call, expected in (
        (lambda: tf.sin(ones), {("Sin", "XLA_CPU:0")}),
        (lambda: on_host(tf.sin, ones), {("Sin", "CPU:0")}),
        (lambda: tf.function(lambda x: tf.sin(x))(ones), {("function <lambda>", "XLA_CPU:0")}),
        (lambda: on_host(compiled, ones), {("function sin", "CPU:0")}),
        (lambda: on_host(by_numpy, ones), {("PyFunc", "host")}),
        (lambda: on_host(tf.py_function, tf.sin, [ones], tf.float32), {("EagerPyFunc", "host"), ("Sin", "CPU:0")}),
        (lambda: tf.numpy_function(np.sin, [ones], tf.float32), {("numpy_function", "host")}),
        (lambda: ones.numpy(), {("read to host", "host")}),
        (lambda: float(ones[0, 0]), {("StridedSlice", "XLA_CPU:0")}),
        (lambda: tf.reshape(ones, [4]), set()),
        (lambda: tf.constant(1, tf.float16), set()),
    ):
        with tf.device(host):
            tf.cos(tf.constant([1.0, 2.0]))
        with adapter.trace_ops(device) as trace:
            call()
        assert set(trace.operations) == expected, trace.operations


def check_full_precision(adapter):
    import tensorflow as tf

    enabled = tf.config.experimental.tensor_float_32_execution_enabled
    before = enabled()
    with adapter.full_precision():
        assert not enabled()
    assert enabled() == before


def check_traces(adapter):
    import tensorflow as tf

    twice = tf.function(lambda x: x + x)
    before = adapter.counters()
    twice(tf.ones([2]))
    twice(tf.ones([2]))
    after = adapter.counters()
    assert after["traces"] - before["traces"] == 1
    assert after["trace_ns"] > before["trace_ns"]


def check_scope_ends(adapter, device):
    """After a scope that ended by an error nothing of it is left."""
    import tensorflow as tf

    soft = tf.config.get_soft_device_placement()
    with contextlib.suppress(KeyError), adapter.scope(device), adapter.trace_ops(device):
        raise KeyError
    assert tf.config.get_soft_device_placement() == soft
    assert not tf.debugging.get_log_device_placement()
    with tf.Graph().as_default():
        assert tf.add(1.0, 2.0).device == ""


@contextlib.contextmanager
def asynchronous():
    import tensorflow as tf

    tf.config.experimental.set_synchronous_execution(False)
    try:
        yield
    finally:
        tf.config.experimental.set_synchronous_execution(True)


def unavailable(adapter, kind):
    try:
        adapter.open_device(kind)
    except DeviceUnavailable as error:
        return error
    raise AssertionError(f"opened a {kind} that is not there")


def raised(kind, call, *args):
    try:
        call(*args)
    except kind as error:
        return str(error)
    raise AssertionError(f"{call} raised no {kind.__name__}")


def replace(stack, place, name, value):
    stack.callback(setattr, place, name, getattr(place, name))
    setattr(place, name, value)


if __name__ == "__main__":
    main(sys.argv[1])
