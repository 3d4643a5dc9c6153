"""The process in which tests run: opens the device once, then handles one request after the other.

Forked by the zygote. It talks to the supervisor over its channel only. Its stdout and stderr are a pipe whose content
the supervisor keeps as evidence. What a test raises becomes data; what kills the process is described by the
supervisor.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import mmap
import os
import sys
from pathlib import Path

from runners.core import failure
from runners.core.adapter import Adapter
from runners.core.errors import DeviceUnavailable
from runners.core.prediction.prediction import Predictor
from runners.core.process import sandbox
from runners.core.process.channel import Channel
from runners.core.process.request_handler import PredictionBackend, RequestHandler
from runners.core.public import names
from runners.core.result import Message


def serve(channel: Channel, phase: mmap.mmap, framework: str, device_name: str, sandboxed: bool) -> None:
    """Answers requests until the channel ends. The first message says that the device is open, or why it is not. A
    sandboxed worker confines itself (see runners.core.process.sandbox)."""
    try:
        # Before any thread is started, and after the device is open, which may need more than a test.
        confined = [sandbox.confine_files(Path.cwd(), device_name)] if sandboxed else []
        handler, ready = _open(framework, device_name, phase)
        if sandboxed:
            is_predicted = device_name in names.framework(framework).PREDICTED
            confined.append(sandbox.confine_calls(device_name, is_predicted))
        ready["sandbox"] = "+".join(filter(None, confined)) or sandbox.NONE
    except DeviceUnavailable as error:
        channel.send({"unavailable": str(error), "remedy": error.remedy})
        return
    except Exception as error:
        channel.send({"broken": failure.facts_of(error)})
        return
    channel.send({"ready": ready})
    output = os.dup(1)
    while True:
        request = channel.receive()
        if request is None:
            return
        reply = handler.handle(request)
        _flush()
        _restore_streams(output)
        try:
            channel.send(dict(reply, id=request["id"]))
        except ValueError as error:
            # A number that JSON does not have. The supervisor sets it aside.
            channel.send({"id": request["id"], "unusable": f"{error}: {reply!r}"})


def _open(framework: str, device_name: str, phase: mmap.mmap) -> tuple[RequestHandler, Message]:
    """Opens the device. Returns the handler of requests and the facts of the first message."""
    adapter: Adapter = importlib.import_module(f"runners.{framework}.adapter")
    adapter.prepare(device_name)
    backend = _prediction_backend(framework, device_name)
    device = adapter.open_device(backend.stand_in if backend else device_name)
    ready: Message = {
        "version": adapter.version(),
        "device": dict(adapter.device_facts(device)),
        "state": dict(adapter.device_state(device)),
    }
    if backend:
        ready["device"] = {"kind": device_name, **backend.predictor.facts(backend.device)}
        ready["prediction"] = dict(backend.predictor.about(backend.device))
    return RequestHandler(framework, adapter, device, device_name, phase, backend), ready


def _prediction_backend(framework: str, device_name: str) -> PredictionBackend | None:
    predictors = names.framework(framework).PREDICTED
    if device_name not in predictors:
        return None
    predictor: Predictor = importlib.import_module(f"runners.{framework}.{predictors[device_name]}")
    return PredictionBackend(predictor, predictor.open_device(device_name))


def _restore_streams(output: int) -> None:
    """A test may close or replace the standard streams. The next test finds the original ones."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


_libc = ctypes.CDLL(None)


def _flush() -> None:
    """What the test wrote must be in the pipe before the reply, including C's own buffers."""
    for stream in (sys.stdout, sys.stderr):
        # If the test closed it, what it had written is out.
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    _libc.fflush(None)
