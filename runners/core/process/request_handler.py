"""Handles a worker's requests: runs a test, or hands it to what looks at it again."""

from __future__ import annotations

import contextlib
import mmap
import time
from typing import Any, Callable, ContextManager, Iterator, Mapping, NamedTuple

from runners.core import failure
from runners.core.adapter import Adapter
from runners.core.errors import BadInput
from runners.core.mutants import own
from runners.core.mutants.probe import Probe
from runners.core.mutants.requested import AnyMutant, mutant_of
from runners.core.prediction import prediction
from runners.core.prediction.prediction import Predictor
from runners.core.process.second_looks import SEED, SecondLooks
from runners.core.public import names, permitted
from runners.core.result import PHASES, Message, SyncCheck, TimedCall
from runners.core.testing import cases
from runners.core.testing.endings import Skip
from runners.core.testing.trial import Trial
from runners.core.testing.trial_calls import Observer
from runners.core.triage import placement, sync_check

SAME_FUNCTION = "the mutant returns the same as the function in this test"


class PredictionBackend(NamedTuple):
    """What predicts calls for a device that is absent."""

    predictor: Predictor
    device: Any

    @property
    def stand_in(self) -> str:
        """The adapter's device that the calls are made on."""
        return self.predictor.stand_in(self.device)


