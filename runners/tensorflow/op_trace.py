"""Traces where TensorFlow computes.

An eager operation runs inside a function that is made for it alone. TensorFlow reports the graphs into which it
partitions a function or a session's graph, each operation with its device, when it builds their kernels; the cache of
kernels is cleared before. A function that is called on an XLA device is compiled as a whole, without partitions: it is
the operation. What Python computes on the host is in no graph.

The private names of TensorFlow that this needs are imported when a call is traced. If one is missing, nothing is
traced, ``OpTrace.untraced`` says so, and the placement is derived from the outputs alone.

(The log of placements cannot be used: after operations have run, ``tf.debugging.set_log_device_placement`` sets soft
placement instead, in 2.11 and in 2.21.)
"""

from __future__ import annotations

import contextlib
import re
from types import SimpleNamespace
from typing import Any, Callable, Iterable, Iterator

import tensorflow as tf

from runners.core.adapter import HOST, Operation, OpTrace
from runners.tensorflow.patches import EXECUTE, replaced

FUNCTION = re.compile(r"_*(?:inference|forward|backward)_(.*?)(?:_\d+)*")
COMPILING = {"TPU", "XLA_CPU", "XLA_GPU"}

PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
"""Python code on the host, whatever device TensorFlow reports."""

NO_OPERATIONS = {
    # What moves values or passes them on.
    *("_Arg", "_Retval", "_DeviceArg", "_DeviceRetval", "_Send", "_Recv", "_HostSend", "_HostRecv", "_EagerConst"),
    *("Const", "Identity", "IdentityN", "Placeholder", "PlaceholderWithDefault", "StopGradient", "PreventGradient"),
    *("Snapshot", "NoOp", "Assert"),
    # Creation, reading and writing of variables.
    *("VarHandleOp", "_VarHandlesOp", "ReadVariableOp", "_ReadVariablesOp", "AssignVariableOp", "DestroyResourceOp"),
    *("VarIsInitializedOp", "IsVariableInitialized", "VariableV2", "Assign"),
    # What describes values.
    *("Shape", "ShapeN", "VariableShape", "Rank", "Size", "Reshape", "Squeeze", "ExpandDims"),
    # Control flow, whose operations are traced by themselves.
    *("Switch", "RefSwitch", "_SwitchN", "Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit", "NextIteration"),
    *("LoopCond", "ControlTrigger", "PartitionedCall", "StatefulPartitionedCall"),
}

_is_tracing = False


def is_tracing() -> bool:
    """Whether operations of this process are being traced."""
    return _is_tracing


def short(device: str | None) -> str:
    """``GPU:0`` of ``/job:localhost/replica:0/task:0/device:GPU:0``."""
    return (device or "").split("/")[-1].replace("device:", "")


@contextlib.contextmanager
def trace_ops(device: str) -> Iterator[OpTrace]:
    """Collects the operations, each once; see runners.core.adapter.Adapter.trace_ops."""
    trace = OpTrace()
    with contextlib.ExitStack() as stack:
        try:
            _install(stack, trace, device, _private_modules())
        except (ImportError, AttributeError) as error:
            stack.close()
            trace.untraced.append(f"operations were not traced: TensorFlow {tf.__version__} differs: {error}")
        yield trace


def _private_modules() -> SimpleNamespace:
    """TensorFlow's private modules. Raises ImportError or AttributeError if a part that the trace needs is missing."""
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.client import pywrap_tf_session, session
    from tensorflow.python.eager import context, execute
    from tensorflow.python.framework import ops, tensor_util
    from tensorflow.python.ops import script_ops

    for holder, names in (
        (session.BaseSession, ("_run",)),
        (pywrap_tf_session, ("TF_GetBuffer", "TF_NewBuffer", "TF_NewBufferFromString", "TF_DeleteBuffer")),
        (context, ("enable_run_metadata", "disable_run_metadata", "export_run_metadata")),
        (context.context(), ("clear_kernel_cache", "get_function_def", "device_name")),
        (execute, EXECUTE),
        (ops._EagerTensorBase, ("_numpy",)),
        (tensor_util, ("constant_value", "constant_value_as_shape")),
        (script_ops, ("py_func_common",)),
    ):
        for name in names:
            getattr(holder, name)
    return SimpleNamespace(
        buffers=pywrap_tf_session,
        config=config_pb2,
        context=context,
        execute=execute,
        ops=ops,
        script_ops=script_ops,
        session=session,
        tensor_util=tensor_util,
    )


