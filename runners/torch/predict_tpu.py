"""Predicts calls of PyTorch for absent TPUs: torch_xla lowers them, libtpu compiles the programs.

A call is made on XLA's CPU device, the stand-in for the TPU. Every program that torch_xla makes of it goes to the
compiler, and what torch_xla leaves to the host counts as on a TPU. Implements
runners.core.prediction.prediction.Predictor.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Mapping, NamedTuple, Sequence

import torch

from runners.core import environment
from runners.core.errors import DeviceUnavailable
from runners.core.prediction.compiling import Compiler, Refused
from runners.core.prediction.prediction import Estimate, Unknown, together
from runners.core.programs import Program
from runners.core.testing import tree
from runners.torch import lowering, xla
from runners.torch.aten_programs import FORMS, AtenProgram, remarks

_LARGEST_FRACTION = 0.25
"""A program with an array larger than this fraction of the host's free memory is not computed here."""

_ARRAY = re.compile(r"\b(?:pred|bf16|c|[suf])(\d*)[a-z\d]*\[([\d,]*)\]")
_NOT_ON_HOST = re.compile(r"No registered implementation for .*custom call to .* for Host")
_OWN = re.compile("XLA|Error while lowering|invalid python storage")

_SHUFFLE = re.compile(r"^%Fischer-Yates-Shuffle_body\S* \(\S+ \(s64\[\], s64\[(\d+)\]", re.MULTILINE)
_LONGEST_SHUFFLE = 20_000
"""Elements of ``randperm``: XLA's CPU copies the whole array for each element, which takes minutes for a few hundred
thousand."""

_NOT_READ = "Unable to parse module assembly"
"""The message for HLO that a TPU takes and that StableHLO does not have."""


class _Device(NamedTuple):
    compiler: Compiler
    programs: lowering.Programs


class _Made(NamedTuple):
    """A call made on the stand-in. ``error`` is what it raised there, if a TPU would raise it too."""

    output: Sequence[Any]
    programs: Sequence[str]
    host_operations: Sequence[str]
    device_work: bool
    error: Exception | None


def open_device(device: str) -> _Device:
    if not xla.has_spmd():
        raise DeviceUnavailable(
            f"PyTorch {torch.__version__} has no torch_xla here that lowers for '{device}' without one",
            "Use an environment or image made for it, such as torch-2.9.0-tpu-v3.",
        )
    return _Device(Compiler(device), lowering.Programs())


def stand_in(device: _Device) -> str:
    return "xla"


def about(device: _Device) -> Mapping[str, str | None]:
    return device.compiler.about


def facts(device: _Device) -> Mapping[str, str | int | float | bool | None]:
    return device.compiler.facts


def refuses(error: BaseException, device: _Device) -> bool:
    """An error of torch_xla itself, such as for sparse tensors, would also be raised on a TPU."""
    said = str(error)
    return not isinstance(error, AssertionError) and bool(_OWN.search(said)) and not _NOT_ON_HOST.search(said)


def predict(call: partial[Any], device: _Device) -> Estimate:
    # Discards the programs of the inputs, which are computed before a call.
    device.programs.taken()
    with lowering.for_tpus():
        made = _make(call, device)
    return _estimated(made, device.compiler)


def predict_program(program: Program, device: _Device) -> Estimate:
    """One program of everything, except what torch_xla leaves to the host. The updates of weights are not given the
    memory of the weights, as they may be on a TPU."""
    found = AtenProgram(program.module("tpu", FORMS))
    if found.input_bytes > _LARGEST_FRACTION * environment.free_memory_bytes():
        raise Unknown(f"the inputs of the program have {found.input_bytes / 1e9:.1f} GB, too much for this host")
    here = torch.device("xla:0")
    inputs = found.inputs(here)
    xla.wait()
    device.programs.taken()
    with lowering.for_tpus(), xla.trace_ops(here) as trace:
        last = xla.hlo_of(found.run(inputs, here))
    on_host = [operation.name for operation in trace.operations if operation.location != str(here)]
    made = _Made((), [*device.programs.taken(), last], on_host, True, None)
    return _estimated(made, device.compiler)._replace(remarks=remarks(found))


def _make(call: partial[Any], device: _Device) -> _Made:
    here = torch.device("xla:0")
    try:
        with xla.trace_ops(here) as trace:
            output = call()
            last = _too_much(_tensors((output, call.args, call.keywords)))
            if not last:
                xla.wait()
    except Exception as error:
        return _Made((), device.programs.taken(), (), True, None if _NOT_ON_HOST.search(str(error)) else error)
    programs = [*device.programs.taken(), *last]
    there = [operation for operation in trace.operations if operation.location == str(here)]
    on_host = [operation.name for operation in trace.operations if operation.location != str(here)]
    # What only moves or fills data is not an operation, but it is work of the device.
    work = bool(there) or (not on_host and (bool(programs) or bool(_tensors(output))))
    return _Made(() if last else (output,), programs, on_host, work, None)


def _tensors(nested: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree.leaves(nested) if isinstance(leaf, torch.Tensor) and leaf.device.type == "xla"]


def _too_much(tensors: Sequence[torch.Tensor]) -> Sequence[str]:
    """The program that would compute these tensors, if it takes too much memory or time for the host; else nothing."""
    if not tensors:
        return ()
    program = xla.hlo_of(tensors)
    largest = max((_size(array) for array in _ARRAY.finditer(program)), default=0)
    shuffled = max(map(int, _SHUFFLE.findall(program)), default=0)
    too_large = largest > _LARGEST_FRACTION * environment.free_memory_bytes() or shuffled > _LONGEST_SHUFFLE
    return (program,) if too_large else ()


def _size(array: re.Match[str]) -> int:
    """The size in bytes of an array in HLO text, such as bf16[64,128]; 0 for elements smaller than a byte."""
    bits, shape = array.groups()
    size = int(bits or 8) // 8
    for extent in filter(None, shape.split(",")):
        size *= int(extent)
    return size


def _estimated(made: _Made, compiler: Compiler) -> Estimate:
    found = [_compiled(program, compiler) for program in made.programs]
    if made.error:
        # A TPU would first meet what the compiler refuses.
        raise made.error
    return together(found)._replace(
        device_work=made.device_work, host_operations=made.host_operations, made=made.output
    )


def _compiled(program: str, compiler: Compiler) -> Estimate:
    try:
        return compiler.compile(lowering.with_scalar_starts(program).encode(), "hlo")
    except Refused as error:
        if _NOT_READ not in str(error):
            raise
        raise Unknown(
            "a program of the call cannot be expressed in StableHLO, the only format that the compiler takes"
        ) from error
