"""Turns an exception into facts, and facts into a category.

The facts (type, message, traceback, causes) are stored. The category is derived from them by rules that are data:
``runners/<framework>/failure_rules.json``, then ``runners/core/failure_rules.json``; the first match wins. Each rule
has a real message as an example, which it must match.
"""

from __future__ import annotations

import json
import math
import re
import traceback
from functools import lru_cache
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple

from runners.core.result import Cause, ErrorFacts

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|\bnan\b|[-+]?\binf", re.IGNORECASE)
_FLAGS = re.IGNORECASE | re.DOTALL

RUNNERS = Path(__file__).resolve().parents[1]
TYPE_LIMIT = 500
MESSAGE_LIMIT = 8_000
TRACEBACK_LIMIT = 16_000

IMPRECISE_ERROR = 2.0**-6
"""The error of a product in bfloat16, the coarsest dtype that an accelerator uses instead of a wider one, relative to
the greatest value. Values that are not further off are imprecise, others are wrong."""


def facts_of(error: BaseException) -> ErrorFacts:
    """Type, message, traceback and causes of an exception, as text that fits into JSON."""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return ErrorFacts(
        type=clipped(_type_name(error), TYPE_LIMIT),
        message=clipped(_message(error), MESSAGE_LIMIT),
        traceback=clipped(trace, TRACEBACK_LIMIT),
        causes=[
            Cause(type=clipped(_type_name(cause), TYPE_LIMIT), message=clipped(_message(cause), MESSAGE_LIMIT))
            for cause in _causes(error)
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
    at_most: Mapping[re.Pattern[str], float]
    example: Mapping[str, str]

    def matches(self, kind: str, message: str) -> bool:
        """Whether an exception of this type with this message is one of the rule's.

        ``kind`` may be without its module. With ``at_most``, one of its patterns must be in the message, and what it
        captures must be no more than its limit: the numbers of the group ``difference``, or those of ``found``
        against those of ``expected``, relative to the greatest expected one.
        """
        kind = kind[len("builtins.") :] if kind.startswith("builtins.") else kind
        if not (self.exception.fullmatch(kind) and self.message.search(message)):
            return False
        return not self.at_most or any(
            _largest_difference(found.groupdict()) <= limit
            for pattern, limit in self.at_most.items()
            for found in [pattern.search(message)]
            if found
        )


@lru_cache(maxsize=None)
def rules(framework: str) -> list[Rule]:
    """The rules of a framework, in the order in which they are tried."""
    return [
        Rule(
            category=entry["category"],
            exception=re.compile(entry.get("exception", ".*")),
            message=re.compile(entry.get("message", ""), _FLAGS),
            at_most={re.compile(pattern, _FLAGS): limit for pattern, limit in entry.get("at_most", {}).items()},
            example=entry["example"],
        )
        for home in (framework, "core")
        for entry in json.loads((RUNNERS / home / "failure_rules.json").read_text("utf-8"))["rules"]
    ]


def category(
    framework: str, outcome: str, error: ErrorFacts | None, oom_killed: bool = False, value_verdict: str | None = None
) -> str | None:
    """Why a test did not pass; None for passed and skipped tests and errors of a manifest, "other" if no rule matches.

    With the ``value_verdict`` equal or imprecise, the category of different values is precision; with wrong, unexpected
    or random, it is not. If no rule matches an exception, the rules are tried on its causes.
    """
    if outcome in ("passed", "skipped", "error"):
        return None
    if outcome == "timed_out":
        return "timeout"
    if outcome == "crashed":
        return "memory" if oom_killed else "crash"
    assert error is not None
    found = _by_rules(framework, error)
    if value_verdict in ("equal", "imprecise") and error["message"].startswith(("imprecise", "wrong value")):
        return "precision"
    return "other" if value_verdict in ("wrong", "unexpected", "random") and found == "precision" else found


def _by_rules(framework: str, error: ErrorFacts) -> str:
    found = [(error["type"], error["message"]), *((cause["type"], cause["message"]) for cause in error["causes"])]
    for kind, message in found:
        for rule in rules(framework):
            if rule.matches(kind, message):
                return rule.category
    return "other"


def _largest_difference(captured: Mapping[str, str]) -> float:
    """The largest difference that a message states; infinite if it states none, or one that is not finite."""
    if "difference" in captured:
        differences, scale = [abs(number) for number in _numbers(captured["difference"])], 1.0
    else:
        expected = _numbers(captured["expected"])
        differences = [abs(one - other) for one, other in zip(_numbers(captured["found"]), expected)]
        scale = max(map(abs, expected), default=0.0)
    if not differences or not scale or not all(map(math.isfinite, differences)):
        return math.inf
    return max(differences) / scale


def _numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]


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
