"""Predicts calls of PyTorch for absent TPUs: TorchTPU makes programs of them, libtpu compiles the programs.

A call is made on TorchTPU's stand-in, XLA's CPU compiler. A program that the stand-in cannot compile or compute is
still compiled for the TPU, and the case ends there. Implements runners.core.prediction.prediction.Predictor.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Mapping, NamedTuple, Sequence

import torch
from torch.autograd.gradcheck import GradcheckError

from runners.core import environment, programs
from runners.core.errors import DeviceUnavailable, first_line
from runners.core.prediction.compiling import Compiler
from runners.core.prediction.prediction import Estimate, Unknown, together
from runners.torch import tpu, tpu_programs
from runners.torch.aten_programs import FORMS, AtenProgram, remarks
from runners.torch.tpu_programs import Program, TooLarge

_OF_STAND_IN = re.compile("the XLA compiler failed with|ran out of memory while")
"""Messages of the stand-in about a program that was logged. They say nothing about a TPU."""

_LARGEST_FRACTION = 0.25
"""A program whose inputs are larger than this fraction of the host's free memory is not made here."""

_TOO_OLD = re.compile(r"^\w+ is not supported\.$|PJRT_\w+")
"""Messages about functions of PJRT that the stand-in lacks. Nothing was logged."""

_OWN = re.compile(r"\bTPU\b|TorchTPU|torch_tpu")
"""What TorchTPU says of itself, in an error that a TPU would raise too."""


class _Device(NamedTuple):
    compiler: Compiler
    raised: list[BaseException]
    """The last error that a call raised on the stand-in and that a TPU would raise too."""


class _Made(NamedTuple):
    """A call made on the stand-in. ``output`` is empty if the stand-in could not compute it."""

    programs: Sequence[Program]
    output: Sequence[Any] = ()
    raised: BaseException | None = None
    gap: str = ""
    host_operations: Sequence[str] = ()


def open_device(device: str) -> _Device:
    tpu.prepare()
    if tpu.missing():
        raise DeviceUnavailable(f"TorchTPU cannot make programs for '{device}': {tpu.missing()}", tpu.REMEDY)
    tpu_programs.prepare()
    return _Device(Compiler(device), [])


def stand_in(device: _Device) -> str:
    return "xla"


def about(device: _Device) -> Mapping[str, str | None]:
    return device.compiler.about


def facts(device: _Device) -> Mapping[str, str | int | float | bool | None]:
    return {**device.compiler.facts, **tpu.versions(), "matmul_precision": torch.get_float32_matmul_precision()}


def refuses(error: BaseException, device: _Device) -> bool:
    """An error of a call that TorchTPU raised would also be raised on a TPU; so would one in its name between calls."""
    if isinstance(error, (AssertionError, GradcheckError)):
        return False
    said = str(error)
    own = bool(_OWN.search(said)) and not (_OF_STAND_IN.search(said) or _TOO_OLD.search(said))
    return own or any(error is raised for raised in device.raised)


def predict(call: partial[Any], device: _Device) -> Estimate:
    device.raised.clear()
    made = _make(call)
    found = [_compiled(program, device.compiler) for program in made.programs]
    if made.gap and not found:
        raise Unknown(f"the stand-in cannot make the call: {made.gap}")
    if type(made.raised) in (RuntimeError, NotImplementedError):
        raise made.raised
    if made.raised:
        # A case may expect it, or it is about values.
        device.raised.append(made.raised)
    # What only moves or describes data is not an operation, but it is work of the device.
    work = bool(found) or (not made.host_operations and bool(tpu_programs.on_tpu(made.output)))
    return together(found)._replace(
        device_work=work, host_operations=made.host_operations, made=made.output, raised=made.raised
    )


def predict_program(program: programs.Program, device: _Device) -> Estimate:
    """The programs that TorchTPU makes, one of each operation; so the memory is that of the largest."""
    found = AtenProgram(program.module("tpu", FORMS))
    if found.input_bytes > _LARGEST_FRACTION * environment.free_memory_bytes():
        raise Unknown(f"the inputs of the program have {found.input_bytes / 1e9:.1f} GB, too much for this host")
    here = torch.device("tpu", 0)
    inputs = found.inputs(here)
    estimate = predict(partial(found.run, inputs, here), device)
    if estimate.raised:
        raise estimate.raised
    said = "TorchTPU makes a program of each operation; the memory is that of the largest"
    return estimate._replace(remarks=[said, *remarks(found)])


def _compiled(program: Program, compiler: Compiler) -> Estimate:
    """Where it cannot be said which of several programs it is, its figures are not known."""
    compiled = [compiler.compile(candidate.encode(), "stablehlo") for candidate in program.candidates]
    return compiled[0] if len(compiled) == 1 else Estimate()


def _make(call: partial[Any]) -> _Made:
    tpu_programs.begin()
    here = torch.device("tpu", 0)
    try:
        with tpu.trace_ops(here) as trace, tpu_programs.sparing_the_host():
            output = call()
            tpu.wait(output)
    except TooLarge as error:
        return _Made([*tpu_programs.taken(), error.program], gap=str(error))
    except Exception as error:
        said = first_line(error)
        if _TOO_OLD.search(said):
            raise Unknown(f"the stand-in cannot make the call: {said}") from error
        if _OF_STAND_IN.search(said):
            return _Made(tpu_programs.taken(), gap=said)
        return _Made(tpu_programs.taken(), raised=error)
    on_host = [operation.name for operation in trace.operations if operation.location != str(here)]
    return _Made(tpu_programs.taken(), (output,), host_operations=on_host)
