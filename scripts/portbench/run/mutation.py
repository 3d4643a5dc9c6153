"""Mutates every function of a manifest and finds the tests that do not notice.

One runner runs each test with the real function, then with each mutant (schema/mutants.json says what each does, by
class), and writes a run file for each. A test that passes although its function is mutated has survived that mutant.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from portbench.errors import BadInput
from portbench.formats.consistency import mutants_of
from portbench.formats.documents import read_document
from portbench.run.execute import run_targets
from portbench.run.known_failures import known_failures_of, matches_test
from portbench.run.model import RunnerArguments, RunPlan, TargetResult
from portbench.run.progress import Reporter
from portbench.util.repository import find_checkout
from portbench.util.strict_json import shown

TestKey = tuple[str, str]
"""Function and test."""

NOT_TRIED = "not tried: "
"""How the reason of a test begins that the time budget did not allow."""


@dataclass(frozen=True)
class Outcome:
    """How one test ended, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class MutantRun:
    """The outcomes of one run of the manifest. ``is_selection``: it ran only some of the functions."""

    outcomes: Mapping[TestKey, Outcome]
    is_selection: bool

    def with_outcome(self, *names: str) -> dict[TestKey, str]:
        """The reasons of the tests with one of these outcomes."""
        return {key: outcome.reason for key, outcome in self.outcomes.items() if outcome.name in names}

    @property
    def is_cut_short(self) -> bool:
        """Whether the time budget did not allow all tests."""
        return any(reason.startswith(NOT_TRIED) for reason in self.with_outcome("skipped").values())


class MutationReporter(Reporter):
    """Shows the progress of the runs, and no run files: they are deleted at the end."""

    def finished(self, result: TargetResult) -> None:
        """Prints nothing. An error is raised instead."""


@dataclass(frozen=True)
class Survivor:
    """A test that passes with its function mutated. ``reason``: why that is right, empty where nobody gave one."""

    function: str
    test: str
    mutant: str
    reason: str = ""


@dataclass(frozen=True)
class Noticed:
    """How many mutants of a class were noticed. Each counts once for every test in which it changes something, and once
    for every function: there it is noticed if a single test of the function notices it, as a fault of a device is."""

    tests: int
    of_tests: int
    functions: int
    of_functions: int


@dataclass(frozen=True)
class MutationTest:
    """The result. ``applicable`` and ``noticed`` count tests by function and mutant."""

    target: str
    manifest: str
    tests: Mapping[str, int]
    applicable: Counter[tuple[str, str]]
    noticed: Counter[tuple[str, str]]
    survivors: tuple[Survivor, ...]
    stale: tuple[Survivor, ...]
    """Listed as survivors with a reason, but noticed or missing."""
    failing: Mapping[TestKey, str]
    """Tests that fail with the real function, with the reason: mutants say nothing about them. Known failures of the
    version are left out: there the framework is at fault, not the test."""
    skipped: Mapping[TestKey, str]

    @property
    def unexplained(self) -> list[Survivor]:
        """The survivors that need a reason and have none. A finer mutant needs one only where no test of its function
        notices it: it changes little, and not every test has to look there."""
        coarse = mutants(coarse_only=True)
        return [
            each
            for each in self.survivors
            if not each.reason and (each.mutant in coarse or not self.noticed[each.function, each.mutant])
        ]

    @cached_property
    def blind_functions(self) -> list[str]:
        """Functions whose tests notice no mutant at all."""
        noticing = {function for function, _ in self.noticed}
        return sorted({function for function, _ in self.applicable} - noticing)

    @property
    def percent_noticed(self) -> float | None:
        applicable = self.applicable.total()
        return 100 * self.noticed.total() / applicable if applicable else None

    @property
    def by_class(self) -> Mapping[str, Noticed]:
        """How many mutants of each class were noticed; without classes of which none was tried."""
        counts = {name: self._noticed_of(group) for name, group in classes().items()}
        return {name: noticed for name, noticed in counts.items() if noticed.of_tests}

    @property
    def of_all_classes(self) -> Noticed:
        """How many mutants were noticed."""
        return self._noticed_of({mutant for _, mutant in self.applicable})

    def _noticed_of(self, group: Collection[str]) -> Noticed:
        counts = (
            [count for (_, mutant), count in counter.items() if mutant in group]
            for counter in (self.noticed, self.applicable)
        )
        noticed, applicable = counts
        return Noticed(sum(noticed), sum(applicable), len(noticed), len(applicable))

    @property
    def not_tried(self) -> int:
        """How many tests the time budget did not allow."""
        return sum(reason.startswith(NOT_TRIED) for reason in self.skipped.values())

    @property
    def is_clean(self) -> bool:
        """Every survivor has a reason, no reason is stale, every function notices a mutant, and no test fails."""
        return not (self.unexplained or self.stale or self.blind_functions or self.failing)


@cache
def classes() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """The mutants by class, each with what it does and whether it is coarse: schema/mutants.json."""
    table: Mapping[str, Any] = json.loads((find_checkout().schema / "mutants.json").read_text("utf-8"))
    return dict(table["classes"])


def mutants(coarse_only: bool = False) -> tuple[str, ...]:
    """The names of all mutants, or of those that change a whole output, which run without being asked for."""
    table = (item for group in classes().values() for item in group.items())
    return tuple(name for name, facts in table if facts["coarse"] or not coarse_only)


