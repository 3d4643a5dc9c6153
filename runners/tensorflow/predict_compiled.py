"""Predicts calls of TensorFlow for an absent TPU, and for an absent GPU with XLA.

A call is made on TensorFlow's XLA device on the CPU. Its kernels are those for a TPU, except for complex128
(tensorflow-tpu 2.20.0 registers the same operations with the same dtypes for both, without it), so TensorFlow itself
refuses what has no kernel. Each operation on that device, each function, and what a session computes as a whole is
lowered and given to the device's compiler before it is computed.

On a GPU this is what ``jit_compile`` would compile. What XLA does not take may have a kernel of its own there, which
gpu-predicted looks up: here it is unknown. Implements runners.core.prediction.prediction.Predictor.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Mapping, NoReturn, Sequence

import tensorflow as tf
from tensorflow.python.eager import context

from runners.core import failure
from runners.core.prediction import compiling
from runners.core.prediction.compiling import Compiler
from runners.core.prediction.prediction import Estimate, Unknown, exceeds_host, together
from runners.core.programs import Program
from runners.core.testing import tree
from runners.tensorflow import dispatch_listener, lowering, session_programs
from runners.tensorflow.devices import NAMES, said_by
from runners.tensorflow.op_trace import NO_OPERATIONS, PYTHON, short

STAND_IN = "xla"
_HERE = short(NAMES[STAND_IN])

_REFUSED = (compiling.Refused, compiling.Died)
_REFUSING = ("type", "not_implemented")
"""Categories of the errors that TensorFlow raises if its XLA device does not take something."""


class _TooLarge(Exception):
    """The host cannot compute an operation that the device's compiler accepted."""


def open_device(device: str) -> Compiler:
    return Compiler(device)


def stand_in(compiler: Compiler) -> str:
    return STAND_IN


def about(compiler: Compiler) -> Mapping[str, str | None]:
    return compiler.about


def facts(compiler: Compiler) -> Mapping[str, str | int | float | bool | None]:
    return compiler.facts


def refuses(error: BaseException, compiler: Compiler) -> bool:
    if isinstance(error, _REFUSED) or compiler.platform != "tpu":
        return isinstance(error, _REFUSED)
    is_tensorflows = isinstance(error, tf.errors.OpError) or type(error).__module__.startswith("tensorflow.")
    return is_tensorflows and failure.category("tensorflow", "failed", failure.facts_of(error)) in _REFUSING


def predict(call: partial[Any], compiler: Compiler) -> Estimate:
    steps = _Steps(compiler)
    try:
        with dispatch_listener.listening(steps.asked, steps.eager, steps.graph):
            output = call()
    except _TooLarge:
        return steps.estimate()
    except Exception as error:
        if refuses(error, compiler):
            raise
        what = f"the call does not succeed on the CPU's XLA device: {type(error).__name__}: {said_by(error)}"
        raise Unknown(what) from error
    for leaf in tree.leaves((call.args, call.keywords, output)):
        if isinstance(leaf, (tf.Tensor, tf.Variable)) and hasattr(leaf, "numpy"):
            steps.check([leaf.dtype.base_dtype.name], "a tensor")
    if steps.unlowered:
        raise Unknown(f"TensorFlow does not lower it for the compiler: {steps.unlowered[0]}")
    return steps.estimate(output)


def predict_program(program: Program, compiler: Compiler) -> Estimate:
    module = program.module(compiler.platform, ("stablehlo", "hlo"))
    return compiler.compile(module.content, module.form)


class _Steps:
    """Compiles the steps of a call: the listeners of dispatch_listener."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._accepted: list[Estimate] = []
        self._here: list[str] = []
        self._host: list[str] = []
        self.unlowered: list[str] = []

    def asked(self, asked: dispatch_listener.Request) -> None:
        on_host = asked.device not in (None, _HERE)
        if not on_host:
            for types in asked.types.values():
                self.check(types, f"the operation {asked.name}")
        if asked.name not in NO_OPERATIONS:
            (self._host if on_host or asked.name in PYTHON else self._here).append(asked.name)

    def check(self, dtypes: list[str], what: str) -> None:
        """Raises what TensorFlow raises if a tensor of these dtypes is moved to a TPU."""
        if "complex128" in dtypes and self._compiler.platform == "tpu":
            _refuse(f"Element type C128 is not supported on TPU: {what} has complex128")

    def eager(self, step: dispatch_listener.Step) -> None:
        if step.device == _HERE and (step.is_function or lowering.is_compiled(step.name)):
            self._compile(step)

    def graph(self, graph: Any, wanted: Sequence[Any], feeds: Mapping[Any, Any]) -> None:
        try:
            program = session_programs.program(graph, NAMES[STAND_IN], wanted, feeds)
        except session_programs.UnknownShape as error:
            self.unlowered.append(str(error))
            return
        if program:
            with context.eager_mode(), tf.device(NAMES[STAND_IN]):
                inputs = [tf.constant(array, dtype) for array, dtype in program.inputs]
            self._compile(dispatch_listener.Step(program.function, inputs, {}, _HERE))

    def _compile(self, step: dispatch_listener.Step) -> None:
        try:
            module = lowering.hlo(step, NAMES[STAND_IN])
        except lowering.NotLowered as error:
            # If the device does not take it, computing it raises an error.
            self.unlowered.append(f"{step.name}: {said_by(error)}")
            return
        try:
            estimate = self._compiler.compile(module, "hlo")
        except compiling.Unreadable as error:
            self.unlowered.append(f"{step.name}: {said_by(error)}")
            return
        self._accepted.append(estimate)
        if exceeds_host(estimate):
            raise _TooLarge

    def estimate(self, *made: Any) -> Estimate:
        """The estimate of all steps together."""
        return together(self._accepted)._replace(device_work=bool(self._here), host_operations=self._host, made=made)


def _refuse(message: str) -> NoReturn:
    raise tf.errors.InvalidArgumentError(None, None, message)
