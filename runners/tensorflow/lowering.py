"""Lowers steps to HLO, as TensorFlow does on an XLA device: each eager operation and each function is one program. The
shapes are those of the inputs, and so are the values of those that must be constants.
"""

from __future__ import annotations

import hashlib
import inspect
from typing import Any

from tensorflow.core.framework import function_pb2
from tensorflow.python.eager import context
from tensorflow.python.framework import kernels, op_def_library, op_def_registry

from runners.tensorflow.dispatch_listener import Step


class NotLowered(Exception):
    """TensorFlow does not lower a step; the message is TensorFlow's."""


def is_compiled(operation: str) -> bool:
    """Whether an XLA device compiles an operation. Operations that only handle variables and iterators have plain
    kernels."""
    found = kernels.get_registered_kernels_for_op(operation).kernel
    return any(kernel.device_type == "XLA_CPU_JIT" for kernel in found)


def hlo(step: Step, device: str) -> bytes:
    """The step as a serialized HloModuleProto; ``device`` is TensorFlow's name of the XLA device of its inputs. Raises
    NotLowered."""
    ask = context.context().get_compiler_ir
    named = {"function_name": step.name if step.is_function else _function_of(step), "stage": "hlo_serialized"}
    # Since about TensorFlow 2.12, captured inputs and the platform are separate arguments.
    if "flat_args" in inspect.signature(ask).parameters:
        given = {"flat_args": list(step.inputs), "captured_inputs": [], "platform_name": None}
    else:
        given = {"args": list(step.inputs)}
    try:
        module: bytes = ask(device_name=device, **given, **named)
    except (ValueError, TypeError) as error:
        raise NotLowered(str(error)) from error
    return module


def _function_of(step: Step) -> str:
    """The name of a TensorFlow function that consists of this operation; the same for equal operations."""
    operation = op_def_registry.get(step.name)
    if operation is None:
        raise NotLowered(f"there is no operation {step.name}")
    function = function_pb2.FunctionDef()
    node = function.node_def.add(name="operation", op=step.name)
    kinds = {attribute.name: attribute.type for attribute in operation.attr}
    for name, value in step.attributes.items():
        node.attr[name].CopyFrom(op_def_library.value_to_attr_value(value, kinds[name], name))
    for number, tensor in enumerate(step.inputs):
        function.signature.input_arg.add(name=f"input{number}", type=tensor.dtype.as_datatype_enum)
        node.input.append(f"input{number}")
    for output in operation.output_arg:
        for place, dtype in enumerate(_dtypes(output, node.attr)):
            name = f"{output.name}{place}"
            function.signature.output_arg.add(name=name, type=dtype)
            function.ret[name] = f"operation:{output.name}:{place}"
    digest = hashlib.sha256(function.SerializeToString(deterministic=True)).hexdigest()[:16]
    function.signature.name = f"{step.name}_{digest}"
    if not context.context().has_function(function.signature.name):
        context.context().add_function_def(function)
    return str(function.signature.name)


def _dtypes(output: Any, attributes: Any) -> list[int]:
    """The dtypes of the tensors of one output of an operation."""
    if output.type_list_attr:
        return list(attributes[output.type_list_attr].list.type)
    dtype = attributes[output.type_attr].type if output.type_attr else output.type
    return [dtype] * (attributes[output.number_attr].i if output.number_attr else 1)
