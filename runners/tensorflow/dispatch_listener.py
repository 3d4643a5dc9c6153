"""Reports each operation that a call requests of TensorFlow, with its dtypes and its device.

An eager operation is reported before it is computed; those in a function when it is called, from its graph; those of a
version 1 graph when a session is about to run it, because TensorFlow then places the whole graph, whatever is fetched.
These are the requested operations, not those of an optimized graph.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, NoReturn, Sequence

import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.client import session as sessions
from tensorflow.python.eager import context, core, execute
from tensorflow.python.framework import op_def_registry

from runners.tensorflow.op_trace import short
from runners.tensorflow.patches import EXECUTE, replaced

Types = Dict[str, List[str]]


class Request(NamedTuple):
    """A requested operation: ``types`` of its attributes, and the device that it must run on, such as ``CPU:1``; None
    means any device."""

    name: str
    types: Types
    device: str | None


class Step(NamedTuple):
    """An eager operation or a function that TensorFlow computes as one step: its inputs, and its attributes except
    those that every function has."""

    name: str
    inputs: Sequence[Any]
    attributes: Mapping[str, Any]
    device: str | None

    @property
    def is_function(self) -> bool:
        """Whether TensorFlow has a function of this name."""
        return bool(context.context().has_function(self.name))


Listener = Callable[[Request], None]
"""Called with each operation. What it raises ends the call that requested it."""

StepListener = Callable[[Step], None]
"""Called with each eager step, after its operations and before it is computed. What it raises ends the call."""

GraphListener = Callable[[Any, Sequence[Any], Mapping[Any, Any]], None]
"""Called with what a session is about to compute, after its operations: the graph, the fetched tensors and operations,
and the fed arrays by references of tensors. What it raises ends the call."""


def _ignore(*args: Any) -> None:
    """The listener of steps and graphs if there is none."""


@contextlib.contextmanager
def listening(listener: Listener, steps: StepListener = _ignore, graphs: GraphListener = _ignore) -> Iterator[None]:
    """A context in which the listeners are called with the operations, in their order, as often as they are
    requested."""

    def reported(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(op_name: Any, num_outputs: int, inputs: Any, attrs: Any, *args: Any, **kwargs: Any) -> Any:
            name = op_name.decode() if isinstance(op_name, bytes) else str(op_name)
            device = _device_of_eager(inputs)
            step = Step(name, list(inputs), {} if context.context().has_function(name) else _named(attrs), device)
            for asked in _of_function(name) if step.is_function else [Request(name, _types_of_step(step), device)]:
                listener(asked)
            steps(step)
            return original(op_name, num_outputs, inputs, attrs, *args, **kwargs)

        return run

    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(execute, EXECUTE, reported))
        stack.enter_context(replaced(pywrap_tfe, ("TFE_Py_FastPathExecute",), lambda _: _not_fast))
        stack.enter_context(_reported_sessions(listener, graphs))
        yield


def _not_fast(*args: Any) -> NoReturn:
    """Replaces the path around Python: this error makes an operation's wrapper call ``execute``."""
    raise core._FallbackException()


def _device_of_eager(inputs: Iterable[Any]) -> str | None:
    for tensor in inputs or ():
        # An operation on a resource runs where the resource is, whatever the scope; its handle (backing_device) may be
        # in the host's memory.
        if getattr(tensor, "dtype", None) == tf.resource and hasattr(tensor, "numpy"):
            return short(tensor.device)
    return short(context.context().device_name) or None


def _of_function(name: str) -> Iterator[Request]:
    """The operations of a function and of the functions that it calls, each function once."""
    pending, seen = [name], {name}
    while pending:
        definition = context.context().get_function_def(pending.pop())
        yield from _of_nodes(definition.node_def)
        for called in _called(definition.node_def):
            if called not in seen and context.context().has_function(called):
                seen.add(called)
                pending.append(called)


def _called(nodes: Iterable[Any]) -> Iterator[str]:
    for node in nodes:
        yield node.op
        for value in node.attr.values():
            for function in [value.func, *value.list.func]:
                if function.name:
                    yield function.name


def _of_nodes(nodes: Iterable[Any], functions: Iterable[str] = ()) -> Iterator[Request]:
    inner = set(functions)
    for node in nodes:
        if node.op not in inner and not context.context().has_function(node.op):
            yield Request(node.op, _types_of_attributes(node.attr), short(node.device) or None)


@contextlib.contextmanager
def _reported_sessions(listener: Listener, graphs: GraphListener) -> Iterator[None]:
    def reported(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            graph = self.graph.as_graph_def()
            names = [function.signature.name for function in graph.library.function]
            for nodes in [graph.node, *(function.node_def for function in graph.library.function)]:
                for asked in _of_nodes(nodes, names):
                    listener(asked)
            return original(self, *args, **kwargs)

        return run

    def reported_inner(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: Any, handle: Any, targets: Any, fetches: Any, feeds: Any, *args: Any) -> Any:
            graphs(self.graph, [*targets, *fetches], feeds)
            return original(self, handle, targets, fetches, feeds, *args)

        return run

    run, run_inner = ("_run",), ("_do_run",)
    with replaced(sessions.BaseSession, run, reported), replaced(sessions.BaseSession, run_inner, reported_inner):
        yield


def _types_of_attributes(attributes: Mapping[str, Any]) -> Types:
    found: Types = {}
    for name, value in attributes.items():
        kind = value.WhichOneof("value")
        if kind == "type":
            found[name] = [_dtype(value.type)]
        elif kind == "list" and value.list.type:
            found[name] = [_dtype(each) for each in value.list.type]
    return found


def _named(pairs: Any) -> Mapping[str, Any]:
    """Attributes by name, from the flat ``(name, value, name, value)`` of an eager operation."""
    flat = list(pairs or ())
    return {key.decode() if isinstance(key, bytes) else str(key): value for key, value in zip(flat[::2], flat[1::2])}


def _types_of_step(step: Step) -> Types:
    """The dtypes of a step's attributes. A dtype may be a number; the operation's definition says which attributes are
    dtypes."""
    definition = op_def_registry.get(step.name)
    named = {each.name for each in definition.attr if each.type in ("type", "list(type)")} if definition else set()
    return {
        name: [_dtype(each) for each in (value if isinstance(value, (list, tuple)) else [value])]
        for name, value in step.attributes.items()
        if name in named
    }


def _dtype(value: Any) -> str:
    return str(tf.as_dtype(value).base_dtype.name)