def survivors_file_of(manifest: Path) -> Path:
    """The file of a manifest's survivors, unless the user names another."""
    return manifest.parent / "survivors" / manifest.name


def run_mutants(
    plan: RunPlan,
    chosen: Sequence[str],
    survivors_file: Path,
    reporter: Reporter,
    time_budget_s: float | None = None,
) -> MutationTest:
    """Runs the manifest of a plan with one target, with the real functions and with each of the ``chosen`` mutants.

    Raises what a run of the target raises, and BadInput for a file of survivors that belongs to another manifest.
    """
    (target,) = plan.targets
    manifest = read_document(plan.arguments[target.framework].manifest, "manifest").data["name"]
    reasons = read_reasons(survivors_file, manifest)
    known_failures = known_failures_of(plan)[target.name].versions.get(target.version, ())
    runs = _run(plan, chosen, time_budget_s, reporter)
    real = runs[None]
    passing = real.with_outcome("passed")
    applicable: Counter[tuple[str, str]] = Counter()
    noticed: Counter[tuple[str, str]] = Counter()
    survivors = []
    explaining = set[Reason]()
    for mutant in (name for name in chosen if name in runs):
        outcomes = runs[mutant].outcomes
        for function, test in sorted(passing.keys() & outcomes.keys()):
            outcome = outcomes[function, test].name
            if outcome == "skipped":
                continue
            applicable[function, mutant] += 1
            if outcome != "passed":
                noticed[function, mutant] += 1
                continue
            found = [reason for reason in reasons if reason.mutant == mutant and reason.is_about(function, test)]
            survivors.append(Survivor(function, test, mutant, found[0].text if found else ""))
            explaining.update(found)
    return MutationTest(
        target=target.name,
        manifest=manifest,
        tests=Counter(function for function, _ in real.outcomes),
        applicable=applicable,
        noticed=noticed,
        survivors=tuple(survivors),
        stale=tuple(_stale([reason for reason in reasons if reason not in explaining], chosen, real)),
        failing={
            key: outcome.reason
            for key, outcome in real.outcomes.items()
            if outcome.name not in ("passed", "skipped") and not any(known.matches(*key) for known in known_failures)
        },
        skipped=real.with_outcome("skipped"),
    )


@dataclass(frozen=True)
class Reason:
    """Why tests need not notice a mutant, from a file of survivors. ``test`` is an id, or a glob if ``is_glob``."""

    function: str
    test: str
    mutant: str
    text: str
    is_glob: bool

    def is_about(self, function: str, test: str) -> bool:
        """Whether the test is one of the entry's."""
        matches = matches_test(test, self.test) if self.is_glob else test == self.test
        return function == self.function and matches


def read_reasons(path: Path, manifest: str) -> tuple[Reason, ...]:
    """The reasons of a file of survivors; empty where there is no such file. Raises BadInput."""
    if not path.exists():
        return ()
    data = read_document(path, "survivors").data
    if data["manifest"] != manifest:
        raise BadInput(
            f"{shown(path)}: $.manifest: found {json.dumps(data['manifest'])}, expected {json.dumps(manifest)}",
            "Give the file of this manifest's survivors.",
        )

    return tuple(
        Reason(entry["function"], entry["test"], mutant, entry["reason"], is_glob=data["schema_version"] > 2)
        for entry in data["survivors"]
        for mutant in mutants_of(entry)
    )


def _stale(unused: Sequence[Reason], chosen: Collection[str], real: MutantRun) -> Iterator[Survivor]:
    """The entries that explain no survivor. One whose test is not there is stale only if the whole manifest ran."""
    passing = real.with_outcome("passed")
    for reason in unused:
        if reason.mutant not in chosen:
            continue
        ran = any(reason.is_about(function, test) for function, test in passing)
        if ran or not (real.is_selection or real.is_cut_short):
            yield Survivor(reason.function, reason.test, reason.mutant, reason.text)


def _run(
    plan: RunPlan, chosen: Sequence[str], time_budget_s: float | None, reporter: Reporter
) -> Mapping[str | None, MutantRun]:
    """The runs by mutant, with None for that of the real functions."""
    (arguments,) = plan.arguments.values()
    arguments = replace(arguments, mutants=tuple(chosen), time_budget_s=time_budget_s)
    return {
        run["protocol"]["mutant"]: MutantRun(outcomes, bool(run["manifest"]["selection"]))
        for run, outcomes in mutant_runs(plan, arguments, reporter)
    }


def mutant_runs(
    plan: RunPlan, arguments: RunnerArguments, reporter: Reporter
) -> Iterator[tuple[Mapping[str, Any], Mapping[TestKey, Outcome]]]:
    """Runs a plan with one target by other arguments. Yields each run file that it wrote, and the outcomes in it.

    Raises what the run raises.
    """
    (framework,) = plan.arguments
    (result,) = run_targets(replace(plan, arguments={framework: arguments}), reporter)
    if result.error or result.run_file is None:
        raise result.error or BadInput("the run wrote no run file")
    for path in sorted(result.run_file.parent.glob("*.json")):
        run = read_document(path, "run").data
        yield (
            run,
            {
                (row["function"], row["test"]): Outcome(
                    row["outcome"], row["reason"] or (row["error"] or {}).get("message", "")
                )
                for row in run["results"]
            },
        )
