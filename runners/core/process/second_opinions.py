"""Triage, the last step before the journal: runs a test again to find out what its result means.

A test on an accelerator that came to its checks runs again with every operation traced, which shows where it ran. One
that did not pass runs on the CPU of the same version (``cpu_control``): the device is to blame only if it passes there.
Values that differ from their reference are classified by what the host computes (``value_verdict``). If they are
imprecise, the test runs again in full precision (``full_precision``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Iterable

from runners.core import failure
from runners.core.process.attempt import Attempt
from runners.core.process.confirm import Confirmation
from runners.core.process.plan import PlannedTest, TestKey
from runners.core.process.workers import Workers
from runners.core.result import Message, Repeated, TestResult, is_oom_killed, repeated
from runners.core.triage.placement import with_evidence

PROPERTY = "AssertionError"
"""Error type of a check that compares nothing: a property of the values."""

VALUE_ERRORS = (PROPERTY, "runners.core.compare.Mismatch")
"""Error types of checks of values."""

OTHER_VALUES_FACTOR = 16
"""If the reported error is this many times that of the outputs, the values that differ are not among the outputs."""


class Triage:
    """``device`` are the workers whose results are classified, ``host`` those on the CPU: the same ones if the target
    is the CPU.

    ``results`` are those of the run so far. What ran again for a test in an earlier pass, or before the run was
    resumed, does not run another time.
    """

    def __init__(
        self,
        framework: str,
        device: Workers,
        host: Workers,
        limit_s: float,
        folder: Path,
        results: Iterable[TestResult],
    ) -> None:
        self._framework = framework
        self._device = device
        self._host = host
        self._limit_s = limit_s
        self._on_device = Confirmation(framework, device, limit_s)
        self._on_host = Confirmation(framework, host, limit_s)
        self._file = folder / "outputs.npz"
        self._controls: dict[TestKey, Repeated] = {}
        self._in_full_precision: dict[TestKey, Repeated] = {}
        for result in results:
            key = result["function"], result["test"]
            control, strict = result.get("cpu_control"), result.get("full_precision")
            if control:
                self._controls[key] = control
            if strict:
                self._in_full_precision[key] = strict

    def annotate(self, planned: PlannedTest, attempted: Attempt) -> TestResult:
        """The result of a test that the device's worker has just run, with placement, ``value_verdict``, ``deviation``,
        ``cpu_control`` and ``full_precision``. Retires the worker unless the test passed, was predicted, or was
        skipped before its first call."""
        result = attempted.result.copy()
        result["value_verdict"] = result["deviation"] = result["cpu_control"] = result["full_precision"] = None
        if "prediction" in result:
            self._annotate_predicted(result, planned)
        else:
            self._annotate_measured(result, planned, attempted.max_relative_error)
        if attempted.lost_device:
            self._device.retire()
        return result

    def _annotate_predicted(self, result: TestResult, planned: PlannedTest) -> None:
        # A predictor only looks at a call, and a compiler is another process. The worker can run other tests if it
        # lives.
        if result["exit"] is not None:
            self._device.retire()
        # No value came from the device. Only whether the test passes on the host can be found out, and not for what is
        # too large for the device.
        if result["outcome"] not in ("passed", "skipped") and result["category"] != "memory":
            result["cpu_control"] = self._control(planned)

    def _annotate_measured(self, result: TestResult, planned: PlannedTest, max_relative_error: float | None) -> None:
        is_accelerator = self._host is not self._device
        passed, values_differ = result["outcome"] == "passed", _is_of_values(result)
        if passed:
            result["value_verdict"] = "equal"
        if is_accelerator and (passed or values_differ):
            self._trace_ops(result, planned.request)
        if passed or (result["outcome"] == "skipped" and not result["calls"]):
            # What was skipped before it called anything left nothing behind that the next test could meet.
            return
        dtype = self._recorded_outputs(planned.request) if values_differ else None
        self._device.retire()
        if result["outcome"] == "skipped":
            return
        if is_accelerator:
            result["cpu_control"] = self._control(planned)
        if result["outcome"] == "error" and result["cpu_control"] and result["cpu_control"]["outcome"] == "passed":
            # The same inputs can be made on the CPU: the device is to blame.
            result["outcome"] = "failed"
            result["category"] = failure.category(self._framework, "failed", result["error"])
        if values_differ:
            self._classify_values(result, planned.request, dtype, max_relative_error)
        if result["category"] == "precision" and is_accelerator:
            result["full_precision"] = self._full_precision(planned)
        elif result["value_verdict"] == "wrong" and is_accelerator and max_relative_error is not None:
            self._doubt_wrong(result, planned, max_relative_error)

    def _doubt_wrong(self, result: TestResult, planned: PlannedTest, max_relative_error: float) -> None:
        """Values that are no output, such as gradients, are compared with the reference alone. If they are near it, and
        right in full precision, they are imprecise."""
        if max_relative_error > failure.IMPRECISE_ERROR:
            return
        in_full_precision = self._full_precision(planned)
        if in_full_precision["outcome"] == "passed":
            result["value_verdict"], result["category"] = "imprecise", "precision"
            result["full_precision"] = in_full_precision

    def _trace_ops(self, result: TestResult, request: Message) -> None:
        reply = self._ask(self._device, dict(request, do="trace_ops"))
        if "placement" in reply:
            result["placement"] = reply["placement"]
            for call, observed in zip(result["calls"], reply["observed"]):
                call["observed"] = observed
            return
        # The placement stays that of the outputs.
        self._device.retire()
        why = reply.get("error", "the worker ended or took too long")
        result["placement"] = with_evidence(result["placement"], f"its operations could not be traced: {why}")

    def _recorded_outputs(self, request: Message) -> str | None:
        """Stores the outputs of a test in the file. Returns their dtype, or None if there are none."""
        asked = dict(request, do="record_outputs", path=str(self._file))
        dtype: str | None = self._ask(self._device, asked).get("dtype")
        return dtype

    def _classify_values(
        self, result: TestResult, request: Message, dtype: str | None, max_relative_error: float | None
    ) -> None:
        """``dtype`` is that of the recorded outputs; without it, the reference alone decides."""
        reply = None
        if dtype is not None:
            asked = dict(request, do="classify_outputs", path=str(self._file), dtype=dtype)
            reply = self._ask(self._host, asked)
            # The worker computed in ways in which the test does not run. The next request gets a fresh one.
            self._host.retire()
            self._file.unlink()
        by_host = reply or {"value_verdict": None, "deviation": None}
        result["value_verdict"] = _value_verdict(by_host, result, max_relative_error)
        result["deviation"] = by_host["deviation"]
        result["category"] = failure.category(
            self._framework, result["outcome"], result["error"], is_oom_killed(result), result["value_verdict"]
        )

    def _ask(self, workers: Workers, request: Message) -> Message:
        """The reply; empty if there is none. A worker that is killed is replaced once: perhaps not by the test."""
        reply = workers.current().ask(request, self._limit_s)
        if reply.exit is not None and reply.exit.code is None:
            workers.retire()
            reply = workers.current().ask(request, self._limit_s)
        return reply.message or {}

    def _control(self, planned: PlannedTest) -> Repeated:
        return self._once(self._controls, self._on_host, self._host, planned)

    def _full_precision(self, planned: PlannedTest) -> Repeated:
        in_full_precision = planned.with_request(full_precision=True)
        return self._once(self._in_full_precision, self._on_device, self._device, in_full_precision)

    def _once(
        self, known: dict[TestKey, Repeated], confirmation: Confirmation, workers: Workers, planned: PlannedTest
    ) -> Repeated:
        if planned.key not in known:
            result = confirmation.attempt(planned.with_request(protocol="cold", sync=None)).result
            if result["outcome"] != "passed":
                workers.retire()
            known[planned.key] = repeated(result)
        return known[planned.key]


def _is_of_values(result: TestResult) -> bool:
    """Whether the calls were made and a check of their values failed."""
    error = result["error"]
    is_in_checks = result["outcome"] == "failed" and result["phase"] == "compare"
    return is_in_checks and error is not None and error["type"] in VALUE_ERRORS


def _value_verdict(by_host: Message, result: TestResult, max_relative_error: float | None) -> str | None:
    """Combines the verdict by the host's values with that of the reference.

    The host's does not count if the test fails on the host too, if outputs may differ and be right (factors whose sign
    is free, draws of another generator), or if the values that differ are not among the outputs: then the reported
    error is much larger than that of the outputs.
    """
    verdict: str | None = by_host["value_verdict"]
    error, control = result["error"], result["cpu_control"]
    assert error is not None
    by_reference = _verdict_of_message(error["message"])
    if verdict == "random":
        return verdict
    differs = by_reference == "wrong" or error["message"].startswith("dtype")
    if verdict == "equal" and differs and control and _is_mismatch(control):
        # The device agrees with the CPU, and both differ from the test's expected value.
        return "unexpected"
    if verdict is None or not (control and control["outcome"] == "passed"):
        return by_reference
    if verdict == "wrong":
        return None if error["type"] == PROPERTY else by_reference or verdict
    of_outputs = by_host["deviation"]["device"]
    if by_reference == "wrong" and (
        max_relative_error is None or max_relative_error > OTHER_VALUES_FACTOR * of_outputs
    ):
        return by_reference
    return verdict


def _is_mismatch(control: Repeated) -> bool:
    error = control["error"]
    return control["outcome"] == "failed" and error is not None and error["type"] in VALUE_ERRORS


def _verdict_of_message(message: str) -> str | None:
    if message.startswith("imprecise"):
        return "imprecise"
    return "wrong" if message.startswith(("wrong value", "shape")) else None
