"""One test in one worker: asks for it, and describes every way in which that can end."""

from __future__ import annotations

import time
from typing import Any, Dict, Mapping

from runners.core import environment, failure
from runners.core.process.workers import Exit, Reply, Worker, exit_document
from runners.core.triage import placement

Facts = Dict[str, Any]


def attempt(worker: Worker, framework: str, request: Mapping[str, Any], limit_s: float) -> Facts:
    """The facts of a test's result, from its outcome to the worker's number, and ``share`` (see Worker._test), which
    is no part of it. The worker is gone where ``exit`` is not None, and else not to be trusted with another test unless
    this one passed."""
    worker.capture.take()
    begin = time.perf_counter_ns()
    reply = worker.ask(dict(request), limit_s)
    took = time.perf_counter_ns() - begin
    if reply.message is not None and "outcome" in reply.message:
        facts = dict(reply.message, exit=None)
        del facts["id"]
    else:
        facts = _ended(worker, reply, limit_s, took)
    facts["category"] = failure.category(framework, facts["outcome"], facts["error"], was_oom_killed(facts))
    facts.setdefault("share", None)
    facts["output"] = worker.capture.take()
    facts["worker"] = worker.number
    return facts


def not_passed(facts: Mapping[str, Any]) -> Facts:
    """What is kept of a test that was run in another way or once more: the ``again`` object of a result."""
    return {name: facts[name] for name in ("outcome", "reason", "category", "error")}


def was_oom_killed(facts: Mapping[str, Any]) -> bool:
    return bool(facts["exit"] and facts["exit"]["oom_killed"])


def _ended(worker: Worker, reply: Reply, limit_s: float, took: int) -> Facts:
    """The facts of a test whose worker died or had to be killed."""
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
            reason += ", by the kernel for want of memory"
    return {
        "outcome": outcome,
        "reason": reason,
        "phase": phase,
        "error": None,
        "exit": exit_document(ended, oom_killed),
        "placement": placement.UNKNOWN,
        "calls": [],
        "proof": None,
        "case_ns": took,
    }


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.3g} GB"


def _how(ended: Exit) -> str:
    if ended.signal is not None:
        return f"the worker was ended by {ended.signal}"
    if ended.code is not None:
        return f"the worker ended by itself with exit status {ended.code}"
    return "the worker ended, nobody could tell how"
