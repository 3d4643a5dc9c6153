"""Predicts how a test would end on a device that is absent.

Each timed call is given to a predictor of that device, such as its compiler. Then it is made on the host, so that the
case can continue. The checks of a case do not count, since the values are the host's. If all calls are accepted, the
test ``passed``; if one is refused, it ``failed``; if the device is needed to know, it is ``skipped``. A compiler that
dies or times out is a result like any other (see compiling and attempt).
"""

from __future__ import annotations

import contextlib
import mmap
import traceback
from functools import partial
from types import MappingProxyType
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Protocol, Sequence

from runners.core import environment, failure
from runners.core.adapter import HOST, Adapter, Operation
from runners.core.programs import Absent, Program
from runners.core.result import PHASES, ErrorFacts, Message, Placement, Prediction, TestResult, is_oom_killed
from runners.core.testing.endings import Skip
from runners.core.triage import placement

CALL, WAIT = PHASES.index("call"), PHASES.index("wait")

HOST_MEMORY_FRACTION = 0.5
"""A call that needs more than this fraction of the host's free memory is not made on the host."""

FIGURES = ("compile_ns", "flops", "bytes", "memory_bytes", "roofline_ns")
"""What a result records of all its accepted calls together."""

_working: mmap.mmap | None = None
"""The phase of the worker while it predicts a call."""


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """A context in which the compiler works. If the worker ends or times out inside it, the call is refused. Outside of
    it, the cause is the host's own part, which says nothing about the device."""
    if _working is None:
        yield
        return
    before, _working[0] = _working[0], CALL
    try:
        yield
    finally:
        _working[0] = before


def exceeds_host(estimate: Estimate) -> bool:
    """Whether an accepted call needs more memory than the host should spend on it."""
    return (estimate.memory_bytes or 0) > HOST_MEMORY_FRACTION * environment.free_memory_bytes()


class Unknown(Exception):
    """The result of a call cannot be predicted without the device; the message says why."""


class StopCase(BaseException):
    """The next call is accepted, but the host should not make it. The case ends there."""


class Estimate(NamedTuple):
    """What is predicted of an accepted call. Figures are None if the compiler does not report them.

    ``compile_ns`` has the time of each program by its identifier: as on the device, a program is compiled once.
    ``flops``; ``bytes`` read and written in the device's memory; ``memory_bytes`` of the device that the call needs;
    ``roofline_ns``, a lower bound of its time; ``libraries`` that it calls at run time, which nothing has checked.
    ``device_work`` says whether anything is computed on the device, and
    ``host_operations`` what would run on the host. ``made`` holds the call's output if ``predict`` has made the call,
    and is empty if it could not be made; ``raised`` is what the call raised on the stand-in. ``remarks``: what the
    prediction does not cover.
    """

    compile_ns: Mapping[str, int] = MappingProxyType({})
    flops: float | None = None
    bytes: float | None = None
    memory_bytes: int | None = None
    roofline_ns: float | None = None
    libraries: Sequence[str] = ()
    device_work: bool = True
    host_operations: Sequence[str] = ()
    made: Sequence[Any] = ()
    raised: BaseException | None = None
    remarks: Sequence[str] = ()


def together(estimates: Sequence[Estimate]) -> Estimate:
    """The figures of calls that run one after the other: sums, and the maximum of the memory.

    An estimate that is there twice counts twice, except for its compilation. A sum is None if one figure is unknown,
    because it would be too small.
    """

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
        libraries=tuple(dict.fromkeys(name for estimate in estimates for name in estimate.libraries)),
    )


class Predictor(Protocol):
    """The functions of a module that a framework names in ``PREDICTED``."""

    def open_device(self, device: str) -> Any:
        """What calls are checked with. Raises DeviceUnavailable if it is not available here."""

    def stand_in(self, device: Any) -> str:
        """The adapter's device, present here, on which the case runs and ``predict`` makes the call. That shows what
        the predicted device would have to run."""

    def about(self, device: Any) -> Mapping[str, str | None]:
        """The ``prediction`` object of a run file: kind, compiler, topology."""

    def facts(self, device: Any) -> Mapping[str, str | int | float | bool | None]:
        """Facts about the device: its model, peak rates, memory, source of the roofline's figures."""

    def refuses(self, error: BaseException, device: Any) -> bool:
        """Whether the device would raise an error too that the case met on the stand-in between its timed calls."""

    def predict(self, call: partial[Any], device: Any) -> Estimate:
        """Makes a call with its arguments on the stand-in and predicts it. Raises Unknown, or what the framework or the
        compiler raised.

        A module may have ``predict_program(program, device)``, which returns the Estimate of a Program. It may raise
        Absent, too.
        """


