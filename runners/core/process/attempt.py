"""One test in one worker: asks for it, and describes every way in which it can end."""

from __future__ import annotations

import time
from typing import NamedTuple, Sequence

from runners.core import documents, environment, failure
from runners.core.errors import UnusableResult
from runners.core.prediction import prediction
from runners.core.process.plan import PlannedTest
from runners.core.process.worker_handle import Exit, Reply, WorkerHandle
from runners.core.result import PHASES, ExitFacts, Message, Output, Size, TestResult, is_oom_killed
from runners.core.triage import placement


class Attempt(NamedTuple):
    """A result as far as it is known from one run of the test.

    ``max_relative_error`` is that of compare.Mismatch, and no part of the result. If ``result["exit"]`` is not None,
    the worker has ended; otherwise only a worker whose test passed may run another test. ``after_others`` says whether
    the worker ran others before, ``may_be_disturbed`` whether the end may have come from outside of the test.
    ``mutants``: those that can differ in this test, if it was asked for them. ``lost_device``: whether the worker can
    run no other test, although this one passed.
    """

    result: TestResult
    max_relative_error: float | None
    after_others: bool
    may_be_disturbed: bool = False
    mutants: Sequence[str] = ()
    lost_device: bool = False


def attempt(planned: PlannedTest, worker: WorkerHandle, framework: str, limit_s: float) -> Attempt:
    """Runs a test once in a worker. Raises UnusableResult if what the worker sends is no result."""
    after_others = worker.served
    worker.capture.take()
    cpu_before_s = worker.cpu_seconds(with_children=False)
    begin = time.perf_counter_ns()
    reply = worker.ask(planned.request, limit_s)
    took = time.perf_counter_ns() - begin
    ended: ExitFacts | None = None
    may_be_disturbed = False
    if reply.message is not None:
        found: Message = documents.escaped(reply.message)
    else:
        may_be_disturbed = _may_be_disturbed(worker, reply, limit_s, cpu_before_s)
        ended, found = _worker_ended(worker, reply, limit_s)
        found.update(error=None, placement=placement.unknown(), calls=[], sync_check=None, case_ns=took)
    try:
        result = _described(planned, found, ended, framework)
    except (KeyError, TypeError, AttributeError, AssertionError) as error:
        raise UnusableResult(f"$: {type(error).__name__}: {error}", repr(found)) from error
    result["output"] = worker.capture.take()
    result["worker"] = worker.number
    if "prediction" in worker.ready and "prediction" not in result:
        result = prediction.of_ended_worker(result)
    return Attempt(
        result,
        found.get("max_relative_error"),
        after_others,
        may_be_disturbed,
        found.get("mutants", ()),
        bool(found.get("lost_device")),
    )


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


def unusable(planned: PlannedTest, mistake: str) -> TestResult:
    """The result of a test that twice gave something that no run file can hold: a mistake of its case."""
    found: Message = {
        "outcome": "error",
        "reason": None,
        "phase": PHASES[0],
        "error": failure.facts_of(UnusableResult(f"the result does not fit the format of run files: {mistake}", "")),
        "placement": placement.unknown(),
        "calls": [],
        "case_ns": 0,
    }
    return _result(planned, found)


def _described(planned: PlannedTest, found: Message, ended: ExitFacts | None, framework: str) -> TestResult:
    """A result with what follows from the facts: whether the manifest is wrong, and the category."""
    result = _result(planned, found)
    result["exit"] = ended
    if is_mistake(result):
        result["outcome"] = "error"
    result["category"] = failure.category(framework, result["outcome"], result["error"], is_oom_killed(result))
    # What is done next with a result; the journal checks all of it.
    _ = result["placement"]["verdict"], [call["cold"] for call in result["calls"]]
    return result


def _may_be_disturbed(worker: WorkerHandle, reply: Reply, limit_s: float, cpu_before_s: float) -> bool:
    """Whether a worker without a reply may have ended by something outside of the test: a signal, whoever sent it, the
    end of its zygote, or a limit that it reached without having computed for half of it.

    A worker that ended by itself, one above the limit of memory, and one that computes for too long did so themselves.
    Call it before the worker is killed.
    """
    if reply.held_bytes is not None:
        return False
    if reply.exit is not None:
        return reply.exit.code is None
    return worker.cpu_seconds() - cpu_before_s < limit_s / 2


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
    if planned.test.size is not None:
        result["size"] = Size(
            n=planned.test.size["n"],
            of=planned.test.size["of"],
            flops=planned.test.size["flops"],
            bytes=found.get("bytes"),
        )
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
