"""TensorFlow: the functions of ``tf.function`` that a program traces, each lowered by XLA as a whole.

A function that XLA does not take, such as one that reads an iterator, is represented by the functions that it calls:
Keras's loop over batches by its step. Versions that cannot lower a function to StableHLO give programs without a
module, with the reason.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable, ContextManager

import tensorflow as tf
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function
from tensorflow.python.util import tf_decorator

from portbench_recorder.programs import MOST_BYTES
from portbench_recorder.recording import Recording
from portbench_recorder.sites import place
from portbench_recorder.stablehlo import without_data

compiler_ir: Any
try:
    from tensorflow.python.eager.polymorphic_function import compiler_ir
except ImportError:
    # TensorFlow 2.11 has no such module.
    compiler_ir = None


class _State(threading.local):
    depth = 0


def install(recording: Recording, paused: Callable[[], ContextManager[object]]) -> None:
    """Keeps the functions that are traced from now on. Calls made inside ``paused`` are not recorded."""
    original = Function.__call__
    programs = _Programs(recording)
    state = _State()

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not recording.enabled:
            return original(self, *args, **kwargs)
        state.depth += 1
        # The outermost function comes before those that it calls.
        programs.called(self)
        try:
            return original(self, *args, **kwargs)
        finally:
            state.depth -= 1
            if state.depth == 0 and tf.executing_eagerly():
                try:
                    with paused():
                        programs.take()
                except Exception as error:
                    recording.failed(error)

    Function.__call__ = call


class _Programs:
    """The functions of one outermost call, and the traces that are known already."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._called: dict[int, Any] = {}
        self._known: set[bytes] = set()
        self._traces: dict[int, int] = {}

    def called(self, function: Any) -> None:
        self._called.setdefault(id(function), function)

    def take(self) -> None:
        """Keeps the new traces of the functions that were called: of the first that XLA takes whole, or else of those
        that it calls."""
        called, self._called = self._called, {}
        why: tuple[Any, Any, str] | None = None
        for number, function in called.items():
            traces = function.experimental_get_tracing_count()
            if self._traces.get(number) == traces:
                continue
            self._traces[number] = traces
            for concrete in function._list_all_concrete_functions():
                if concrete.name in self._known:
                    continue
                self._known.add(concrete.name)
                said = self._keep(function, concrete)
                if not said:
                    return
                why = why or (function, concrete, said)
        if why is not None:
            self._add(*why[:2], {"unknown": f"TensorFlow does not lower it to XLA: {why[2]}"[:500]})

    def _keep(self, function: Any, concrete: Any) -> str:
        """Keeps a trace; returns why it cannot be lowered, or nothing."""
        if not self._recording.programs.wants("tensorflow", len(concrete.graph.get_operations())):
            return ""
        if compiler_ir is None:
            return f"TensorFlow {tf.__version__} cannot write StableHLO"
        try:
            text = compiler_ir.from_concrete_function(concrete)(stage="stablehlo")
        except Exception as error:
            return f"{type(error).__name__}: {error}".split("\n")[0][:400]
        content = without_data(text.decode() if isinstance(text, bytes) else text).encode()
        if len(content) > MOST_BYTES:
            module = {"unknown": f"the program has {len(content) >> 20} MB, at most {MOST_BYTES >> 20} are kept"}
        else:
            module = {"stablehlo": self._recording.programs.store(content)}
        self._add(function, concrete, module)
        return ""

    def _add(self, function: Any, concrete: Any, module: dict[str, str]) -> None:
        code = getattr(tf_decorator.unwrap(function.python_function)[1], "__code__", None)
        sites = [place(code.co_filename, code.co_firstlineno)] if code is not None else []
        name = concrete.name.decode() if isinstance(concrete.name, bytes) else concrete.name
        name = name.replace("__inference_", "").rpartition("_")[0] or name
        operations = len(concrete.graph.get_operations())
        self._recording.programs.add("tensorflow", name, operations, {"any": module}, sites)
