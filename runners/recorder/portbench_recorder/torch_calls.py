"""PyTorch: the public functions and methods that a program calls, seen by a mode of ``__torch_function__``.

A mode sees the outermost call: what a function calls inside is not recorded. It is active per thread, so every thread
gets one when it starts. Code that ``torch.compile`` traces is recorded from the graph that a backend gets, once for
each graph. Needs PyTorch 2.0.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from typing import Any, Callable, Hashable, Iterator

import torch
from torch import overrides
from torch.overrides import TorchFunctionMode, resolve_name

from portbench_recorder import torch_arguments, torch_names
from portbench_recorder.recording import Arguments, Recording
from portbench_recorder.sites import Sites
from portbench_recorder.torch_programs import Programs


def install(recording: Recording) -> None:
    """Records the calls of all threads from now on. Raises RuntimeError for a version that is too old."""
    version = torch.__version__.split("+")[0]
    if not hasattr(overrides, "_get_current_function_mode_stack"):
        raise RuntimeError(f"found PyTorch {version}, expected 2.0 or newer")
    recording.add_framework("torch", version)
    calls = _Calls(recording)
    calls.watch_this_thread()
    _watch_new_threads(calls)
    _watch_optimizers(calls)
    _watch_compiled(calls)
    calls.programs.install()
    recording.at_end.append(calls.leave)


class _Calls:
    """Records calls by their functions and arguments."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._names: dict[Any, str | None] = {}
        self._sites = Sites(os.path.dirname(torch.__file__))
        self._local = threading.local()
        self.programs = Programs(recording, self.pause, self._sites.of_caller)

    def watch_this_thread(self) -> None:
        _Mode(self).__enter__()

    def leave(self) -> None:
        """Takes the mode off this thread and the tracing off modules, when the recording has ended."""
        try:
            self.programs.remove()
            _set_modes([mode for mode in overrides._get_current_function_mode_stack() if not isinstance(mode, _Mode)])
        except Exception as error:
            self.recording.failed(error)

    def name(self, function: Any) -> str | None:
        """The public name of a function; None for what is no computation, such as the getter of a shape."""
        try:
            return self._names[function]
        except KeyError:
            found = self._names[function] = torch_names.public_name(resolve_name(function), function)
            return found

    def called(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        recording = self.recording
        if not recording.enabled or getattr(self._local, "is_busy", False):
            return function(*args, **kwargs)
        entry = None
        self._local.is_busy = True
        try:
            name = self.name(function)
            if name is not None:
                # Neither other modes nor subclasses of the program see that arguments are looked at.
                with _not_traced(), torch._C.DisableTorchFunction():
                    name, args_of, kwargs_of = torch_names.as_public_call(name, args, kwargs)
                    entry = recording.entry(
                        "torch",
                        name,
                        torch_arguments.key(args_of, kwargs_of),
                        lambda: self._described(name, args_of, kwargs_of),
                    )
        except Exception as error:
            recording.failed(error)
        finally:
            self._local.is_busy = False
        if entry is None:
            return function(*args, **kwargs)
        begin = time.perf_counter()
        output = function(*args, **kwargs)
        took = time.perf_counter() - begin
        recording.add(entry, took, self._sites.of_caller)
        return output

    def _described(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        # Facts about values are computed with PyTorch.
        with self.programs.aside():
            return torch_arguments.described(args, kwargs, self.recording.values, name)

    def add(self, name: str, describe: Callable[[], Arguments], key: Hashable, took: float) -> None:
        """Counts a call that was made somewhere else."""
        try:
            with self.pause():
                entry = self.recording.entry("torch", name, key, describe)
        except Exception as error:
            self.recording.failed(error)
        else:
            self.recording.add(entry, took, self._sites.of_caller)

    def pause(self) -> Any:
        return _Paused(self._local)


@contextlib.contextmanager
def _suspended_trace(state: Any) -> Iterator[None]:
    torch._C._set_tracing_state(None)
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)


def _not_traced() -> Any:
    """A context in which ``torch.jit.trace`` sees nothing: it would make the recorder's work part of the program."""
    state = torch._C._get_tracing_state()
    return _NOTHING if state is None else _suspended_trace(state)


_NOTHING = contextlib.nullcontext()


class _Paused:
    """Calls in this thread are not recorded inside of this context."""

    def __init__(self, local: threading.local) -> None:
        self._local = local

    def __enter__(self) -> None:
        self._before = getattr(self._local, "is_busy", False)
        self._local.is_busy = True

    def __exit__(self, *error: object) -> None:
        self._local.is_busy = self._before


class _Mode(TorchFunctionMode):  # type: ignore[misc]
    def __init__(self, calls: _Calls) -> None:
        super().__init__()
        self._calls = calls

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._calls.called(function, args, kwargs or {})


def _watch_new_threads(calls: _Calls) -> None:
    # Not ``run``: subclasses replace it.
    begin = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    @functools.wraps(begin)
    def bootstrap_inner(self: threading.Thread) -> None:
        try:
            if calls.recording.enabled:
                calls.watch_this_thread()
        except Exception as error:
            calls.recording.failed(error)
        begin(self)

    threading.Thread._bootstrap_inner = bootstrap_inner  # type: ignore[attr-defined]


def _watch_optimizers(calls: _Calls) -> None:
    """Counts steps, and records each kind of optimizer as a class with its settings and its parameters' shapes."""
    from torch.optim import Optimizer

    profiled = Optimizer.profile_hook_step
    Optimizer.profile_hook_step = staticmethod(lambda step: _watched_step(calls, profiled(step)))
    # A class whose first instance was made before has its wrapped step already.
    waiting = Optimizer.__subclasses__()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if getattr(vars(kind).get("step"), "hooked", False):
            kind.step = _watched_step(calls, kind.step)


def _watched_step(calls: _Calls, step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(step)
    def stepped(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        begin = time.perf_counter()
        # An optimizer makes many small calls: without the mode they cost nothing more.
        with calls.pause(), _no_mode():
            output = step(optimizer, *args, **kwargs)
        if calls.recording.enabled:
            name = torch_names.optimizer(type(optimizer))
            if name is not None:
                took = time.perf_counter() - begin
                calls.add(name, lambda: torch_arguments.of_optimizer(optimizer), id(optimizer), took)
            calls.programs.step_ended()
            calls.recording.step()
        return output

    # PyTorch marks the steps that it has wrapped with this.
    stepped.hooked = True  # type: ignore[attr-defined]
    return stepped


def _watch_compiled(calls: _Calls) -> None:
    """Watches the compiler at its first use: its import takes seconds."""
    compile_ = torch.compile

    @functools.wraps(compile_)
    def watched(*args: Any, **kwargs: Any) -> Any:
        torch.compile = compile_
        try:
            calls.programs.remove()
            _watch_compiler(calls)
        except Exception as error:
            calls.recording.failed(error)
        return compile_(*args, **kwargs)

    torch.compile = watched


def _watch_compiler(calls: _Calls) -> None:
    """Records each graph that ``torch.compile`` traces. The mode is off meanwhile: it would be traced, too."""
    from torch._dynamo.eval_frame import _TorchDynamoContext
    from torch._dynamo.output_graph import OutputGraph

    compile_graph, begin = OutputGraph.call_user_compiler, _TorchDynamoContext.__call__

    @functools.wraps(compile_graph)
    def call_user_compiler(self: Any, graph: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            _record_graph(calls, graph)
        except Exception as error:
            calls.recording.failed(error)
        return compile_graph(self, graph, *args, **kwargs)

    @functools.wraps(begin)
    def call(self: Any, function: Any) -> Any:
        compiled = begin(self, function)
        if not callable(function) or isinstance(function, torch.nn.Module):
            # A module's compiled form comes back here with its method.
            return compiled

        @functools.wraps(compiled)
        def without_mode(*args: Any, **kwargs: Any) -> Any:
            with _no_mode():
                return compiled(*args, **kwargs)

        return without_mode

    OutputGraph.call_user_compiler = call_user_compiler
    _TorchDynamoContext.__call__ = call


@contextlib.contextmanager
def _no_mode() -> Iterator[None]:
    """The modes of this thread without that of the recorder."""
    before = overrides._get_current_function_mode_stack()
    _set_modes([mode for mode in before if not isinstance(mode, _Mode)])
    try:
        yield
    finally:
        _set_modes(before)


def _set_modes(modes: list[Any]) -> None:
    for _ in overrides._get_current_function_mode_stack():
        overrides._pop_mode()
    for mode in modes:
        overrides._push_mode(mode)


def _record_graph(calls: _Calls, graph: Any) -> None:
    def example(node: Any) -> Any:
        return node.meta.get("example_value", node) if isinstance(node, torch.fx.Node) else node

    for node in graph.graph.nodes:
        if node.op == "call_function":
            function = node.target
        elif node.op == "call_method":
            function = getattr(torch.Tensor, node.target, None)
        else:
            continue
        name = calls.name(function)
        if name is not None:
            args = torch.fx.node.map_aggregate(node.args, example)
            kwargs = torch.fx.node.map_aggregate(node.kwargs, example)
            _add_node(calls, *torch_names.as_public_call(name, args, kwargs))


def _add_node(calls: _Calls, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    key = torch_arguments.key(args, kwargs)
    calls.add(name, lambda: torch_arguments.described(args, kwargs, False, name), key, 0.0)
