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
from typing import Any, Callable, Iterator, Mapping, NamedTuple

from runners.core import failure
from runners.core.adapter import Adapter
from runners.core.errors import DeviceUnavailable
from runners.core.prediction import prediction
from runners.core.prediction.prediction import Predictor
from runners.core.process.channel import Channel, Message
from runners.core.testing import resolve
from runners.core.testing.mutants import Mutant
from runners.core.testing.trial import PHASES, Observer, Skip, Trial
from runners.core.triage import placement, proof

SEED = 20230401
"""Of the framework's global random state, set anew before every test: any order of tests gives the same results."""

SAME_FUNCTION = "broken in this way, the function does the same in this test"


def serve(channel: Channel, phase: mmap.mmap, framework: str, device_name: str) -> None:
    """Answers requests until the channel ends. The first message says that the device is open, or why it is not."""
    try:
        adapter: Adapter = importlib.import_module(f"runners.{framework}.adapter")
        adapter.prepare(device_name)
        oracle = _oracle(framework, device_name)
        device = adapter.open_device(oracle.stand_in if oracle else device_name)
        facts = {"device": dict(adapter.device_facts(device)), "state": dict(adapter.device_state(device))}
        if oracle:
            facts["device"] = {"kind": device_name, **oracle.predictor.facts(oracle.device)}
            facts["prediction"] = dict(oracle.predictor.about(oracle.device))
        hello = {"ready": {"version": adapter.version(), **facts}}
    except DeviceUnavailable as error:
        channel.send({"unavailable": str(error), "remedy": error.remedy})
        return
    except Exception as error:
        channel.send({"broken": failure.facts_of(error)})
        return
    channel.send(hello)
    worker = Worker(framework, adapter, device, device_name, phase, oracle)
    output = os.dup(1)
    while True:
        request = channel.receive()
        if request is None:
            return
        reply = worker.answer(request)
        _flush()
        _restore_streams(output)
        channel.send(dict(reply, id=request["id"]))


class PredictionBackend(NamedTuple):
    """What foretells calls for a device that is not there."""

    predictor: Predictor
    device: Any

    @property
    def stand_in(self) -> str:
        """The adapter's device that the calls are made on."""
        return self.predictor.stand_in(self.device)


def _oracle(framework: str, device_name: str) -> PredictionBackend | None:
    predictors = resolve.framework(framework).PREDICTED
    if device_name not in predictors:
        return None
    predictor: Predictor = importlib.import_module(f"runners.{framework}.{predictors[device_name]}")
    return PredictionBackend(predictor, predictor.open_device(device_name))


