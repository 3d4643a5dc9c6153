"""The process in which tests run: opens the device once, then runs one test after the other as it is told.

Forked by the zygote. Speaks with the supervisor over its channel only; its stdout and stderr are a pipe that the
supervisor keeps as evidence. Whatever a test raises becomes data; whatever kills the process is the supervisor's to
describe.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import mmap
import os
import sys
import time
from typing import Any, Mapping

from runners.core import failure, resolve
from runners.core.adapter import Adapter
from runners.core.channel import Channel, Message
from runners.core.errors import DeviceUnavailable
from runners.core.mutants import Mutant
from runners.core.trial import PHASES, Skip, Trial

SEED = 20230401
"""Of the framework's global random state, set anew before every test: any order of tests gives the same results."""

SAME_FUNCTION = "broken in this way, the function does the same in this test"


def serve(channel: Channel, phase: mmap.mmap, framework: str, device_name: str) -> None:
    """Answers requests until the channel ends. The first message says that the device is open, or why it is not."""
    try:
        adapter: Adapter = importlib.import_module(f"runners.{framework}.adapter")
        device = adapter.open_device(device_name)
        hello = {"ready": {"version": adapter.version(), "device": dict(adapter.device_facts(device))}}
    except DeviceUnavailable as error:
        channel.send({"unavailable": str(error), "remedy": error.remedy})
        return
    except Exception as error:
        channel.send({"broken": failure.facts_of(error)})
        return
    channel.send(hello)
    output = os.dup(1)
    while True:
        request = channel.receive()
        if request is None:
            return
        if request["do"] == "survey":
            names = (request["functions"], request["cases"], request["references"])
            reply: Message = dict(resolve.survey(*names, resolve.framework(framework)))
        else:
            reply = _run(request, framework, adapter, device, phase)
        _flush()
        _restore_streams(output)
        channel.send(dict(reply, id=request["id"]))


def _run(request: Mapping[str, Any], framework: str, adapter: Adapter, device: Any, phase: mmap.mmap) -> dict[str, Any]:
    """Runs one test; returns the part of its result that only the worker knows."""
    begin = time.perf_counter_ns()
    result: dict[str, Any] = {"outcome": "passed", "reason": None, "phase": None, "error": None}
    phase[0] = 0
    trial = mutant = None
    try:
        function = resolve.function(request["function"], resolve.framework(framework))
        case = resolve.case(request["case"])
        mutant = Mutant(request["mutant"], framework, adapter) if request["mutant"] else None
        adapter.seed(SEED)
        with adapter.scope(device):
            trial = Trial(framework, function, adapter, device, phase, time.perf_counter_ns, mutant)
            case(trial, **request["parameters"])
            trial.finish()
            if request["protocol"] != "cold":
                trial.measure_steady(int(request["steady_budget_s"] * 1e9))
    except Skip as skip:
        result.update(outcome="skipped", reason=str(skip))
    except BaseException as error:
        result.update(outcome="failed", phase=PHASES[phase[0]], error=failure.facts_of(error))
    if mutant and not mutant.differs:
        result.update(outcome="skipped", reason=SAME_FUNCTION, phase=None, error=None)
    result["calls"] = trial.calls if trial else []
    if request["protocol"] == "steady":
        result["calls"] = [dict(call, cold=None) for call in result["calls"]]
    result["placement"] = trial.placed() if trial else {"verdict": "unknown", "evidence": []}
    result["case_ns"] = time.perf_counter_ns() - begin
    return result


def _restore_streams(output: int) -> None:
    """A test may close or replace the standard streams; the next one finds them as they were."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


_libc = ctypes.CDLL(None)


def _flush() -> None:
    """What the test wrote must be in the pipe before the reply, C's own buffers included."""
    for stream in (sys.stdout, sys.stderr):
        # Where the test closed it, what it had written is out.
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    _libc.fflush(None)
