"""Turns an exception into facts, and facts into a category.

The facts (type, message, traceback, causes) are stored. The category is derived from them by rules that are data:
``runners/<framework>/failure_rules.json``, then ``runners/core/failure_rules.json``; the first match wins. Each rule
has a real message as an example, which it must match.
"""

from __future__ import annotations

import json
import re
import traceback
from functools import lru_cache
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple

from runners.core.result import Cause, ErrorFacts

RUNNERS = Path(__file__).resolve().parents[1]
MESSAGE_LIMIT = 8_000
TRACEBACK_LIMIT = 16_000


def facts_of(error: BaseException) -> ErrorFacts:
    """Type, message, traceback and causes of an exception, as text that fits into JSON."""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return ErrorFacts(
        type=_type_name(error),
        message=clipped(_message(error), MESSAGE_LIMIT),
        traceback=clipped(trace, TRACEBACK_LIMIT),
        causes=[
            Cause(type=_type_name(cause), message=clipped(_message(cause), MESSAGE_LIMIT)) for cause in _causes(error)
        ],
    )


def clipped(text: str, limit: int) -> str:
    """At most ``limit`` characters of a text: its beginning and its end. Lone surrogates are written as escapes."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if len(text) <= limit:
        return text
    mark = f"\n[... {len(text) - limit} characters left out ...]\n"
    half = (limit - len(mark)) // 2
    return text[:half] + mark + text[-half:]


class Rule(NamedTuple):
    category: str
    exception: re.Pattern[str]
    message: re.Pattern[str]
    example: Mapping[str, str]


@lru_cache(maxsize=None)
def rules(framework: str) -> list[Rule]:
    """The rules of a framework, in the order in which they are tried."""
    return [
        Rule(
            category=entry["category"],
            exception=re.compile(entry.get("exception", ".*")),
            message=re.compile(entry.get("message", ""), re.IGNORECASE | re.DOTALL),
            example=entry["example"],
        )
        for home in (framework, "core")
        for entry in json.loads((RUNNERS / home / "failure_rules.json").read_text("utf-8"))["rules"]
    ]


def category(
    framework: str, outcome: str, error: ErrorFacts | None, oom_killed: bool = False, value_verdict: str | None = None
) -> str | None:
    """Why a test did not pass; None for passed and skipped tests, "other" if no rule matches.

    With the ``value_verdict`` equal or imprecise, the category of different values is precision; with wrong or random,
    it is not. If no rule matches an exception, the rules are tried on its causes.
    """
    if outcome in ("passed", "skipped"):
        return None
    if outcome == "timed_out":
        return "timeout"
    if outcome == "crashed":
        return "memory" if oom_killed else "crash"
    assert error is not None
    found = _by_rules(framework, error)
    if value_verdict in ("equal", "imprecise") and error["message"].startswith(("imprecise", "wrong value")):
        return "precision"
    return "other" if value_verdict in ("wrong", "random") and found == "precision" else found


def _by_rules(framework: str, error: ErrorFacts) -> str:
    found = [(error["type"], error["message"]), *((cause["type"], cause["message"]) for cause in error["causes"])]
    for kind, message in found:
        for rule in rules(framework):
            if rule.exception.fullmatch(kind) and rule.message.search(message):
                return rule.category
    return "other"


def _type_name(error: BaseException) -> str:
    """The name of an exception's class as run files have it.

    An exception of portbench has its name in ``recorded_as``: the name is part of the format of run files, and rules
    and fingerprints use it, so it does not change when the class moves to another module.
    """
    kind = type(error)
    if "recorded_as" in vars(kind):
        return str(vars(kind)["recorded_as"])
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:
        return f"(its message cannot be shown: {_type_name(second)})"


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen = {id(error)}
    while True:
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is None or id(cause) in seen:
            return
        seen.add(id(cause))
        yield cause
        error = cause
