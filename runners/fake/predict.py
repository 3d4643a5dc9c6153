"""The pretended compiler of the fake framework: it accepts, refuses, does not know, dies and hangs."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import Any, Mapping

from runners.core.prediction.prediction import Estimate, Unknown, compiling, exceeds_host
from runners.core.programs import Program
from runners.fake import library

_ENDLESS = 1 << 59


def open_device(device: str) -> str:
    return device


def stand_in(device: str) -> str:
    return "xla" if device == "tpu-v3" else "cpu"


def about(device: str) -> Mapping[str, str | None]:
    return {"kind": "compiled", "compiler": "pretence 1.0.0", "topology": None}


def facts(device: str) -> Mapping[str, str | int | float | bool | None]:
    return {"model": "pretended TPU", "memory_bytes": 16_000_000_000}


def refuses(error: BaseException, device: str) -> bool:
    return False


def predict(call: partial[Any], device: str) -> Estimate:
    estimate = _estimated(call)
    if exceeds_host(estimate):
        return estimate
    try:
        return estimate._replace(made=(call(),))
    except Exception as error:
        return estimate._replace(raised=error)


def predict_program(program: Program, device: str) -> Estimate:
    """A program is a text that says what becomes of it."""
    said = program.module("tpu", ("stablehlo",)).content.decode()
    if said.startswith("refused"):
        raise RuntimeError(said)
    return Estimate(compile_ns={said: 1000}, memory_bytes=4_000_000_000)


def _estimated(call: partial[Any]) -> Estimate:
    if call.func is library.noise:
        raise Unknown("random numbers are drawn from a source that is not there")
    if call.func is library.identity:
        return Estimate(device_work=False)
    if call.func is library.scale_without_kernel:
        return Estimate(device_work=False, host_operations=["fake::scale"])
    asked = call.keywords.get("compiling")
    with compiling():
        if asked == "aborts":
            os.abort()
        if asked == "hangs":
            signal.pause()
    if asked == "refuses":
        raise NotImplementedError("scale_as_compiled is not implemented for tpu-v5e")
    memory = _ENDLESS if asked == "needs all memory" else 24
    return Estimate(compile_ns={"program": 1000}, flops=3.0, bytes=48.0, memory_bytes=memory, roofline_ns=2.0)
