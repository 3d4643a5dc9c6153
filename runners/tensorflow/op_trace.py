"""Sees where TensorFlow computes.

An eager operation runs inside of a function made for it alone, and TensorFlow tells the graphs into which it partitions
a function or a session's graph, each operation with its device, when their kernels are built: their cache is emptied
before. A function that is called on an XLA device is compiled as a whole, without partitions: it is the operation. What
Python computes on the host is in no graph.

(The log of placements cannot be used: once operations have run, ``tf.debugging.set_log_device_placement`` sets soft
placement in its stead, in 2.11 and in 2.21.)
"""

from __future__ import annotations

import contextlib
import re
from typing import Any, Callable, Iterable, Iterator

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import pywrap_tf_session as tf_session
from tensorflow.python.client import session as sessions
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import ops, tensor_util
from tensorflow.python.ops import script_ops

from runners.core.adapter import HOST, Operation, OpTrace

FUNCTION = re.compile(r"_*(?:inference|forward|backward)_(.*?)(?:_\d+)*")
COMPILING = {"TPU", "XLA_CPU", "XLA_GPU"}

PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
"""Python code on the host, whatever device they are said to be on."""

NO_OPERATIONS = {
    # What moves values, or hands them through.
    *("_Arg", "_Retval", "_DeviceArg", "_DeviceRetval", "_Send", "_Recv", "_HostSend", "_HostRecv", "_EagerConst"),
    *("Const", "Identity", "IdentityN", "Placeholder", "PlaceholderWithDefault", "StopGradient", "PreventGradient"),
    *("Snapshot", "NoOp", "Assert"),
    # Variables: their making, reading and writing.
    *("VarHandleOp", "_VarHandlesOp", "ReadVariableOp", "_ReadVariablesOp", "AssignVariableOp", "DestroyResourceOp"),
    *("VarIsInitializedOp", "IsVariableInitialized", "VariableV2", "Assign"),
    # What describes values.
    *("Shape", "ShapeN", "VariableShape", "Rank", "Size", "Reshape", "Squeeze", "ExpandDims"),
    # Flow of control, whose operations are seen by themselves.
    *("Switch", "RefSwitch", "_SwitchN", "Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit", "NextIteration"),
    *("LoopCond", "ControlTrigger", "PartitionedCall", "StatefulPartitionedCall"),
}

_tracing = False


def is_tracing() -> bool:
    return _tracing


def short(device: str | None) -> str:
    """``GPU:0`` of ``/job:localhost/replica:0/task:0/device:GPU:0``."""
    return (device or "").split("/")[-1].replace("device:", "")


@contextlib.contextmanager
def trace_ops(device: str) -> Iterator[OpTrace]:
    """Collects the operations, each once; see runners.core.adapter.Adapter.watch."""
    global _tracing
    watched = OpTrace()
    runs: list[Any] = []
    compiled: list[Operation] = []
    context.enable_run_metadata()
    # It has kept what was built since the last time.
    context.export_run_metadata()
    context.context().clear_kernel_cache()
    with contextlib.ExitStack() as stack:
        _tracing = True
        stack.callback(_no_longer)
        stack.callback(context.disable_run_metadata)
        stack.enter_context(_sessions_tell(runs))
        stack.enter_context(_compiled_functions_tell(compiled))
        stack.enter_context(_host_code_tells(device, watched.operations))
        try:
            yield watched
        finally:
            if context.is_async():
                context.async_wait()
            runs.append(context.export_run_metadata())
            graphs = [graph for run in runs for graph in _partition_graphs(run)]
            seen = [*watched.operations, *compiled, *_of_graphs(graphs)]
            watched.operations[:] = dict.fromkeys(seen)


def _no_longer() -> None:
    global _tracing
    _tracing = False


def _operation(name: str, device: str) -> Iterable[Operation]:
    if name not in NO_OPERATIONS:
        yield Operation(name, HOST if name in PYTHON else short(device))


def _of_graphs(graphs: Iterable[Any]) -> Iterator[Operation]:
    for graph in graphs:
        inner = {function.signature.name for function in graph.library.function}
        for node in graph.node:
            if node.op not in inner and FUNCTION.fullmatch(node.op) is None:
                yield from _operation(node.op, node.device)


