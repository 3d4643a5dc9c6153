"""TensorFlow: the exported functions that a program calls, also while ``tf.function`` traces.

Public functions are wrapped in their modules; operators are wrapped in the classes of tensors and variables. What a
public function calls inside is not recorded. Code that ``tf.function`` has traced already is not seen again: a call
inside of it is counted once for each trace. Keras calls these functions too, so its layers and optimizers are
seen by what they compute.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import threading
import time
from types import CodeType
from typing import Any, Callable, Hashable, Iterator

import tensorflow as tf
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

from portbench_recorder import tensorflow_arguments, tensorflow_names
from portbench_recorder.recording import Arguments, Entry, Recording
from portbench_recorder.sites import Sites

_MARK = "_portbench_records"
_installed: dict[int, Calls] = {}


def calls_of(recording: Recording) -> Calls | None:
    """The calls of a recording that has begun; None before."""
    return _installed.get(id(recording))


def install(recording: Recording) -> None:
    """Records the calls of all threads from now on."""
    recording.add_framework("tensorflow", tf.__version__)
    calls = _installed[id(recording)] = Calls(recording)
    for path in tensorflow_names.MODULES:
        # Keras 2 finds the functions in tensorflow.compat.v2.
        for root in (tf, tf.compat.v2):
            module = root
            for part in filter(None, path.split(".")):
                module = getattr(module, part, None)
            if module is not None:
                _wrap_module(calls, module, ".".join(filter(None, ("tf", path))))
    operators = {**tensorflow_names.OPERATORS, **tensorflow_names.SWAPPED}
    for kind in (tf.Tensor, BaseResourceVariable):
        for name, public in operators.items():
            own = getattr(kind, name, None)
            if callable(own):
                setattr(kind, name, _wrapped_operator(calls, public, own, name in tensorflow_names.SWAPPED))
    try:
        from portbench_recorder import tensorflow_programs

        tensorflow_programs.install(recording, calls.pause)
    except ImportError as error:
        recording.failed(error)


class _State(threading.local):
    is_inside = False


class Calls:
    """Records calls by their functions and arguments."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._state = _State()
        home = os.path.dirname(os.path.abspath(tf.__file__))
        self._sites = Sites(home)
        self._sources = os.path.join(home, "python")
        self._own_code: dict[CodeType, bool] = {}
        self._sizes: dict[str, set[Hashable]] = {}

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
                entry = self._entry(name, function, *(public or (args, kwargs)))
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

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """A context in which this thread's calls are not recorded."""
        before, self._state.is_inside = self._state.is_inside, True
        try:
            yield
        finally:
            self._state.is_inside = before

    def _is_own(self, caller: CodeType) -> bool:
        """Whether a function of TensorFlow makes the call."""
        found = self._own_code.get(caller)
        if found is None:
            path = os.path.relpath(caller.co_filename, self._sources).replace(os.sep, "/")
            found = path.startswith(tensorflow_names.FOLDERS) and not path.startswith(tensorflow_names.CALLERS)
            self._own_code[caller] = found
        return found

    def _entry(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
        def describe() -> Arguments:
            sizes, is_data = self._sizes_of(name, function), name in tensorflow_names.OF_DATA
            return tensorflow_arguments.described(args, kwargs, self.recording.values, sizes, is_data)

        return self.recording.entry("tensorflow", name, tensorflow_arguments.key(args, kwargs), describe)

    def _sizes_of(self, name: str, function: Callable[..., Any]) -> set[Hashable]:
        """The positions and names of a function's parameters that say what shape something has."""
        found = self._sizes.get(name)
        if found is None:
            try:
                parameters = list(inspect.signature(function).parameters)
            except (TypeError, ValueError):
                parameters = []
            found = {place for place, each in enumerate(parameters) if each in tensorflow_names.SIZES}
            found |= tensorflow_names.SIZES
            if name == "tf.Tensor.__getitem__":
                found.add(1)
            self._sizes[name] = found
        return found


def _wrap_module(calls: Calls, module: Any, home: str) -> None:
    for name in dir(module):
        value = getattr(module, name, None)
        full = f"{home}.{name}"
        if name.startswith("_") or not callable(value) or isinstance(value, (type, tf.DType)):
            continue
        if getattr(value, _MARK, False):
            # One module is shown under two names.
            continue
        if inspect.ismodule(value) or (name in tensorflow_names.LEFT_OUT and full not in tensorflow_names.KEPT):
            continue
        wrapped = _wrapped(calls, full, value)
        # What is pickled by name is found under this one, and autograph leaves functions of this module alone.
        wrapped.__module__, wrapped.__qualname__ = module.__name__, name
        setattr(wrapped, _MARK, True)
        setattr(module, name, wrapped)


def _wrapped(calls: Calls, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        return calls.called(name, function, args, kwargs)

    return recorded


def _wrapped_operator(calls: Calls, name: str, function: Callable[..., Any], swapped: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def recorded(self: Any, *others: Any) -> Any:
        public = (tuple(reversed((self, *others))) if swapped else (self, *others), {})
        return calls.called(name, function, (self, *others), {}, public)

    return recorded
