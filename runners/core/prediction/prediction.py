"""Foretells how a test would end on a device that is not there: each timed call is handed to what knows that device,
such as its compiler, before it is made on the host, so that the case can go on to its next call.

What a case checks is not part of it: the values are the host's. A test whose calls are accepted is ``passed``; one of
which a call is refused has ``failed``; what cannot be known without the device is ``skipped``. That a compiler dies or
takes too long is a result like any other (see compiling and attempt).
"""

from __future__ import annotations

import contextlib
import mmap
import traceback
from functools import partial
from types import MappingProxyType
from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple, Protocol, Sequence

from runners.core import environment, failure
from runners.core.adapter import HOST, Adapter, Operation
from runners.core.testing.trial import PHASES, Skip
from runners.core.triage import placement

CALL, WAIT = PHASES.index("call"), PHASES.index("wait")

HOST_SHARE = 0.5
"""Of the host's free memory: a call that needs more of the device's is not made on the host."""

FIGURES = ("compile_ns", "flops", "bytes", "memory_bytes", "roofline_ns")
"""What a result tells of its accepted calls together."""

Prediction = Dict[str, Any]

_working: mmap.mmap | None = None
"""The phase of the worker, while it foretells a call."""


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """The compiler works inside of it. If the worker ends there, or is out of time, the call is refused; else that
    comes from the host's own part and says nothing of the device."""
    if _working is None:
        yield
        return
    before, _working[0] = _working[0], CALL
    try:
        yield
    finally:
        _working[0] = before


def exceeds_host(estimate: Estimate) -> bool:
    """Whether a call is accepted for the device, but needs more memory than should be taken of the host's."""
    return (estimate.memory_bytes or 0) > HOST_SHARE * environment.free_memory_bytes()


class Unknown(Exception):
    """What would become of a call cannot be known without the device; says why."""


class StopCase(BaseException):
    """What comes next was accepted, but the host shall not make it: the case ends there."""


class Estimate(NamedTuple):
    """What is foretold of an accepted call. Figures are None where the compiler does not tell.

    ``compile_ns`` is of each program by what identifies it: as on the device, one that comes again is compiled once.
    ``flops``, ``bytes`` (read and written in the device's memory), ``memory_bytes`` (of the device that the call
    needs), ``roofline_ns`` (a lower bound of its time); ``device_work``: whether anything is computed on the device,
    and ``host_operations`` what would be on the host. ``made`` holds the call's output where ``predict`` has made it
    (empty: it could not be made), and ``raised`` what it raised there by itself.
    """

    compile_ns: Mapping[str, int] = MappingProxyType({})
    flops: float | None = None
    bytes: float | None = None
    memory_bytes: int | None = None
    roofline_ns: float | None = None
    device_work: bool = True
    host_operations: Sequence[str] = ()
    made: Sequence[Any] = ()
    raised: BaseException | None = None


def together(estimates: Sequence[Estimate]) -> Estimate:
    """The figures of what runs one after the other: sums, and of the memory the largest. One that comes twice counts
    twice, but for its compilation. Where one tells nothing the sum is None, since it would be too small."""

    def known(name: str) -> list[Any]:
        figures = [getattr(estimate, name) for estimate in estimates]
        return [figure for figure in figures if figure is not None]

    def total(name: str) -> Any:
        return sum(known(name)) if len(known(name)) == len(estimates) > 0 else None

    return Estimate(
        compile_ns={program: ns for estimate in estimates for program, ns in estimate.compile_ns.items()},
        flops=total("flops"),
        bytes=total("bytes"),
        memory_bytes=max(known("memory_bytes"), default=None),
        roofline_ns=total("roofline_ns"),
    )


class Predictor(Protocol):
    """The functions of a module that ``PREDICTED`` of a framework names."""

    def open_device(self, device: str) -> Any:
        """What calls are held against. Raises DeviceUnavailable where it cannot be had here."""

    def stand_in(self, device: Any) -> str:
        """The device of the adapter, present here, on which the case runs and ``predict`` makes the call: that shows
        what the device would be asked for."""

    def about(self, device: Any) -> Mapping[str, str | None]:
        """The ``prediction`` object of a run file: kind, compiler, topology."""

    def facts(self, device: Any) -> Mapping[str, str | int | float | bool | None]:
        """What is known of the device: its model, peak rates, memory, where the roofline's figures come from."""

    def refuses(self, error: BaseException, device: Any) -> bool:
        """Whether an error that the case met on the stand-in between its timed calls would be met on the device."""

    def predict(self, call: partial[Any], device: Any) -> Estimate:
        """Makes a call with its arguments on the stand-in and foretells it. Raises Unknown, or what the framework or
        the compiler raised."""