class RequestHandler:
    """Has the worker's device open and handles the supervisor's requests, one at a time."""

    def __init__(
        self,
        framework: str,
        adapter: Adapter,
        device: Any,
        device_name: str,
        phase: mmap.mmap,
        backend: PredictionBackend | None = None,
    ) -> None:
        self._framework = names.framework(framework)
        self._framework_name = framework
        self._adapter = adapter
        self._device = device
        self._phase = phase
        self._backend = backend
        self._is_on_target = placement.on_target(adapter, device, device_name)
        self._sync_check: SyncCheck | None = None
        looks = SecondLooks(adapter, device, self._run_case, self._is_on_target)
        self._handlers: Mapping[str, Callable[[Message], Message]] = {
            "resolve_names": self._resolve_names,
            "describe_mutants": self._describe_mutants,
            "test": self._predict if backend else self._test,
            "trace_ops": looks.trace_ops,
            "record_outputs": looks.record_outputs,
            "classify_outputs": looks.classify_outputs,
            "device_state": self._device_state,
        }

    def handle(self, request: Message) -> Message:
        """The reply to a request, which names its kind in ``do``."""
        return self._handlers[request["do"]](request)

    def _resolve_names(self, request: Message) -> Message:
        return dict(cases.resolve_names(request, self._framework_name))

    def _device_state(self, request: Message) -> Message:
        return {"state": dict(self._adapter.device_state(self._device))}

    def _test(self, request: Message) -> Message:
        """Runs one test. Returns the part of its result that only the worker knows; for values that differ from their
        reference, ``max_relative_error`` (see compare.Mismatch); and ``lost_device`` (see Calls)."""
        begin = time.perf_counter_ns()
        self._phase[0] = 0
        is_as_published = request["sync"] == "as-published"
        wait = self._adapter.wait_as_published if is_as_published else self._adapter.wait
        mutant = mutant_of(request, self._framework_name, self._adapter, self._device)
        if self._sync_check is None and not mutant and request["sync"]:
            # Nothing is timed without a way to wait. An earlier worker's check of the same device holds if it passed.
            self._sync_check = request["sync_check"] or self._checked_sync(wait)
        is_timed = request["timed"] and (is_as_published or self._sync_check is None or self._sync_check["passed"])
        calls: list[TimedCall] = []
        locations: set[str] = set()
        trial: Trial | None = None
        result: Message = {"outcome": "passed", "reason": None, "phase": None, "error": None}
        try:
            with self._context(request, SEED), self._applied(request, mutant) as function:
                trial = self._trial(request, function, mutant=mutant, wait=wait)
                calls, locations = trial.calls, trial.locations
                trial.bytes = 0 if request.get("counts_bytes") else None
                budget_ns = int(request["steady_budget_s"] * 1e9)
                try:
                    cases.case(request["case"])(trial, **request["parameters"])
                except AssertionError as error:
                    if is_timed and request["protocol"] == "scaling" and _is_imprecise(error):
                        trial.measure_steady(budget_ns)
                    raise
                trial.finish()
                if is_timed and request["protocol"] != "cold":
                    trial.measure_steady(budget_ns)
                if request["calls_again"]:
                    if trial.has_random_inputs and request["protocol"] != "scaling":
                        self._check_other_values(request, function, mutant, wait)
                        trial.check_kept()
                    trial.check_repeats(SEED)
        except Skip as skip:
            result.update(outcome="skipped", reason=str(skip))
        except BaseException as error:
            result.update(outcome="failed", phase=PHASES[self._phase[0]], error=failure.facts_of(error))
            result["max_relative_error"] = getattr(error, "max_relative_error", None)
        if mutant and not mutant.differs:
            result.update(outcome="skipped", reason=SAME_FUNCTION, phase=None, error=None)
        if not is_timed or request["protocol"] in ("steady", "scaling"):
            calls = [TimedCall(cold=None, steady=call["steady"], observed=call["observed"]) for call in calls]
        result["calls"] = calls
        result["placement"] = placement.classify(locations, [], self._is_on_target)
        result["sync_check"] = self._sync_check
        result["mutants"] = sorted(mutant.possible) if isinstance(mutant, Probe) else []
        result["bytes"] = trial.bytes if trial and trial.bytes else None
        result["lost_device"] = trial is not None and trial.lost_device
        result["case_ns"] = time.perf_counter_ns() - begin
        return result

    def _applied(self, request: Message, mutant: AnyMutant | None) -> ContextManager[Any]:
        function = self._function(request)
        return mutant.applied(function) if mutant else contextlib.nullcontext(function)

    def _function(self, request: Message) -> Any:
        return permitted.function(request["function"], self._framework_name, private_names=True)

    def _describe_mutants(self, request: Message) -> Message:
        path, functions = request["own_mutants"], request["functions"]
        try:
            return {"mutants": own.described(path, self._framework_name, functions, request["is_selection"])}
        except BadInput as error:
            return {"mistake": str(error), "remedy": error.remedy}

    def _check_other_values(
        self, request: Message, function: Any, mutant: AnyMutant | None, wait: Callable[[Any], None]
    ) -> None:
        """Runs a test's case once more, with other values of its random inputs; its times do not count."""
        from runners.core.testing import repeats

        self._adapter.seed(SEED)
        trial = self._trial(request, function, mutant=mutant, wait=wait, other_values=True)
        repeats.check_other_values(lambda: cases.case(request["case"])(trial, **request["parameters"]))

    def _predict(self, request: Message) -> Message:
        """Predicts a test for a device that is absent. Returns the same part of its result, without times."""
        assert self._backend
        begin = time.perf_counter_ns()
        self._phase[0] = 0
        observer = prediction.PredictionObserver(*self._backend, self._adapter, self._phase)
        result = observer.result(lambda: self._run_case(request, SEED, observer))
        return {**result, "calls": [], "sync_check": None, "case_ns": time.perf_counter_ns() - begin}

    def _checked_sync(self, wait: Callable[[Any], None]) -> SyncCheck:
        try:
            with self._adapter.scope(self._device):
                return sync_check.check_sync(self._adapter, self._device, time.perf_counter_ns, wait)
        except Exception as error:
            facts = failure.facts_of(error)
            return sync_check.failed("the kernel could not be run: {type}: {message}".format(**facts))

    def _run_case(
        self,
        request: Message,
        seed: int,
        observer: Observer,
        float64_mode: bool = False,
        locations: set[str] | None = None,
    ) -> None:
        """Runs a test's case untimed; the observer makes its calls. ``locations`` collects where their outputs were."""
        with self._context(request, seed, float64_mode):
            trial = self._trial(request, self._function(request), observer=observer, float64_mode=float64_mode)
            if locations is not None:
                trial.locations = locations
            cases.case(request["case"])(trial, **request["parameters"])

    def _trial(
        self,
        request: Message,
        function: Any,
        mutant: AnyMutant | None = None,
        wait: Callable[[Any], None] | None = None,
        observer: Observer | None = None,
        float64_mode: bool = False,
        other_values: bool = False,
    ) -> Trial:
        return Trial(
            framework=self._framework_name,
            function=function,
            adapter=self._adapter,
            device=self._device,
            phase=self._phase,
            clock=time.perf_counter_ns,
            mutant=mutant,
            wait=wait,
            observer=observer,
            float64_mode=float64_mode,
            other_values=other_values,
        )

    @contextlib.contextmanager
    def _context(self, request: Message, seed: int, float64_mode: bool = False) -> Iterator[None]:
        """What surrounds a test: its precision, the seed and the device's scope."""
        with contextlib.ExitStack() as stack:
            if float64_mode:
                stack.enter_context(self._adapter.float64_mode())
            if request.get("full_precision"):
                stack.enter_context(self._adapter.full_precision())
            self._adapter.seed(seed)
            stack.enter_context(self._adapter.scope(self._device))
            yield


def _is_imprecise(error: AssertionError) -> bool:
    """Whether values are no further off than products in bfloat16 would make them. Devices compute such products by
    default, and how long one takes at which size is what users want to know."""
    difference = getattr(error, "max_relative_error", None)
    return difference is not None and difference <= failure.IMPRECISE_ERROR
