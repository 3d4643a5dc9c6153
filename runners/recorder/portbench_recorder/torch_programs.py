"""PyTorch: whole programs, which are the operations of a step of training or of a module's call.

A program begins with an outermost call of a module. Of a module that trains, it ends with the step of an optimizer, so
it holds forward, backward and update; where none comes until the program ends or the same module is called again
without gradients, it is the call alone. Each kind of module is traced once for its arguments' shapes. Code of
``torch.compile`` is not: it would run without being compiled while it is traced.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import threading
from typing import Any, Callable, ContextManager, Hashable, Iterator

import torch
from torch.utils import _python_dispatch, _pytree

from portbench_recorder.programs import MOST, MOST_BYTES
from portbench_recorder.recording import Recording
from portbench_recorder.torch_trace import Trace

_MOST_CALLS = 8
"""Of one module in a step, as where gradients are summed over several batches."""


class Programs:
    """Traces the programs of the thread that calls a module first."""

    def __init__(
        self, recording: Recording, paused: Callable[[], ContextManager[object]], site: Callable[[], Any]
    ) -> None:
        self._recording = recording
        self._paused = paused
        self._site = site
        self._seen: set[Hashable] = set()
        self._thread: int | None = None
        self._depth = 0
        self._open: _Open | None = None
        self._old: list[Trace] = []
        self._call = torch.nn.Module.__call__

    def install(self) -> None:
        """Traces from now on."""
        original = self._call

        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._recording.enabled or self._thread not in (None, threading.get_ident()):
                return original(module, *args, **kwargs)
            if self._depth == 0:
                self._guarded(self._begin, module, args, kwargs)
            self._depth += 1
            try:
                return original(module, *args, **kwargs)
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._guarded(self._called)

        torch.nn.Module.__call__ = call  # type: ignore[method-assign]
        atexit.register(self._guarded, self._give_up_step)

    def remove(self) -> None:
        """Traces no more, as for a program that compiles its modules."""
        self._guarded(self._give_up_step)
        torch.nn.Module.__call__ = self._call  # type: ignore[method-assign]

    def step_ended(self) -> None:
        """An optimizer has made a step: a training step that is traced ends."""
        if self._open is not None and self._thread == threading.get_ident() and self._depth == 0:
            self._guarded(self._finish, True)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """A context in which operations are not part of a program."""
        trace = self._open.trace if self._open is not None else None
        if trace is None or trace.is_passive:
            yield
            return
        trace.is_passive = True
        try:
            yield
        finally:
            trace.is_passive = False

    def _guarded(self, function: Callable[..., None], *args: Any) -> None:
        try:
            with self._paused():
                function(*args)
        except Exception as error:
            self._recording.failed(error)

    def _begin(self, module: Any, args: Any, kwargs: Any) -> None:
        for old in self._old:
            _leave(old)
        self._old = [old for old in self._old if old in _python_dispatch._get_current_dispatch_mode_stack()]
        if self._open is not None:
            self._open.trace.is_after_backward = False
            if self._open.is_again(module):
                self._give_up_step()
            return
        key = _signature(module, args, kwargs)
        if key in self._seen or len(self._seen) >= 4 * MOST:
            return
        self._seen.add(key)
        self._thread = threading.get_ident()
        place = self._site()
        self._open = _Open(module, Trace(self._paused), [place[1]()] if place else [])
        self._open.trace.__enter__()

    def _called(self) -> None:
        """An outermost call of a module has ended."""
        opened = self._open
        if opened is None:
            return
        if opened.call_ended is None:
            opened.call_ended = len(opened.trace.operations)
            opened.problem = opened.trace.problem
            opened.outputs = opened.trace.outputs()
        if not opened.trains or opened.trace.problem:
            self._finish(False)

    def _give_up_step(self) -> None:
        if self._open is not None:
            self._finish(False)

    def _finish(self, is_step: bool) -> None:
        """Keeps the open program: a whole step, or what the module's call alone is of it."""
        opened, self._open = self._open, None
        assert opened is not None
        trace = opened.trace
        _leave(trace)
        if not trace.is_left:
            self._old.append(trace)
        # What could not be traced may be in the rest of the step.
        is_step = is_step and not (trace.problem and opened.call_ended and not opened.problem)
        count = len(trace.operations) if is_step else opened.call_ended or 0
        if not count or not self._recording.programs.wants("torch", count):
            return
        problem = trace.problem if is_step else opened.problem
        name = f"{type(opened.module).__name__}.{'step' if is_step else 'call'}"
        module = (
            {"unknown": f"the program could not be traced: {problem}"} if problem else self._stored(opened, is_step)
        )
        self._recording.programs.add("torch", name, count, {"any": module}, opened.sites)

    def _stored(self, opened: _Open, is_step: bool) -> dict[str, str]:
        content = opened.trace.as_bytes() if is_step else opened.trace.as_bytes(opened.call_ended, opened.outputs)
        if len(content) > MOST_BYTES:
            return {"unknown": f"the program has {len(content) >> 20} MB, at most {MOST_BYTES >> 20} are kept"}
        return {"aten": self._recording.programs.store(content)}


class _Open:
    """A program that is being traced. ``call_ended``: the number of operations when the module's call had ended."""

    def __init__(self, module: Any, trace: Trace, sites: list[str]) -> None:
        self.module = module
        self.trace = trace
        self.sites = sites
        self.trains = bool(module.training) and torch.is_grad_enabled()
        self.call_ended: int | None = None
        self.outputs: list[int] = []
        self.calls = 1
        self.problem = ""

    def is_again(self, module: Any) -> bool:
        """Whether this call of a module is the beginning of another step without an optimizer. Tracing costs much, so
        a step ends after a few calls with gradients, too."""
        if module is not self.module:
            return False
        self.calls += 1
        return not torch.is_grad_enabled() or self.calls > _MOST_CALLS


def _leave(trace: Trace) -> None:
    """Ends a trace; it stays, and does nothing, as long as there is another mode above it."""
    trace.is_passive = True
    stack = _python_dispatch._get_current_dispatch_mode_stack()
    if stack and stack[-1] is trace:
        trace.__exit__(None, None, None)
        trace.is_left = True


def _signature(module: Any, args: Any, kwargs: Any) -> Hashable:
    leaves = _pytree.tree_leaves((args, kwargs))
    shapes = [(tuple(leaf.shape), str(leaf.dtype)) for leaf in leaves if isinstance(leaf, torch.Tensor)]
    return (type(module).__qualname__, module.training, torch.is_grad_enabled(), tuple(shapes))
