"""JAX: the public functions that a program calls, also inside of ``jit``, ``grad``, ``vmap`` and ``scan``.

Public functions are wrapped in their modules before the program imports them; operators and methods of arrays are
wrapped in their classes. What a public function calls inside is not recorded. A transformation, such as ``jax.jit`` or
``jax.lax.scan``, is not recorded itself; the calls inside of the functions that it takes are, with the shapes that they
see there. Code that ``jit`` has traced already is not seen again: a call inside of it is counted once for each trace.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import sys
import threading
import time
from types import CodeType
from typing import Any, Callable, Iterator

import jax

from portbench_recorder import jax_arguments, jax_names, jax_programs
from portbench_recorder.recording import Arguments, Entry, Recording, Unnameable
from portbench_recorder.sites import Sites


def install(recording: Recording) -> None:
    """Records the calls of all threads from now on."""
    recording.add_framework("jax", jax.__version__)
    calls = _Calls(recording)
    for name in (*jax_names.MODULES, *_distributions()):
        try:
            module = importlib.import_module(name)
        except ImportError:
            # Not every version has all of them.
            continue
        _wrap_module(calls, module, name)
    _wrap_ufuncs(calls)
    _wrap_arrays(calls)
    jax_programs.install(recording, calls.paused)


def _distributions() -> Iterator[str]:
    for name, module in vars(importlib.import_module(jax_names.STATISTICS)).items():
        if inspect.ismodule(module) and not name.startswith("_"):
            yield f"{jax_names.STATISTICS}.{name}"


class _State(threading.local):
    is_inside = False


class _Calls:
    """Records calls by their functions and arguments. ``public`` and ``originals`` have the functions that stand in the
    modules now: their names, and what stood there before."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.public: dict[Any, str] = {}
        self.originals: dict[Any, Any] = {}
        self._state = _State()
        home = os.path.dirname(os.path.abspath(jax.__file__))
        self._sites = Sites(home)
        self._sources = os.path.join(home, "_src")
        self._own_code: dict[CodeType, bool] = {}

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """A context in which this thread's calls are not recorded."""
        before, self._state.is_inside = self._state.is_inside, True
        try:
            yield
        finally:
            self._state.is_inside = before

    def called(
        self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], public: Any = None
    ) -> Any:
        """Makes a call and records it as one of ``name`` with the arguments ``public``, by default its own."""
        recording, state = self.recording, self._state
        if not recording.enabled or state.is_inside or self._is_own(sys._getframe(2).f_code):
            return function(*args, **kwargs)
        state.is_inside = True
        try:
            entry = None
            try:
                if jax_arguments.functions_in(args, kwargs):
                    # JAX compares with its own functions: jax.lax.reduce knows jax.lax.add.
                    entry = self._entry(name, *(public or (args, kwargs)))
                    args, kwargs = self._original(args), {key: self._original(kwargs[key]) for key in kwargs}
                else:
                    entry = self._entry(name, *(public or (args, kwargs)))
            except Exception as error:
                recording.failed(error)
            begin = time.perf_counter()
            output = function(*args, **kwargs)
            took = time.perf_counter() - begin
        finally:
            state.is_inside = False
        if entry is not None:
            recording.add(entry, took, self._sites.of_caller)
        return output

    def _is_own(self, caller: CodeType) -> bool:
        """Whether a function of JAX makes the call. A transformation makes the calls of the program: ``jax.vmap``."""
        found = self._own_code.get(caller)
        if found is None:
            path = os.path.relpath(caller.co_filename, self._sources).replace(os.sep, "/")
            found = path.startswith(jax_names.FOLDERS) and not path.startswith(jax_names.CALLERS)
            found = found or (path.startswith("interpreters/") and caller.co_name in jax_names.HELPERS)
            self._own_code[caller] = found
        return found

    def _entry(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
        def describe() -> Arguments:
            if name in jax_names.COLLECTIVES:
                raise Unnameable("it works on an axis of a transformation around it")
            is_data = name in jax_names.OF_DATA
            return jax_arguments.described(args, kwargs, self.recording.values, self.public, is_data)

        return self.recording.entry("jax", name, jax_arguments.key(args, kwargs), describe)

    def _original(self, value: Any) -> Any:
        if type(value) in (tuple, list):
            return type(value)(map(self._original, value))
        return self.originals.get(value, value) if jax_arguments.is_function(value) else value


def _wrap_module(calls: _Calls, module: Any, home: str) -> None:
    ufunc = getattr(jax.numpy, "ufunc", None)
    for name, value in vars(module).copy().items():
        full = f"{home}.{name}"
        if name.startswith("_") or name.endswith("_p") or full in jax_names.LEFT_OUT or value in calls.public:
            continue
        if not jax_arguments.is_function(value) or (ufunc is not None and isinstance(value, ufunc)):
            continue
        wrapped = _wrapped(calls, full, value)
        # What is pickled by name is found under this one.
        wrapped.__module__, wrapped.__qualname__ = home, name
        calls.public[wrapped], calls.originals[wrapped] = full, value
        setattr(module, name, wrapped)


def _wrapped(calls: _Calls, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        return calls.called(name, function, args, kwargs)

    for attribute in ("lower", "trace", "eval_shape", "clear_cache", "defjvp", "defvjp"):
        # A function that JAX compiles has more than its call.
        if hasattr(function, attribute) and not hasattr(recorded, attribute):
            setattr(recorded, attribute, getattr(function, attribute))
    return recorded


def _wrap_ufuncs(calls: _Calls) -> None:
    kind = getattr(jax.numpy, "ufunc", None)
    if kind is None:
        return
    call = kind.__call__

    @functools.wraps(call)
    def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
        return calls.called(f"jax.numpy.{self.__name__}", functools.partial(call, self), args, kwargs)

    kind.__call__ = recorded


def _wrap_arrays(calls: _Calls) -> None:
    """Wraps operators and methods of arrays and tracers. A tracer has the methods of its abstract value."""
    from jax._src import core
    from jax._src.array import ArrayImpl
    from jax._src.numpy.array_methods import _IndexUpdateRef

    operators = {**jax_names.OPERATORS, **jax_names.SWAPPED, "__getitem__": "jax.Array.__getitem__"}
    for kind in (ArrayImpl, core.Tracer):
        for name, public in operators.items():
            own = getattr(kind, name, None)
            if callable(own):
                setattr(kind, name, _wrapped_operator(calls, public, own, name in jax_names.SWAPPED))
    abstract = vars(core.ShapedArray)
    for name in jax_names.METHODS:
        if name in abstract:
            setattr(ArrayImpl, name, _wrapped(calls, f"jax.Array.{name}", getattr(ArrayImpl, name)))
            method = core.aval_method(_wrapped(calls, f"jax.Array.{name}", abstract[name].fun))
            setattr(core.ShapedArray, name, method)
    for name, public in jax_names.PROPERTIES.items():
        if name in abstract:
            setattr(ArrayImpl, name, property(_wrapped(calls, public, getattr(ArrayImpl, name).fget)))
            setattr(core.ShapedArray, name, core.aval_property(_wrapped(calls, public, abstract[name].fget)))
    for name in jax_names.UPDATES:
        own = vars(_IndexUpdateRef).get(name)
        if own is not None:
            setattr(_IndexUpdateRef, name, _wrapped_update(calls, name, own))


def _wrapped_operator(calls: _Calls, name: str, function: Callable[..., Any], swapped: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def recorded(self: Any, *others: Any) -> Any:
        public = (tuple(reversed((self, *others))) if swapped else (self, *others), {})
        return calls.called(name, function, (self, *others), {}, public)

    return recorded


def _wrapped_update(calls: _Calls, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
        public = ((self.array, self.index, name, *args), kwargs)
        return calls.called("jax.Array.at", function, (self, *args), kwargs, public)

    return recorded
