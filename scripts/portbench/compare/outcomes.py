"""How the results of tests changed between two sides: outcomes, categories, wrong values, placement; not times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from portbench.compare.facts import Key, SideFacts, TestFacts
from portbench.study.model import REMOVED

NAMES = ("the first", "the second")


@dataclass(frozen=True)
class TestChange:
    """A test that differs on the second side: ``before`` and ``after`` in words, and the evidence."""

    key: Key
    before: str
    after: str
    evidence: str = ""


@dataclass(frozen=True)
class FunctionChange:
    """A function whose status differs, by the number of ``tests`` that always passed or always failed on each side."""

    function: str
    successor_of: str
    before: str
    after: str
    tests: int


@dataclass(frozen=True)
class NotCompared:
    """A test that cannot be compared, and the reason."""

    key: Key
    reason: str


@dataclass(frozen=True)
class Outcomes:
    """The changes among all tests of both sides (``keys``).

    A flaky test is neither a new failure nor a new pass: ``flaky`` lists the flaky tests of either side. ``not_run``
    passed on the first side and did not run on the second; ``not_compared`` has them too. ``failing``: all tests that
    were compared and fail on the second side.
    """

    keys: frozenset[Key]
    compared: int
    new_failures: tuple[TestChange, ...]
    new_passes: tuple[TestChange, ...]
    new_wrong: tuple[TestChange, ...]
    categories: tuple[TestChange, ...]
    placements: tuple[TestChange, ...]
    flaky: tuple[TestChange, ...]
    not_run: tuple[TestChange, ...]
    functions: tuple[FunctionChange, ...]
    failing: frozenset[Key]
    not_compared: tuple[NotCompared, ...]

    @property
    def newly_failing(self) -> tuple[FunctionChange, ...]:
        """Functions that passed before."""
        return tuple(change for change in self.functions if change.before == "all_pass")

    @property
    def newly_passing(self) -> tuple[FunctionChange, ...]:
        """Functions that pass now."""
        return tuple(change for change in self.functions if change.after == "all_pass")


def outcomes(first: SideFacts, second: SideFacts) -> Outcomes:
    """Compares the outcomes of the tests that both sides have."""
    pairs = {key: (first.tests[key], second.tests[key]) for key in sorted(first.tests.keys() & second.tests.keys())}
    certain = {
        key: pair
        for key, pair in pairs.items()
        if pair[0].verdict in ("passed", "failed") and pair[1].verdict in ("passed", "failed")
    }
    return Outcomes(
        keys=frozenset(first.tests.keys() | second.tests.keys()),
        compared=len(certain),
        new_failures=tuple(_with_verdicts(certain, "passed", "failed")),
        new_passes=tuple(_with_verdicts(certain, "failed", "passed")),
        new_wrong=tuple(_wrong(pairs)),
        categories=tuple(_categories(pairs)),
        placements=tuple(_placements(certain)),
        flaky=tuple(
            TestChange(key, _runs(before), _runs(after), before.evidence or after.evidence)
            for key, (before, after) in pairs.items()
            if "flaky" in (before.verdict, after.verdict)
        ),
        not_run=tuple(_not_run(first, second)),
        functions=tuple(_functions(certain)),
        failing=frozenset(key for key, pair in certain.items() if pair[1].verdict == "failed"),
        not_compared=tuple(_not_compared(first, second)),
    )


def absence(key: Key, first: SideFacts, second: SideFacts) -> str:
    """Why a test that a side did not run cannot be compared; '' if both ran it."""
    for name, facts in zip(NAMES, (first, second), strict=True):
        test = facts.tests.get(key)
        if test is None:
            other = "only with another synchronization on" if key in facts.with_other_sync else "missing on"
            return f"{other} {name}"
        if test.verdict == "error":
            return f"an error of the manifest on {name}: {test.skip_reason}"
        if test.verdict == "skipped":
            return f"removed in the version of {name}" if test.is_removed else f"skipped on {name}: {test.skip_reason}"
    return ""


def _with_verdicts(pairs: Mapping[Key, tuple[TestFacts, TestFacts]], before: str, after: str) -> Iterator[TestChange]:
    for key, (first, second) in pairs.items():
        if (first.verdict, second.verdict) == (before, after):
            yield TestChange(key, _described(first), _described(second), second.evidence or first.evidence)


def _wrong(pairs: Mapping[Key, tuple[TestFacts, TestFacts]]) -> Iterator[TestChange]:
    for key, (first, second) in pairs.items():
        if second.is_wrong and not first.is_wrong and first.verdict != "skipped":
            yield TestChange(key, _described(first), _described(second), second.evidence)


def _categories(pairs: Mapping[Key, tuple[TestFacts, TestFacts]]) -> Iterator[TestChange]:
    for key, (first, second) in pairs.items():
        if (first.verdict, second.verdict) == ("failed", "failed") and first.categories != second.categories:
            yield TestChange(key, _described(first), _described(second), second.evidence)


def _placements(pairs: Mapping[Key, tuple[TestFacts, TestFacts]]) -> Iterator[TestChange]:
    for key, (first, second) in pairs.items():
        both = (first.placement, second.placement)
        if (
            first.verdict == second.verdict == "passed"
            and first.placement != second.placement
            and "unknown" not in both
        ):
            yield TestChange(key, *both, ", ".join(second.host_operations or first.host_operations))


def _not_run(first: SideFacts, second: SideFacts) -> Iterator[TestChange]:
    for key, before in sorted(first.tests.items()):
        after = second.tests.get(key)
        if before.verdict == "passed" and (after is None or after.verdict in ("skipped", "error")):
            state = REMOVED if after and after.is_removed else after.verdict if after else "missing"
            yield TestChange(key, "passed", state, after.skip_reason if after else "")


def _functions(pairs: Mapping[Key, tuple[TestFacts, TestFacts]]) -> Iterator[FunctionChange]:
    verdicts: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for key, (first, second) in pairs.items():
        verdicts.setdefault((key.function, key.successor_of), []).append((first.verdict, second.verdict))
    for (function, former), found in verdicts.items():
        before, after = (_status(side) for side in zip(*found, strict=True))
        if before != after:
            yield FunctionChange(function, former, before, after, len(found))


def _status(verdicts: tuple[str, ...]) -> str:
    passed = verdicts.count("passed")
    return "all_pass" if passed == len(verdicts) else "some_fail" if passed else "all_fail"


def _not_compared(first: SideFacts, second: SideFacts) -> Iterator[NotCompared]:
    for key in sorted(first.tests.keys() | second.tests.keys()):
        reason = absence(key, first, second) or _uncertain(first.tests[key], second.tests[key])
        if reason:
            yield NotCompared(key, reason)


def _uncertain(first: TestFacts, second: TestFacts) -> str:
    for verdict, said in (("unknown", "of unknown outcome"), ("flaky", "flaky")):
        names = [name for name, test in zip(NAMES, (first, second), strict=True) if test.verdict == verdict]
        if names:
            return f"{said} on {' and '.join(names)}"
    return ""


def _described(test: TestFacts) -> str:
    """A test in a few words: its verdict, and the categories of its failures."""
    why = "wrong values" if test.is_wrong else ", ".join(test.categories).replace("_", " ")
    return f"{test.verdict} ({why})" if why else test.verdict


def _runs(test: TestFacts) -> str:
    return test.verdict if test.verdict in ("skipped", "error") else f"passed {test.passed_runs}/{test.ran_runs}"