def _install(stack: contextlib.ExitStack, trace: OpTrace, device: str, private: SimpleNamespace) -> None:
    """Starts the trace; when the stack is closed, the trace is complete."""
    global _is_tracing
    context = private.context
    runs: list[Any] = []
    compiled: list[Operation] = []
    context.enable_run_metadata()
    # It holds what was built since the last time.
    context.export_run_metadata()
    context.context().clear_kernel_cache()
    _is_tracing = True
    stack.callback(_stop)
    stack.callback(context.disable_run_metadata)
    stack.enter_context(_traced_sessions(runs, private))
    stack.enter_context(_traced_compiled_functions(compiled, private))
    stack.enter_context(_traced_host_code(device, trace.operations, private))

    def collect() -> None:
        if context.is_async():
            context.async_wait()
        runs.append(context.export_run_metadata())
        graphs = [graph for run in runs for graph in _partition_graphs(run)]
        trace.operations[:] = dict.fromkeys([*trace.operations, *compiled, *_of_graphs(graphs)])

    stack.callback(collect)


def _stop() -> None:
    global _is_tracing
    _is_tracing = False


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
def _traced_sessions(runs: list[Any], private: SimpleNamespace) -> Iterator[None]:
    # Below the public ``run``, because a caller may have taken that from its class before.
    buffers, config = private.buffers, private.config

    def with_graphs(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: Any, handle: Any, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
            changed = config.RunOptions()
            if options is not None:
                changed.ParseFromString(buffers.TF_GetBuffer(options))
            changed.output_partition_graphs = True
            run_options = buffers.TF_NewBufferFromString(changed.SerializeToString())
            metadata = buffers.TF_NewBuffer() if run_metadata is None else run_metadata
            try:
                output = original(self, handle, fetches, feed_dict, run_options, metadata)
                runs.append(config.RunMetadata.FromString(buffers.TF_GetBuffer(metadata)))
            finally:
                buffers.TF_DeleteBuffer(run_options)
                if run_metadata is None:
                    buffers.TF_DeleteBuffer(metadata)
            return output

        return run

    with replaced(private.session.BaseSession, ("_run",), with_graphs):
        yield


@contextlib.contextmanager
def _traced_compiled_functions(compiled: list[Operation], private: SimpleNamespace) -> Iterator[None]:
    context = private.context

    def noted(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(op_name: Any, *args: Any, **kwargs: Any) -> Any:
            outputs = original(op_name, *args, **kwargs)
            name = op_name.decode() if isinstance(op_name, bytes) else str(op_name)
            function = FUNCTION.fullmatch(name)
            if function is not None:
                # Where it was called: TensorFlow may report another device for its outputs.
                where = short(context.context().device_name) or "CPU:0"
                if where.split(":")[0] in COMPILING or _must_compile(context.context().get_function_def(name)):
                    compiled.append(Operation(f"function {function[1]}", where))
            return outputs

        return run

    with replaced(private.execute, EXECUTE, noted):
        yield


def _must_compile(function: Any) -> bool:
    """Whether a function was made with ``jit_compile``."""
    return "_XlaMustCompile" in function.attr and bool(function.attr["_XlaMustCompile"].b)


@contextlib.contextmanager
def _traced_host_code(device: str, operations: list[Operation], private: SimpleNamespace) -> Iterator[None]:
    """Notes when Python reads the values of an array from the device, and calls of NumPy functions that it is given.

    What is read through ``numpy.asarray(tensor)``, which does not call Python, cannot be traced.
    """
    is_describing = False

    def noted_read(read: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: Any) -> Any:
            if not is_describing and self.shape.rank and short(self.backing_device) == short(device):
                operations.append(Operation("read to host", HOST))
            return read(self)

        return noted

    def noted_call(call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(func: Callable[..., Any], inp: Any, Tout: Any, *args: Any, **kwargs: Any) -> Any:
            if tf.executing_eagerly():
                operations.append(Operation("numpy_function", HOST))
            return call(func, inp, Tout, *args, **kwargs)

        return noted

    def unnoted(look: Callable[..., Any]) -> Callable[..., Any]:
        # TensorFlow reads shapes and axes in this way; nothing is computed with them.
        def described(*args: Any, **kwargs: Any) -> Any:
            nonlocal is_describing
            before, is_describing = is_describing, True
            try:
                return look(*args, **kwargs)
            finally:
                is_describing = before

        return described

    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(private.ops._EagerTensorBase, ("_numpy",), noted_read))
        stack.enter_context(replaced(private.script_ops, ("py_func_common",), noted_call))
        stack.enter_context(replaced(private.tensor_util, ("constant_value", "constant_value_as_shape"), unnoted))
        yield
