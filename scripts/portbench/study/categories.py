"""Why a test did not pass: its category, derived from the stored facts by the rule files of the runners.

The runner derives it when it stores a result (runners/core/failure.py). This module derives it again, with rules that
may be newer than the run. It imports nothing from the runners: the rule files are the contract, and a test checks that
both sides give the same results.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portbench.errors import BadInput
from portbench.util.strict_json import FIX, quoted, read_json, shown
from portbench.util.text import escape_control

CATEGORIES = ("type", "not_implemented", "timeout", "memory", "precision", "unstable", "crash", "other")
"""The categories that rules give. ``removed`` is not derived: the runner records that the name was not found."""

_FILE = "failure_rules.json"
_GENERAL = "core"
_FLAGS = re.IGNORECASE | re.DOTALL
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|\bnan\b|[-+]?\binf", re.IGNORECASE)


@dataclass(frozen=True)
class Rule:
    """``exception`` matches a whole type name, ``message`` any part of a message. ``place``: file and number.

    ``at_most`` has patterns with a limit. If there are any, one of them must be in the message, and what it captures
    must be no more than its limit: the numbers of the group ``difference``, or those of ``found`` against those of
    ``expected``, relative to the greatest expected one.
    """

    category: str
    exception: re.Pattern[str]
    message: re.Pattern[str]
    at_most: Mapping[re.Pattern[str], float]
    place: str

    def __str__(self) -> str:
        parts = (("exception", self.exception.pattern, ".*"), ("message", self.message.pattern, ""))
        matched = [f"{name} matches /{pattern}/" for name, pattern, any_text in parts if pattern != any_text]
        return f"{self.place}: {', '.join(matched)}{', and the difference is small' if self.at_most else ''}"

    def stated(self) -> list[Any]:
        """What the rule says, without its example."""
        limits = {pattern.pattern: limit for pattern, limit in self.at_most.items()}
        return [self.category, self.exception.pattern, self.message.pattern, *([limits] if limits else [])]

    def matches(self, kind: str, message: str) -> bool:
        """Whether an exception of this type (with its module or without) and message is one of the rule's."""
        if not (self.exception.fullmatch(kind.removeprefix("builtins.")) and self.message.search(message)):
            return False
        return not self.at_most or any(
            _largest_difference(found.groupdict()) <= limit
            for pattern, limit in self.at_most.items()
            if (found := pattern.search(message))
        )


@dataclass(frozen=True)
class Error:
    """A stored exception; ``causes`` are (type, message), the nearest first."""

    type: str
    message: str
    causes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Decision:
    """A category and the reason for it in words; both are None for a test that passed or was skipped."""

    category: str | None
    because: str | None


@dataclass(frozen=True)
class Rules:
    """The rules of each framework in the order in which they are tried; ``sha256`` is the digest of all of them."""

    of_framework: Mapping[str, Sequence[Rule]]
    sha256: str

    def category(
        self,
        framework: str,
        outcome: str,
        error: Error | None,
        oom_killed: bool = False,
        value_verdict: str | None = None,
    ) -> str | None:
        """Why a test did not pass: a category, "other" if no rule matches; None if it passed or was skipped."""
        return self.decide(framework, outcome, error, oom_killed, value_verdict).category

    def decide(
        self,
        framework: str,
        outcome: str,
        error: Error | None,
        oom_killed: bool = False,
        value_verdict: str | None = None,
    ) -> Decision:
        """The category, and the rule or fact that gives it."""
        if outcome in ("passed", "skipped", "error"):
            return Decision(None, None)
        if outcome == "timed_out":
            return Decision("timeout", "the time limit was reached")
        if outcome == "crashed":
            return Decision("memory", "killed: out of memory") if oom_killed else Decision("crash", "the worker died")
        if error is None:
            return Decision("other", "no exception is known")
        rule = self._matched(framework, error)
        if value_verdict in ("equal", "imprecise") and error.message.startswith(("imprecise", "wrong value")):
            return Decision("precision", f"the values are {value_verdict} for their dtype")
        if value_verdict in ("wrong", "unexpected", "random") and rule and rule.category == "precision":
            return Decision("other", f"the values are {value_verdict}, so precision is not the cause")
        return Decision(rule.category, str(rule)) if rule else Decision("other", "no rule matches")

    def _matched(self, framework: str, error: Error) -> Rule | None:
        # A wrapper first, then the exceptions that it wraps.
        for kind, message in ((error.type, error.message), *error.causes):
            for rule in self.of_framework.get(framework, ()):
                if rule.matches(kind, message):
                    return rule
        return None


