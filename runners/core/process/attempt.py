"""One test in one worker: asks for it, and describes every way in which it can end."""

from __future__ import annotations

import time
from typing import NamedTuple

from runners.core import environment, failure
from runners.core.prediction import prediction
from runners.core.process.plan import PlannedTest
from runners.core.process.worker_handle import Exit, Reply, WorkerHandle
from runners.core.result import PHASES, ExitFacts, Message, Output, TestResult, is_oom_killed
from runners.core.triage import placement


class Attempt(NamedTuple):
    """A result as far as it is known from one run of the test.

    ``max_relative_error`` is that of compare.Mismatch, and no part of the result. If ``result["exit"]`` is not None,
    the worker has ended; otherwise only a worker whose test passed may run another test. ``after_others`` says whether
    the worker ran others before.
    """

    result: TestResult
    max_relative_error: float | None
    after_others: bool


def attempt(planned: PlannedTest, worker: WorkerHandle, framework: str, limit_s: float) -> Attempt:
    """Runs a test once in a worker."""
    after_others = worker.served
    worker.capture.take()
    begin = time.perf_counter_ns()
    reply = worker.ask(planned.request, limit_s)
    took = time.perf_counter_ns() - begin
    if reply.message is not None and "outcome" in reply.message:
        ended: ExitFacts | None = None
        found = reply.message
    else:
        ended, found = _worker_ended(worker, reply, limit_s)
        found.update(error=None, placement=placement.unknown(), calls=[], sync_check=None, case_ns=took)
    result = _result(planned, found)
    result["exit"] = ended
    if is_mistake(result):
        result["outcome"] = "error"
    result["category"] = failure.category(framework, result["outcome"], result["error"], is_oom_killed(result))
    result["output"] = worker.capture.take()
    result["worker"] = worker.number
    if "prediction" in worker.ready and "prediction" not in result:
        result = prediction.of_ended_worker(result)
    return Attempt(result, found.get("max_relative_error"), after_others)


def is_mistake(result: TestResult) -> bool:
    """Whether a test raised before anything was moved to the device: its manifest or its case is wrong.

    What a predicted device refuses there is a finding about the device.
    """
    return result["outcome"] == "failed" and result["phase"] == PHASES[0] and "prediction" not in result


def removed(planned: PlannedTest, reason: str) -> TestResult:
    """The result of a test whose function this version lacks."""
    found: Message = {
        "outcome": "skipped",
        "reason": reason,
        "phase": None,
        "error": None,
        "placement": placement.unknown(),
        "calls": [],
        "case_ns": 0,
    }
    result = _result(planned, found)
    result["category"] = "removed"
    return result


def _result(planned: PlannedTest, found: Message) -> TestResult:
    """A result with what a worker reports, which has not written anything and has not ended."""
    result = TestResult(
        function=planned.test.function,
        test=planned.test.id,
        run=planned.run,
        case=planned.test.case,
        successor_of=planned.test.successor_of,
        outcome=found["outcome"],
        reason=found["reason"],
        phase=found["phase"],
        category=None,
        error=found["error"],
        exit=None,
        placement=found["placement"],
        calls=found["calls"],
        output=Output(text="", total_bytes=0),
        worker=0,
        case_ns=found["case_ns"],
    )
    if "sync_check" in found:
        result["sync_check"] = found["sync_check"]
    if "prediction" in found:
        result["prediction"] = found["prediction"]
    return result


def _worker_ended(worker: WorkerHandle, reply: Reply, limit_s: float) -> tuple[ExitFacts, Message]:
    """How the worker of a test ended or why it was killed; outcome, reason and phase of the test."""
    phase = worker.phase
    oom_killed = reply.held_bytes is not None
    if reply.held_bytes is not None:
        ended = worker.kill()
        outcome = "crashed"
        reason = (
            f"the worker and what it had started held {_gigabytes(reply.held_bytes)} of memory, "
            f"more than the limit of {_gigabytes(worker.memory_bytes or 0)}"
        )
    elif reply.exit is None:
        worker.stack()
        ended = worker.kill()
        outcome, reason = "timed_out", f"no result within {limit_s:g} s"
    else:
        ended = reply.exit
        outcome, reason = "crashed", _how(ended)
        if ended.signal == "SIGKILL" and environment.oom_kills() > worker.oom_kills_before:
            oom_killed = True
            reason += ", by the kernel: out of memory"
    facts = ExitFacts(
        code=ended.code, signal=ended.signal, oom_killed=oom_killed, peak_memory_bytes=ended.peak_memory_bytes
    )
    return facts, {"outcome": outcome, "reason": reason, "phase": phase}


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.3g} GB"


def _how(ended: Exit) -> str:
    if ended.signal is not None:
        return f"the worker was ended by {ended.signal}"
    if ended.code is not None:
        return f"the worker ended by itself with exit status {ended.code}"
    return "the worker ended in an unknown way"