class PredictionObserver:
    """Makes a test's timed calls: foretells each, then makes it on the host. An observer of a Trial."""

    def __init__(self, predictor: Predictor, device: Any, adapter: Adapter, phase: mmap.mmap) -> None:
        self._predictor, self._device, self._adapter, self._phase = predictor, device, adapter, phase
        self._accepted: list[Estimate] = []
        self._refusal: BaseException | None = None
        self._refused_in = PHASES[CALL]
        self._unknown: str | None = None

    def __call__(self, call: Callable[[], Any]) -> Any:
        global _working
        assert isinstance(call, partial)
        self._phase[0], _working = WAIT, self._phase
        try:
            estimate = self._predictor.predict(call, self._device)
        except Unknown as why:
            self._unknown = self._unknown or str(why)
        except BaseException as error:
            self._refusal = self._refusal or error
            raise
        else:
            self._accepted.append(estimate)
            if estimate.raised:
                raise estimate.raised
            if not estimate.made:
                raise StopCase
            return estimate.made[0]
        output = call()
        self._adapter.wait(output)
        return output

    def result(self, case: Callable[[], None]) -> dict[str, Any]:
        """Runs the case and returns outcome, reason, phase, error, placement and prediction of its result."""
        why = None
        try:
            case()
        except StopCase:
            pass
        except Skip as skip:
            why = str(skip)
        except BaseException as error:
            if self._between_calls(error):
                self._refusal = self._refusal or error
            said = "{type}: {message}".format(**failure.facts_of(error))
            why = f"the test does not pass on the stand-in {self._predictor.stand_in(self._device)}: {said}"[:500]
            # Arrays that live on in its frames would be part of what torch_xla lowers for the next test.
            for raised in filter(None, (error, self._refusal)):
                traceback.clear_frames(raised.__traceback__)
        if self._refusal is not None:
            found = self._prediction("refused", str(self._refusal).split("\n")[0][:500] or None)
            facts = failure.facts_of(self._refusal)
            return _ended("failed", None, found, self._placement(), phase=self._refused_in, error=facts)
        why = self._unknown or why or (None if self._accepted else "the test makes no timed call")
        if why is not None:
            found = self._prediction("unknown", why)
            return _ended("skipped", f"unknown without the device: {why}", found, placement.UNKNOWN)
        return _ended("passed", None, self._prediction("accepted", None), self._placement())

    def _between_calls(self, error: BaseException) -> bool:
        """Whether the device refuses what the case does with it around its calls."""
        if self._refusal or self._unknown:
            return False
        self._refused_in = PHASES[self._phase[0]]
        return self._predictor.refuses(error, self._device)

    def _prediction(self, verdict: str, reason: str | None) -> Prediction:
        figures = together(self._accepted)
        told = {name: getattr(figures, name) for name in FIGURES}
        return {"verdict": verdict, "reason": reason, **told, "compile_ns": sum(figures.compile_ns.values()) or None}

    def _placement(self) -> dict[str, Any]:
        on_host = [Operation(name, HOST) for estimate in self._accepted for name in estimate.host_operations]
        there = [Operation("program", "device") for estimate in self._accepted if estimate.device_work]
        found = placement.judged([], [*on_host, *there], lambda location: location != HOST)
        return dict(found, evidence=[f"foretold: {seen}" for seen in found["evidence"]])


def of_ended(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a test whose worker died or was ended, with what that foretells: while the compiler worked it is
    a refusal, while the host computed nothing."""
    nothing = dict.fromkeys(FIGURES)
    if facts["phase"] == PHASES[CALL] and not facts["exit"]["oom_killed"]:
        reason = f"while it was compiled {facts['reason']}"
        return dict(facts, reason=reason, prediction={"verdict": "refused", "reason": reason, **nothing})
    why = f"while the host computed or compiled {facts['reason']}"
    found = {"verdict": "unknown", "reason": why, **nothing}
    reason = f"unknown without the device: {why}"
    return dict(facts, outcome="skipped", reason=reason, category=None, phase=None, prediction=found)


def _ended(
    outcome: str,
    reason: str | None,
    found: Prediction,
    where: Mapping[str, Any],
    phase: str | None = None,
    error: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "outcome": outcome,
        "reason": reason,
        "phase": phase,
        "error": error,
        "placement": where,
        "prediction": found,
    }
