"""Sees each operation that a call asks TensorFlow for, with its dtypes and the device that it is asked of.

An eager operation is seen as it has been computed, by a callback; those inside of a function when that is called, in
its graph; those of a version 1 graph when a session is to run it: TensorFlow places the whole graph then, whatever is
fetched. What is seen is what was asked for, not what a graph was optimized to.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple

import tensorflow as tf
from tensorflow.python.client import session as sessions
from tensorflow.python.eager import context
from tensorflow.python.framework import op_callbacks, op_def_registry

from runners.tensorflow.watching import short

Types = Dict[str, List[str]]


class Asked(NamedTuple):
    """An operation: ``types`` of its attributes, and the device that it must be on, ``CPU:1``; None: anywhere."""

    name: str
    types: Types
    device: str | None


Listener = Callable[[Asked], None]
"""Is told each operation. What it raises ends the call that asked for it."""


@contextlib.contextmanager
def recording(listener: Listener) -> Iterator[None]:
    """Tells the operations of what is called inside, in their order; several times where they are asked for so."""

    def callback(
        op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> list[Any] | None:
        # What is only traced is seen when it is called.
        if graph is None:
            name = op_type.decode() if isinstance(op_type, bytes) else str(op_type)
            if context.context().has_function(name):
                for asked in _of_function(name):
                    listener(asked)
            else:
                listener(Asked(name, _types_of_pairs(name, attrs or ()), _device_of_eager(inputs)))
        return None

    op_callbacks.add_op_callback(callback)
    try:
        with _sessions_tell(listener):
            yield
    finally:
        op_callbacks.remove_op_callback(callback)


def _device_of_eager(inputs: Iterable[Any]) -> str | None:
    for tensor in inputs or ():
        # An operation on a resource goes where that lies, whatever the scope says.
        if getattr(tensor, "dtype", None) == tf.resource and hasattr(tensor, "numpy"):
            return short(tensor.backing_device)
    return short(context.context().device_name) or None


def _of_function(name: str) -> Iterator[Asked]:
    """The operations of a function and of those that it calls, each function once."""
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


def _of_nodes(nodes: Iterable[Any], functions: Iterable[str] = ()) -> Iterator[Asked]:
    inner = set(functions)
    for node in nodes:
        if node.op not in inner and not context.context().has_function(node.op):
            yield Asked(node.op, _types_of_attributes(node.attr), short(node.device) or None)


@contextlib.contextmanager
def _sessions_tell(listener: Listener) -> Iterator[None]:
    original = sessions.BaseSession._run

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        graph = self.graph.as_graph_def()
        names = [function.signature.name for function in graph.library.function]
        for nodes in [graph.node, *(function.node_def for function in graph.library.function)]:
            for asked in _of_nodes(nodes, names):
                listener(asked)
        return original(self, *args, **kwargs)

    sessions.BaseSession._run = run
    try:
        yield
    finally:
        sessions.BaseSession._run = original


def _types_of_attributes(attributes: Mapping[str, Any]) -> Types:
    found: Types = {}
    for name, value in attributes.items():
        kind = value.WhichOneof("value")
        if kind == "type":
            found[name] = [_dtype(value.type)]
        elif kind == "list" and value.list.type:
            found[name] = [_dtype(each) for each in value.list.type]
    return found


def _types_of_pairs(operation: str, pairs: Any) -> Types:
    """Of the flat ``(name, value, name, value)`` that a callback is given. A dtype may come as its number, which the
    operation's definition tells from a plain one."""
    definition = op_def_registry.get(operation)
    named = {each.name for each in definition.attr if each.type in ("type", "list(type)")} if definition else set()
    flat = list(pairs)
    found: Types = {}
    for key, value in zip(flat[::2], flat[1::2]):
        name = key.decode() if isinstance(key, bytes) else str(key)
        if name in named:
            found[name] = [_dtype(each) for each in (value if isinstance(value, (list, tuple)) else [value])]
    return found


def _dtype(value: Any) -> str:
    return str(tf.as_dtype(value).base_dtype.name)
