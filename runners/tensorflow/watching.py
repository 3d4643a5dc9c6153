"""Sees where TensorFlow computes.

Several sources, since none shows everything: the log names each eager operation with its device ("Executing op MatMul
in device ..."); the partition graphs name the operations inside of a function or session, but only when kernels are
built, so their cache is emptied before; what Python computes on the host is in neither. A function called on an XLA
device is compiled as a whole, and neither logged nor partitioned: there the function is the operation.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from typing import Any, Callable, Iterable, Iterator

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import pywrap_tf_session as tf_session
from tensorflow.python.client import session as sessions
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import ops, tensor_util
from tensorflow.python.ops import script_ops

from runners.core.adapter import HOST, Operation, Watched

EXECUTED = re.compile(r"Executing op (\S+) in device (\S+)")
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

NUMBERS_MADE = Operation("Cast", "CPU:0")
"""TensorFlow casts a Python number on the host before it moves it."""

_watching = False


def watching() -> bool:
    return _watching


def short(device: str | None) -> str:
    """``GPU:0`` of ``/job:localhost/replica:0/task:0/device:GPU:0``."""
    return (device or "").split("/")[-1].replace("device:", "")


@contextlib.contextmanager
def watch(device: str) -> Iterator[Watched]:
    """Collects the operations; see runners.core.adapter.Adapter.watch. Output of the calls inside is swallowed."""
    global _watching
    watched = Watched()
    runs: list[Any] = []
    called: list[Operation] = []
    context.ensure_initialized()
    context.context().clear_kernel_cache()
    with contextlib.ExitStack() as stack:
        _watching = True
        stack.callback(_no_longer)
        stack.enter_context(_sessions_tell(runs))
        stack.enter_context(_functions_tell(called))
        stack.enter_context(_host_code_tells(device, watched.operations))
        log = stack.enter_context(_log())
        context.enable_run_metadata()
        stack.callback(context.disable_run_metadata)
        try:
            yield watched
        finally:
            if context.is_async():
                context.async_wait()
            runs.append(context.export_run_metadata())
            stack.close()
            graphs = [graph for run in runs for graph in _partition_graphs(run)]
            # A function that is compiled as a whole counts itself; of the others the graphs show what is in them.
            compiled = [each for each in called if not graphs or each.location.split(":")[0] in COMPILING]
            seen = [*watched.operations, *compiled, *_of_graphs(graphs), *_of_log("".join(log))]
            # An eager operation is in both, and how often something ran depends on what was cached.
            watched.operations[:] = dict.fromkeys(each for each in seen if each != NUMBERS_MADE)


def _no_longer() -> None:
    global _watching
    _watching = False


def _operation(name: str, device: str) -> Iterable[Operation]:
    if name not in NO_OPERATIONS:
        yield Operation(name, HOST if name in PYTHON else short(device))


def _of_log(text: str) -> Iterator[Operation]:
    for name, device in EXECUTED.findall(text):
        if FUNCTION.fullmatch(name) is None:
            yield from _operation(name, device)


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
def _functions_tell(called: list[Operation]) -> Iterator[None]:
    plain, cancellable = execute.execute, execute.execute_with_cancellation

    def noted(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(op_name: Any, *args: Any, **kwargs: Any) -> Any:
            outputs = original(op_name, *args, **kwargs)
            name = op_name.decode() if isinstance(op_name, bytes) else str(op_name)
            function = FUNCTION.fullmatch(name)
            if function is not None:
                # Where it was called: its outputs may be said to lie elsewhere.
                called.append(Operation(f"function {function[1]}", short(context.context().device_name) or "CPU:0"))
            return outputs

        return run

    execute.execute, execute.execute_with_cancellation = noted(plain), noted(cancellable)
    try:
        yield
    finally:
        execute.execute, execute.execute_with_cancellation = plain, cancellable


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


@contextlib.contextmanager
def _log() -> Iterator[list[str]]:
    """TensorFlow's log of placements, complete when the context has ended. It goes to the descriptors 1 and 2."""
    logging, soft = tf.debugging.get_log_device_placement(), tf.config.get_soft_device_placement()
    text: list[str] = []
    _flush()
    kept = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        try:
            _set_logging(True, soft)
            yield text
        finally:
            _set_logging(logging, soft)
            _flush()
            for number, descriptor in zip((1, 2), kept):
                os.dup2(descriptor, number)
                os.close(descriptor)
            file.seek(0)
            text.append(file.read().decode("utf-8", "replace"))


def _set_logging(on: bool, soft: bool) -> None:
    tf.debugging.set_log_device_placement(on)
    # Setting the log turns soft placement on again.
    tf.config.set_soft_device_placement(soft)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