def read_rules(folder: Path, frameworks: Sequence[str]) -> Rules:
    """Reads ``<framework>/failure_rules.json`` and ``core/failure_rules.json`` below ``folder``.

    Raises BadInput for a file that is missing or not a list of rules: its message has file, place and expected value.
    """
    general = _rules(folder / _GENERAL / _FILE)
    own = {framework: _rules(folder / framework / _FILE) for framework in sorted(set(frameworks))}
    stated = {name: [rule.stated() for rule in rules] for name, rules in {**own, _GENERAL: general}.items()}
    digest = hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()
    return Rules({name: [*rules, *general] for name, rules in own.items()}, digest)


def _rules(path: Path) -> list[Rule]:
    data = read_json(path).data
    entries = data.get("rules") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise BadInput(f"{shown(path)}: $.rules: expected a list of rules", FIX)
    return [_rule(path, position, entry) for position, entry in enumerate(entries)]


def _rule(path: Path, position: int, entry: Any) -> Rule:
    place = f"{shown(path)}: $.rules[{position}]"
    if not isinstance(entry, dict) or entry.get("category") not in CATEGORIES:
        raise BadInput(f"{place}.category: expected one of {', '.join(CATEGORIES)}", FIX)
    return Rule(
        entry["category"],
        _pattern(f"{place}.exception", entry.get("exception", ".*"), 0),
        _pattern(f"{place}.message", entry.get("message", ""), _FLAGS),
        _limits(f"{place}.at_most", entry.get("at_most", {})),
        f"runners/{path.parent.name}/{path.name}, rule {position + 1}",
    )


def _limits(place: str, entry: Any) -> dict[re.Pattern[str], float]:
    if not isinstance(entry, dict):
        raise BadInput(f"{place}: expected an object of regular expressions and their limits", FIX)
    found = {}
    for text, limit in entry.items():
        pattern = _pattern(place, text, _FLAGS)
        if set(pattern.groupindex) not in ({"difference"}, {"found", "expected"}):
            raise BadInput(f"{place}: expected the group difference, or found and expected, in {quoted(text)}", FIX)
        if isinstance(limit, bool) or not isinstance(limit, (int, float)):
            raise BadInput(f"{place}: expected a number as the limit of {quoted(text)}", FIX)
        found[pattern] = float(limit)
    return found


def _largest_difference(captured: Mapping[str, str]) -> float:
    """The largest difference that a message states; infinite if it states none, or one that is not finite."""
    if "difference" in captured:
        differences, scale = [abs(number) for number in _numbers(captured["difference"])], 1.0
    else:
        expected = _numbers(captured["expected"])
        differences = [abs(one - other) for one, other in zip(_numbers(captured["found"]), expected, strict=False)]
        scale = max(map(abs, expected), default=0.0)
    if not differences or not scale or not all(map(math.isfinite, differences)):
        return math.inf
    return max(differences) / scale


def _numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]


def _pattern(place: str, text: Any, flags: int) -> re.Pattern[str]:
    try:
        if not isinstance(text, str):
            raise BadInput(f"{place}: expected a regular expression, as text", FIX)
        return re.compile(text, flags)
    except re.error as error:
        raise BadInput(f"{place}: no regular expression: {escape_control(str(error))}", FIX) from None
