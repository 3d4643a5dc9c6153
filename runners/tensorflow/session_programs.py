"""Turns what a session computes on one device into a function: the operations that XLA compiles for what is fetched.

The inputs are what is fed and what comes from variables, iterators and other devices; these are zeros of their shape.
TensorFlow itself compiles such a graph in clusters of its choice; here all of them are one program.
"""

from __future__ import annotations

import hashlib
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import function_pb2
from tensorflow.python.eager import context

from runners.tensorflow import lowering


class Program(NamedTuple):
    """The name of a function in TensorFlow, and arrays for its inputs with their dtypes."""

    function: str
    inputs: Sequence[tuple[Any, tf.DType]]


class UnknownShape(Exception):
    """An input's shape is not known before the session runs."""


def program(graph: Any, device: str, wanted: Iterable[Any], feeds: Mapping[Any, Any]) -> Program | None:
    """The program of the ``wanted`` tensors and operations on ``device``, with ``feeds`` (arrays by tensors'
    references); None if nothing is computed there. Raises UnknownShape."""
    needed = _needed(wanted, feeds)
    inside = {op for op in needed if op.device.endswith(device) and _is_computed(op)}
    if not inside:
        return None
    inputs: dict[str, Any] = {}
    function = function_pb2.FunctionDef()
    for op in sorted(inside, key=lambda op: str(op.name)):
        node = function.node_def.add()
        node.CopyFrom(op.node_def)
        # Whether a program is accepted does not depend on the order of its operations.
        del node.input[:]
        for tensor in op.inputs:
            if tensor.op in inside and tensor.ref() not in feeds:
                node.input.append(_place(tensor))
            else:
                node.input.append(inputs.setdefault(tensor.name, (f"input{len(inputs)}", tensor))[0])
        for tensor in op.outputs:
            name = f"output{len(function.ret)}"
            function.signature.output_arg.add(name=name, type=tensor.dtype.as_datatype_enum)
            function.ret[name] = _place(tensor)
    for name, tensor in inputs.values():
        function.signature.input_arg.add(name=name, type=tensor.dtype.as_datatype_enum)
    digest = hashlib.sha256(function.SerializeToString(deterministic=True)).hexdigest()[:16]
    function.signature.name = f"session_{digest}"
    for definition in [*graph.as_graph_def().library.function, function]:
        if not context.context().has_function(definition.signature.name):
            context.context().add_function_def(definition)
    return Program(function.signature.name, [(_value(tensor, feeds), tensor.dtype) for _, tensor in inputs.values()])


def _needed(wanted: Iterable[Any], feeds: Mapping[Any, Any]) -> set[Any]:
    pending = [each.op if isinstance(each, tf.Tensor) else each for each in wanted]
    found: set[Any] = set()
    while pending:
        op = pending.pop()
        if op not in found:
            found.add(op)
            pending += [tensor.op for tensor in op.inputs if tensor.ref() not in feeds]
            pending += op.control_inputs
    return found


def _is_computed(op: Any) -> bool:
    values = [*op.inputs, *op.outputs]
    is_compiled = op.type not in ("Placeholder", "Const") and lowering.is_compiled(op.type)
    return is_compiled and not any(tensor.dtype in (tf.resource, tf.string) for tensor in values)


def _value(tensor: Any, feeds: Mapping[Any, Any]) -> Any:
    if tensor.ref() in feeds:
        return feeds[tensor.ref()]
    if tensor.op.type == "Const":
        # TensorFlow does not allow feeding a constant after its value was read with TensorFlow.
        return tf.make_ndarray(tensor.op.get_attr("value"))
    if not tensor.shape.is_fully_defined():
        raise UnknownShape(f"the shape of {tensor.name} is not known before the session runs")
    return np.zeros(tensor.shape.as_list(), tensor.dtype.as_numpy_dtype)


def _place(tensor: Any) -> str:
    """The name of a tensor in a function's body: operation, output, and index among that output's tensors."""
    before = 0
    for output in tensor.op.op_def.output_arg:
        attribute = tensor.op.node_def.attr[output.number_attr or output.type_list_attr]
        count = attribute.i if output.number_attr else len(attribute.list.type) if output.type_list_attr else 1
        if tensor.value_index < before + count:
            return f"{tensor.op.name}:{output.name}:{tensor.value_index - before}"
        before += count
    raise AssertionError(f"{tensor.name} is no output of its operation")
