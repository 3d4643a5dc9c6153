"""The conditions of ``--fail-on``: findings in a comparison that make a job fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from portbench.compare.comparison import Comparison, PairComparison
from portbench.compare.facts import Key
from portbench.compare.outcomes import TestChange
from portbench.util.text import pluralize


@dataclass(frozen=True)
class Condition:
    """One condition. ``factor`` is 1.2 for ``slower:1.2``; None if every slower test counts."""

    name: str
    factor: float | None = None

    def __str__(self) -> str:
        return self.name if self.factor is None else f"{self.name}:{self.factor:g}"


@dataclass(frozen=True)
class Finding:
    """A test of a pair for which a condition holds, and what happened to it."""

    condition: Condition
    pair: PairComparison
    key: Key
    message: str


CONDITIONS: Mapping[str, str] = {
    "new-failure": "a test that passed fails",
    "new-wrong": "a test gives wrong values, and did not before",
    "not-run": "a test that passed was not run, or a target is gone",
    "category": "a test fails for another reason",
    "placement": "a test that ran on the device runs on the host, or partly",
    "slower": "a test is slower beyond noise, by --min-effect or, as slower:1.2, by a factor",
}


def read_conditions(text: str) -> tuple[Condition, ...]:
    """Reads ``new-failure,slower:1.2``. Raises ValueError, with the known conditions, for any other text."""
    return tuple(dict.fromkeys(_read(part.strip()) for part in text.split(",")))


def findings(condition: Condition, comparison: Comparison) -> list[Finding]:
    """The tests for which a condition holds, pair by pair."""
    return [
        Finding(condition, pair, key, message)
        for pair in comparison.pairs
        for key, message in _FOUND[condition.name](pair, condition)
    ]


def verdict(conditions: Iterable[Condition], comparison: Comparison) -> str:
    """One line with the conditions that are met and their number of tests; '' if none is met."""
    met = []
    for condition in conditions:
        found = findings(condition, comparison)
        gone = sum(each.is_first for each in comparison.unpaired) if condition.name == "not-run" else 0
        reasons = [pluralize(count, noun) for count, noun in ((len(found), "test"), (gone, "target")) if count]
        if condition.name == "slower" and not all(finding.pair.steady.has_run_variance for finding in found):
            reasons.append("one run on each side")
        if reasons:
            met.append(f"{condition} ({', '.join(reasons)})")
    return f"failed on {', '.join(met)}" if met else ""


Found = Iterable[tuple[Key, str]]


def _read(text: str) -> Condition:
    name, colon, factor = text.partition(":")
    if name not in CONDITIONS or (colon and name != "slower"):
        raise ValueError(f"{text!r} is no condition; known: {', '.join(CONDITIONS)}, slower:FACTOR")
    if not colon:
        return Condition(name)
    try:
        value = float(factor)
    except ValueError:
        value = 0
    if not 1 < value < float("inf"):
        raise ValueError(f"{text!r}: expected a factor above 1, such as slower:1.2")
    return Condition(name, value)


def _described(changes: Iterable[TestChange]) -> Found:
    for change in changes:
        yield (
            change.key,
            f"{change.before} before, now {change.after}" + (f": {change.evidence}" if change.evidence else ""),
        )


def _slower(pair: PairComparison, condition: Condition) -> Found:
    for test in pair.steady.found("slower"):
        if test.ratio >= (condition.factor or 1):
            runs = "" if test.change else "; one run on each side: noise between runs is not covered"
            yield test.key, f"{test.ratio:.2f} times slower (adjusted p {test.q:.2g}){runs}"


def _moved_to_host(pair: PairComparison, _: Condition) -> Found:
    return _described(change for change in pair.outcomes.placements if change.before == "device")


_FOUND: Mapping[str, Callable[[PairComparison, Condition], Found]] = {
    "new-failure": lambda pair, _: _described(pair.outcomes.new_failures),
    "new-wrong": lambda pair, _: _described(pair.outcomes.new_wrong),
    "not-run": lambda pair, _: _described(pair.outcomes.not_run),
    "category": lambda pair, _: _described(pair.outcomes.categories),
    "placement": _moved_to_host,
    "slower": _slower,
}
