"""Predicts calls of JAX for absent TPUs and GPUs by compiling their programs.

A call is made on the host. Each program is lowered for the device and given to the compiler before the host runs it.
What happens between the programs, such as shapes that depend on values, always runs on the host. Implements
runners.core.prediction.prediction.Predictor.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import Any, Callable, Mapping, Sequence

import jax

from runners.core.prediction.compiling import Compiler, Unreadable
from runners.core.prediction.prediction import Estimate, StopCase, Unknown, exceeds_host, together
from runners.core.programs import Program
from runners.jax import lowering, op_trace, whole_programs

_FED = "the host feeds a program while it runs (infeed): only the device's runtime can tell"


def open_device(device: str) -> Compiler:
    return Compiler(device)


def stand_in(compiler: Compiler) -> str:
    return "cpu"


def about(compiler: Compiler) -> Mapping[str, str | None]:
    return compiler.about


def facts(compiler: Compiler) -> Mapping[str, str | int | float | bool | None]:
    return {
        **compiler.facts,
        "x64": bool(jax.config.jax_enable_x64),
        "matmul_precision": jax.config.jax_default_matmul_precision,
    }


def refuses(error: BaseException, compiler: Compiler) -> bool:
    return False


def predict(call: partial[Any], compiler: Compiler) -> Estimate:
    programs = _Programs(compiler)
    made: Sequence[Any] = ()
    raised = None
    with op_trace.trace_ops(lambda location: True) as trace:
        try:
            with lowering.lowered_for(compiler.platform, programs):
                made = (call(),)
        except BaseException as error:
            if programs.refusal:
                raise programs.refusal from None
            raised = error
    read = [operation.name for operation in trace.operations if operation == op_trace.READ]
    return programs.sum(read)._replace(made=made, raised=raised)


def predict_program(program: Program, compiler: Compiler) -> Estimate:
    module = program.module(compiler.platform, whole_programs.FORMS)
    estimate = compiler.compile(module.content, module.form)
    text = whole_programs.text(module)
    if lowering.is_fed(text):
        raise Unknown(_FED)
    return estimate._replace(host_operations=lowering.host_operations(text))


class _Programs:
    """Compiles the programs of a call. ``refusal`` is the error that ended the call."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._accepted: list[Estimate] = []
        self.refusal: BaseException | None = None

    def __call__(self, lower: Callable[[], lowering.Program]) -> None:
        try:
            program = lower()
            if program.devices > 1:
                raise Unknown(f"a program is for {program.devices} devices together; one is predicted")
            estimate = self._compile(program)
            if program.is_fed:
                raise Unknown(_FED)
        except BaseException as error:
            self.refusal = error
            raise
        self._accepted.append(estimate._replace(host_operations=program.host_operations))
        if exceeds_host(estimate):
            raise StopCase

    def _compile(self, program: lowering.Program) -> Estimate:
        """Another version of jax may not read the text. Every version reads HLO, but it has operations that have no
        portable form."""
        try:
            return self._compiler.compile(program.text.encode(), "stablehlo")
        except Unreadable:
            return self._compiler.compile(program.hlo(), "hlo")

    def sum(self, read: Sequence[str]) -> Estimate:
        """The estimate of all programs and of what was read back between them. They run one after the other, so at
        least the memory of the largest is needed."""
        if not self._accepted:
            return Estimate(device_work=False, host_operations=read)

        on_host = chain.from_iterable(estimate.host_operations for estimate in self._accepted)
        return together(self._accepted)._replace(host_operations=[*on_host, *read])