class Worker:
    """Has its device open and does what the supervisor asks for, one request at a time."""

    def __init__(
        self,
        framework: str,
        adapter: Adapter,
        device: Any,
        device_name: str,
        phase: mmap.mmap,
        oracle: PredictionBackend | None = None,
    ) -> None:
        self._framework = framework
        self._adapter = adapter
        self._device = device
        self._device_name = device_name
        self._phase = phase
        self._oracle = oracle
        self._there = placement.on_target(adapter, device, device_name)
        self._proof: Message | None = None

    def answer(self, request: Message) -> Message:
        """The reply to a request; ``do`` says which."""
        answers: Mapping[str, Callable[[Message], Message]] = {
            "survey": self._survey,
            "test": self._foretell if self._oracle else self._test,
            "watch": self._watch,
            "record": self._record,
            "judge": self._judge,
            "state": self._state,
        }
        return answers[request["do"]](request)

    def _survey(self, request: Message) -> Message:
        names = (request["functions"], request["cases"], request["references"])
        return dict(resolve.resolve_names(*names, resolve.framework(self._framework)))

    def _state(self, request: Message) -> Message:
        return {"state": dict(self._adapter.device_state(self._device))}

    def _test(self, request: Message) -> Message:
        """Runs one test; returns the part of its result that only the worker knows, and where values were refused
        ``share``, how far they are off (see compare.Mismatch)."""
        begin = time.perf_counter_ns()
        result: dict[str, Any] = {"outcome": "passed", "reason": None, "phase": None, "error": None}
        self._phase[0] = 0
        adapter = self._adapter
        wait = adapter.wait_as_study if request["sync"] == "study" else adapter.wait
        mutant = Mutant(request["mutant"], self._framework, adapter) if request["mutant"] else None
        calls: list[dict[str, Any]] = []
        locations: set[str] = set()
        if self._proof is None and not mutant:
            self._proof = self._proven(wait)
        timed = request["sync"] == "study" or self._proof is None or self._proof["passed"]
        try:
            with self._surroundings(request, SEED):
                trial = self._trial(request, mutant=mutant, wait=wait)
                calls, locations = trial.calls, trial.locations
                self._case(request)(trial, **request["parameters"])
                trial.finish()
                if timed and request["protocol"] != "cold":
                    trial.measure_steady(int(request["steady_budget_s"] * 1e9))
        except Skip as skip:
            result.update(outcome="skipped", reason=str(skip))
        except BaseException as error:
            result.update(outcome="failed", phase=PHASES[self._phase[0]], error=failure.facts_of(error))
            result["share"] = getattr(error, "share", None)
        if mutant and not mutant.differs:
            result.update(outcome="skipped", reason=SAME_FUNCTION, phase=None, error=None)
        if not timed or request["protocol"] == "steady":
            calls = [dict(call, cold=None) for call in calls]
        result["calls"] = calls
        result["placement"] = placement.judged(locations, [], self._there)
        result["proof"] = self._proof
        result["case_ns"] = time.perf_counter_ns() - begin
        return result

    def _foretell(self, request: Message) -> Message:
        """What would become of a test on a device that is not there: the same part of its result, without times."""
        assert self._oracle
        begin = time.perf_counter_ns()
        self._phase[0] = 0
        forecast = prediction.PredictionObserver(*self._oracle, self._adapter, self._phase)

        def case() -> None:
            with self._surroundings(request, SEED):
                self._case(request)(self._trial(request, observer=forecast), **request["parameters"])

        result = forecast.result(case)
        return {**result, "calls": [], "proof": None, "case_ns": time.perf_counter_ns() - begin}

    def _proven(self, wait: Callable[[Any], None]) -> Message:
        try:
            with self._adapter.scope(self._device):
                return proof.prove(self._adapter, self._device, time.perf_counter_ns, wait)
        except Exception as error:
            facts = failure.facts_of(error)
            return proof.failed("the kernel could not be run: {type}: {message}".format(**facts))

    def _watch(self, request: Message) -> Message:
        """Runs a test that came to its checks once more, every operation watched: where it ran, its dear counters."""
        adapter, device = self._adapter, self._device
        operations: list[Any] = []
        observed: list[dict[str, Any]] = []

        def observer(call: Callable[[], Any]) -> Any:
            with adapter.trace_ops(device) as watched:
                output = call()
                adapter.wait(output)
            operations.extend(watched.operations)
            observed.append({"counters": dict(watched.counters)})
            return output

        locations: set[str] = set()
        try:
            with self._surroundings(request, SEED):
                trial = self._trial(request, observer=observer)
                locations = trial.locations
                self._case(request)(trial, **request["parameters"])
        except AssertionError:
            # A check that fails: the calls before it were made.
            pass
        except Exception as error:
            return {"error": "{type}: {message}".format(**failure.facts_of(error))}
        return {"placement": placement.judged(locations, operations, self._there), "observed": observed}

    def _record(self, request: Message) -> Message:
        """Runs a test whose values were refused once more and stores the outputs of its calls in the file ``path``."""
        from runners.core.triage import outputs

        found, dtype = self._outputs(request, SEED)
        if found is None:
            return {"dtype": None}
        outputs.store(request["path"], found)
        return {"dtype": dtype}

    def _judge(self, request: Message) -> Message:
        """Computes a test's calls here, as they are, with another seed and in float64, and judges the stored outputs
        by them."""
        from runners.core.triage import numbers, outputs

        device = outputs.load(request["path"])
        host, _ = self._outputs(request, SEED)
        other, _ = self._outputs(request, SEED + 1)
        wide, _ = self._outputs(request, SEED, wide=True)
        return numbers.judged(device, host, other, wide, request["dtype"])

    def _outputs(self, request: Message, seed: int, wide: bool = False) -> tuple[list[Any] | None, str]:
        """The outputs of all calls of a test as host arrays, and the coarsest of their floating dtypes. None where
        it did not come to the end of its last call: a check that fails after that does not matter."""
        from runners.core.triage import outputs

        recorder = outputs.Recorder(self._adapter)
        try:
            with self._surroundings(request, seed, wide):
                trial = self._trial(request, observer=recorder, wide=wide)
                self._case(request)(trial, **request["parameters"])
        except AssertionError:
            pass
        except Exception:
            return None, ""
        return recorder.arrays, recorder.dtype

    def _case(self, request: Message) -> Callable[..., None]:
        return resolve.case(request["case"])

    def _trial(
        self,
        request: Message,
        mutant: Mutant | None = None,
        wait: Callable[[Any], None] | None = None,
        observer: Observer | None = None,
        wide: bool = False,
    ) -> Trial:
        function = resolve.function(request["function"], resolve.framework(self._framework))
        clock = time.perf_counter_ns
        return Trial(
            self._framework, function, self._adapter, self._device, self._phase, clock, mutant, wait, observer, wide
        )

    @contextlib.contextmanager
    def _surroundings(self, request: Message, seed: int, wide: bool = False) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            if wide:
                stack.enter_context(self._adapter.wide())
            if request.get("strict"):
                stack.enter_context(self._adapter.strict())
            self._adapter.seed(seed)
            stack.enter_context(self._adapter.scope(self._device))
            yield


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