class PredictionObserver:
    """Makes a test's timed calls: predicts each, then makes it on the host. An observer of a Trial."""

    is_prediction = True

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
            estimate = self._estimate(call)
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
        if isinstance(call.func, Program):
            return None
        output = call()
        self._adapter.wait(output)
        return output

    def _estimate(self, call: partial[Any]) -> Estimate:
        if not isinstance(call.func, Program):
            return self._predictor.predict(call, self._device)
        predict_program = getattr(self._predictor, "predict_program", None)
        if predict_program is None:
            raise Unknown("whole programs are not predicted for this device")
        try:
            estimate: Estimate = predict_program(call.func, self._device)
        except Absent as why:
            raise Unknown(str(why)) from why
        return estimate

    def result(self, case: Callable[[], None]) -> Message:
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
            # Arrays that its frames keep alive would be part of what torch_xla lowers for the next test.
            for raised in filter(None, (error, self._refusal)):
                traceback.clear_frames(raised.__traceback__)
        if self._refusal is not None:
            found = self._prediction("refused", str(self._refusal).split("\n")[0][:500] or None)
            facts = failure.facts_of(self._refusal)
            return _result("failed", None, found, self._placement(), phase=self._refused_in, error=facts)
        why = self._unknown or why or (None if self._accepted else "the test makes no timed call")
        if why is not None:
            found = self._prediction("unknown", why)
            return _result("skipped", f"unknown without the device: {why}", found, placement.unknown())
        needed = together(self._accepted).libraries
        unchecked = [f"compiled; needs {', '.join(needed)} at run time, which was not checked"] if needed else []
        remarks = "; ".join([*unchecked, *(said for estimate in self._accepted for said in estimate.remarks)])
        return _result("passed", None, self._prediction("accepted", remarks[:500] or None), self._placement())

    def _between_calls(self, error: BaseException) -> bool:
        """Whether the device refuses what the case does between its calls."""
        if self._refusal or self._unknown:
            return False
        self._refused_in = PHASES[self._phase[0]]
        return self._predictor.refuses(error, self._device)

    def _prediction(self, verdict: str, reason: str | None) -> Prediction:
        figures = together(self._accepted)
        return Prediction(
            verdict=verdict,
            reason=reason,
            compile_ns=sum(figures.compile_ns.values()) or None,
            flops=figures.flops,
            bytes=figures.bytes,
            memory_bytes=figures.memory_bytes,
            roofline_ns=figures.roofline_ns,
        )

    def _placement(self) -> Placement:
        on_host = [Operation(name, HOST) for estimate in self._accepted for name in estimate.host_operations]
        there = [Operation("program", "device") for estimate in self._accepted if estimate.device_work]
        found = placement.classify([], [*on_host, *there], lambda location: location != HOST)
        found["evidence"] = [f"predicted: {line}" for line in found["evidence"]]
        return found


def of_ended_worker(result: TestResult) -> TestResult:
    """The result of a test whose worker died or was killed, with a prediction: refused if the compiler was working,
    unknown if the host was computing."""
    predicted = result.copy()
    if result["phase"] == PHASES[CALL] and not is_oom_killed(result):
        predicted["reason"] = reason = f"while it was compiled {result['reason']}"
        predicted["prediction"] = _without_figures("refused", reason)
        return predicted
    why = f"while the host computed or compiled {result['reason']}"
    predicted["outcome"] = "skipped"
    predicted["reason"] = f"unknown without the device: {why}"
    predicted["category"] = predicted["phase"] = None
    predicted["prediction"] = _without_figures("unknown", why)
    return predicted


def _without_figures(verdict: str, reason: str) -> Prediction:
    return Prediction(
        verdict=verdict,
        reason=reason,
        compile_ns=None,
        flops=None,
        bytes=None,
        memory_bytes=None,
        roofline_ns=None,
    )


def _result(
    outcome: str,
    reason: str | None,
    prediction: Prediction,
    where: Placement,
    phase: str | None = None,
    error: ErrorFacts | None = None,
) -> Message:
    return {
        "outcome": outcome,
        "reason": reason,
        "phase": phase,
        "error": error,
        "placement": where,
        "prediction": prediction,
    }
