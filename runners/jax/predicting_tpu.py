"""Compiles the programs of JAX's calls for TPUs that are not there.

A call is made on the host, and each program that it lowers on the way is lowered for the TPU and handed to the compiler
before the host may run it: that is what the TPU would be asked for. What happens between the programs, such as shapes
that depend on values, is the host's anyway. Implements runners.core.prediction.Predictor.
"""

from __future__ import annotations

import hashlib
from functools import partial
from itertools import chain
from typing import Any, Callable, Mapping, Sequence

import jax

from runners.core.compiling import Compiler
from runners.core.prediction import Enough, Estimate, Unknown, exceeds_host
from runners.jax import watching
from runners.jax.lowering import Program, lowered_for

_REMEMBERED = 10_000


class _Device:
    """A compiler, and what it told of the programs that it has compiled."""

    def __init__(self, name: str) -> None:
        self.compiler = Compiler(name)
        self._told: dict[bytes, Estimate] = {}

    def estimate(self, program: Program) -> Estimate:
        """Raises what the compiler does."""
        digest = hashlib.sha256(program.text.encode()).digest()
        if digest not in self._told:
            estimate = self.compiler.compile(program.hlo(), "hlo")
            if len(self._told) == _REMEMBERED:
                self._told.clear()
            self._told[digest] = estimate._replace(host_operations=program.host_operations)
        return self._told[digest]


def open_device(device: str) -> _Device:
    return _Device(device)


def stand_in(device: _Device) -> None:
    return None


def about(device: _Device) -> Mapping[str, str | None]:
    return {"kind": "compiled", "compiler": device.compiler.name, "topology": device.compiler.model.topology}


def facts(device: _Device) -> Mapping[str, str | int | float | bool | None]:
    model = device.compiler.model
    return {
        "model": device.compiler.device_kind,
        "x64": bool(jax.config.jax_enable_x64),
        "matmul_precision": jax.config.jax_default_matmul_precision,
        "peak_flops_per_s": model.flops_per_s,
        "peak_bytes_per_s": model.bytes_per_s,
    }


def predict(call: partial[Any], device: _Device) -> Estimate:
    judge = _Judge(device)
    made: Sequence[Any] = ()
    raised = None
    with watching.watching(lambda location: True) as watched:
        try:
            with lowered_for("tpu", judge):
                made = (call(),)
        except BaseException as error:
            if judge.refusal:
                raise judge.refusal from None
            raised = error
    read = [operation.name for operation in watched.operations if operation == watching.READ]
    return judge.sum(read)._replace(made=made, raised=raised)


class _Judge:
    """Is told the programs of a call and hands them to the compiler. ``refusal`` is what ended that."""

    def __init__(self, device: _Device) -> None:
        self._device = device
        self._accepted: list[Estimate] = []
        self.refusal: BaseException | None = None

    def __call__(self, lower: Callable[[], Program]) -> None:
        try:
            program = lower()
            if program.devices > 1:
                raise Unknown(f"a program is for {program.devices} devices together; one is predicted")
            estimate = self._device.estimate(program)
            if program.is_fed:
                raise Unknown("the host feeds a program while it runs (infeed): only the device's runtime can tell")
        except BaseException as error:
            self.refusal = error
            raise
        self._accepted.append(estimate)
        if exceeds_host(estimate):
            raise Enough

    def sum(self, read: Sequence[str]) -> Estimate:
        """Of all programs, and what was read back between them. They run one after the other, so the memory is that of
        the largest at least."""
        if not self._accepted:
            return Estimate(device_work=False, host_operations=read)

        def every(name: str) -> list[Any]:
            return [getattr(estimate, name) for estimate in self._accepted]

        def total(name: str) -> Any:
            return None if None in every(name) else sum(every(name))

        return Estimate(
            compile_ns=total("compile_ns"),
            flops=total("flops"),
            bytes=total("bytes"),
            memory_bytes=max(filter(None, every("memory_bytes")), default=None),
            roofline_ns=total("roofline_ns"),
            host_operations=[*chain.from_iterable(every("host_operations")), *read],
        )