def _partition_graphs(run: Any) -> Iterator[Any]:
    yield from run.partition_graphs
    for function in run.function_graphs:
        yield from function.partition_graphs


@contextlib.contextmanager
def _sessions_tell(runs: list[Any]) -> Iterator[None]:
    # Behind the public ``run``, which a caller may have taken from its class before.
    original = sessions.BaseSession._run

    def run(self: Any, handle: Any, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        telling = config_pb2.RunOptions()
        if options is not None:
            telling.ParseFromString(tf_session.TF_GetBuffer(options))
        telling.output_partition_graphs = True
        asked = tf_session.TF_NewBufferFromString(telling.SerializeToString())
        told = tf_session.TF_NewBuffer() if run_metadata is None else run_metadata
        try:
            output = original(self, handle, fetches, feed_dict, asked, told)
            runs.append(config_pb2.RunMetadata.FromString(tf_session.TF_GetBuffer(told)))
        finally:
            tf_session.TF_DeleteBuffer(asked)
            if run_metadata is None:
                tf_session.TF_DeleteBuffer(told)
        return output

    sessions.BaseSession._run = run
    try:
        yield
    finally:
        sessions.BaseSession._run = original


@contextlib.contextmanager
def _compiled_functions_tell(compiled: list[Operation]) -> Iterator[None]:
    plain, cancellable = execute.execute, execute.execute_with_cancellation

    def noted(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(op_name: Any, *args: Any, **kwargs: Any) -> Any:
            outputs = original(op_name, *args, **kwargs)
            name = op_name.decode() if isinstance(op_name, bytes) else str(op_name)
            function = FUNCTION.fullmatch(name)
            if function is not None:
                # Where it was called: its outputs may be said to lie elsewhere.
                where = short(context.context().device_name) or "CPU:0"
                if where.split(":")[0] in COMPILING or _must_compile(name):
                    compiled.append(Operation(f"function {function[1]}", where))
            return outputs

        return run

    execute.execute, execute.execute_with_cancellation = noted(plain), noted(cancellable)
    try:
        yield
    finally:
        execute.execute, execute.execute_with_cancellation = plain, cancellable


def _must_compile(function: str) -> bool:
    """Whether it was made with ``jit_compile``."""
    attributes = context.context().get_function_def(function).attr
    return "_XlaMustCompile" in attributes and bool(attributes["_XlaMustCompile"].b)


@contextlib.contextmanager
def _host_code_tells(device: str, operations: list[Operation]) -> Iterator[None]:
    """Notes where Python takes the values of an array from the device, and functions of NumPy that it is given.

    What is read through ``numpy.asarray(tensor)``, which does not ask Python, cannot be seen.
    """
    describing = False
    tensors = ops._EagerTensorBase
    read, call = tensors._numpy, script_ops.py_func_common
    looks = {name: getattr(tensor_util, name) for name in ("constant_value", "constant_value_as_shape")}

    def noted_read(self: Any) -> Any:
        if not describing and self.shape.rank and short(self.backing_device) == short(device):
            operations.append(Operation("read to host", HOST))
        return read(self)

    def noted_call(func: Callable[..., Any], inp: Any, Tout: Any, *args: Any, **kwargs: Any) -> Any:
        if tf.executing_eagerly():
            operations.append(Operation("numpy_function", HOST))
        return call(func, inp, Tout, *args, **kwargs)

    def unnoted(look: Callable[..., Any]) -> Callable[..., Any]:
        # How TensorFlow looks at shapes and axes; nothing is computed with them.
        def described(*args: Any, **kwargs: Any) -> Any:
            nonlocal describing
            before, describing = describing, True
            try:
                return look(*args, **kwargs)
            finally:
                describing = before

        return described

    tensors._numpy, script_ops.py_func_common = noted_read, noted_call
    for name, look in looks.items():
        setattr(tensor_util, name, unnoted(look))
    try:
        yield
    finally:
        tensors._numpy, script_ops.py_func_common = read, call
        for name, look in looks.items():
            setattr(tensor_util, name, look)
