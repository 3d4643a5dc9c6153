"""Why a test did not pass: its category, derived from the stored facts by the rule files of the runners.

The runner derives it when it stores a result (runners/core/failure.py). This module derives it again, with rules that
may be newer than the run. It imports nothing from the runners: the rule files are the contract, and a test checks that
both sides give the same results.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portbench.errors import BadInput
from portbench.util.strict_json import FIX, read_json, shown
from portbench.util.text import escape_control

CATEGORIES = ("type", "not_implemented", "timeout", "memory", "precision", "crash", "other")
"""The categories that rules give. ``unavailable`` is not derived: the runner records that the name was not found."""

_FILE = "failure_rules.json"
_GENERAL = "core"


@dataclass(frozen=True)
class Rule:
    """``exception`` matches a whole type name, ``message`` any part of a message. ``place``: file and number."""

    category: str
    exception: re.Pattern[str]
    message: re.Pattern[str]
    place: str

    def __str__(self) -> str:
        parts = (("exception", self.exception.pattern, ".*"), ("message", self.message.pattern, ""))
        matched = (f"{name} matches /{pattern}/" for name, pattern, any_text in parts if pattern != any_text)
        return f"{self.place}: {', '.join(matched)}"


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
        if outcome in ("passed", "skipped"):
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
        if value_verdict in ("wrong", "random") and rule and rule.category == "precision":
            return Decision("other", f"the values are {value_verdict}, so precision is not the cause")
        return Decision(rule.category, str(rule)) if rule else Decision("other", "no rule matches")

    def _matched(self, framework: str, error: Error) -> Rule | None:
        # A wrapper first, then the exceptions that it wraps.
        for kind, message in ((error.type, error.message), *error.causes):
            for rule in self.of_framework.get(framework, ()):
                if rule.exception.fullmatch(kind) and rule.message.search(message):
                    return rule
        return None


def read_rules(folder: Path, frameworks: Sequence[str]) -> Rules:
    """Reads ``<framework>/failure_rules.json`` and ``core/failure_rules.json`` below ``folder``.

    Raises BadInput for a file that is missing or not a list of rules: its message has file, place and expected value.
    """
    general = _rules(folder / _GENERAL / _FILE)
    own = {framework: _rules(folder / framework / _FILE) for framework in sorted(set(frameworks))}
    stated = {
        name: [[r.category, r.exception.pattern, r.message.pattern] for r in rules] for name, rules in own.items()
    }
    stated[_GENERAL] = [[r.category, r.exception.pattern, r.message.pattern] for r in general]
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
        _pattern(f"{place}.message", entry.get("message", ""), re.IGNORECASE | re.DOTALL),
        f"runners/{path.parent.name}/{path.name}, rule {position + 1}",
    )


def _pattern(place: str, text: Any, flags: int) -> re.Pattern[str]:
    try:
        if not isinstance(text, str):
            raise BadInput(f"{place}: expected a regular expression, as text", FIX)
        return re.compile(text, flags)
    except re.error as error:
        raise BadInput(f"{place}: no regular expression: {escape_control(str(error))}", FIX) from None
