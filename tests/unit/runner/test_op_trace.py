"""Tracing of operations when a private part of a framework is missing: nothing fails, and the result says so."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest


@pytest.fixture
def stub(monkeypatch):
    """Replaces a framework by an empty module, and imports modules of its runner afresh."""

    def stubbing(framework, runner_module, **attributes):
        module = ModuleType(framework)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, framework, module)
        for name in [name for name in sys.modules if name.startswith(f"runners.{framework}.")]:
            monkeypatch.delitem(sys.modules, name)
        found = importlib.import_module(f"runners.{framework}.{runner_module}")
        for name in [name for name in sys.modules if name.startswith(f"runners.{framework}.")]:
            monkeypatch.setitem(sys.modules, name, sys.modules[name])
        return found

    return stubbing


def test_a_jax_without_its_private_modules_is_not_traced(stub):
    op_trace = stub("jax", "op_trace", __version__="9.9.9", Array=object)
    with op_trace.trace_ops(lambda location: True) as trace:
        pass
    assert trace.operations == []
    assert trace.untraced == ["operations were not traced: JAX 9.9.9 has no jax._src"]


def test_the_trace_of_jax_can_be_switched_off(stub, monkeypatch):
    monkeypatch.setenv("PORTBENCH_JAX_OP_TRACE", "0")
    op_trace = stub("jax", "op_trace", __version__="9.9.9", Array=object)
    with op_trace.trace_ops(lambda location: True) as trace:
        pass
    assert trace.untraced == ["operations were not traced: PORTBENCH_JAX_OP_TRACE=0"]


def test_the_buffer_protocol_of_a_type_is_removed_and_restored(stub):
    op_trace = stub("jax", "op_trace", __version__="9.9.9", Array=object)
    if sys.implementation.name != "cpython":
        assert not op_trace.can_remove_buffers()
        return
    assert op_trace.can_remove_buffers()
    assert bytes(memoryview(op_trace._Probe(b"x"))) == b"x"


def test_another_layout_of_types_is_noticed(stub, monkeypatch):
    op_trace = stub("jax", "op_trace", __version__="9.9.9", Array=object)
    monkeypatch.setattr(op_trace, "_has_buffer", lambda value: True)
    assert not op_trace.can_remove_buffers()


def test_a_tensorflow_without_its_private_modules_is_not_traced(stub):
    op_trace = stub("tensorflow", "op_trace", __version__="9.9.9")
    with op_trace.trace_ops("/device:XLA_CPU:0") as trace:
        assert not op_trace.is_tracing()
    assert trace.operations == []
    (line,) = trace.untraced
    assert line.startswith("operations were not traced: TensorFlow 9.9.9 differs: No module named 'tensorflow.core")
