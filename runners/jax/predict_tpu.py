"""Compiles the programs of JAX's calls for TPUs that are not there.

A call is made on the host, and each program that it lowers on the way is lowered for the TPU and handed to the compiler
before the host may run it: that is what the TPU would be asked for. What happens between the programs, such as shapes
that depend on values, is the host's anyway. Implements runners.core.prediction.Predictor.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import Any, Callable, Mapping, Sequence

import jax

from runners.core.prediction.compiling import Compiler
from runners.core.prediction.prediction import Estimate, StopCase, Unknown, exceeds_host, together
from runners.jax import op_trace
from runners.jax.lowering import Program, lowered_for


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
    judge = _Judge(compiler)
    made: Sequence[Any] = ()
    raised = None
    with op_trace.trace_ops(lambda location: True) as watched:
        try:
            with lowered_for("tpu", judge):
                made = (call(),)
        except BaseException as error:
            if judge.refusal:
                raise judge.refusal from None
            raised = error
    read = [operation.name for operation in watched.operations if operation == op_trace.READ]
    return judge.sum(read)._replace(made=made, raised=raised)


class _Judge:
    """Is told the programs of a call and hands them to the compiler. ``refusal`` is what ended that."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._accepted: list[Estimate] = []
        self.refusal: BaseException | None = None

    def __call__(self, lower: Callable[[], Program]) -> None:
        try:
            program = lower()
            if program.devices > 1:
                raise Unknown(f"a program is for {program.devices} devices together; one is predicted")
            estimate = self._compiler.compile(program.hlo(), "hlo")
            if program.is_fed:
                raise Unknown("the host feeds a program while it runs (infeed): only the device's runtime can tell")
        except BaseException as error:
            self.refusal = error
            raise
        self._accepted.append(estimate._replace(host_operations=program.host_operations))
        if exceeds_host(estimate):
            raise StopCase

    def sum(self, read: Sequence[str]) -> Estimate:
        """Of all programs, and what was read back between them. They run one after the other, so the memory is that of
        the largest at least."""
        if not self._accepted:
            return Estimate(device_work=False, host_operations=read)

        on_host = chain.from_iterable(estimate.host_operations for estimate in self._accepted)
        return together(self._accepted)._replace(host_operations=[*on_host, *read])
