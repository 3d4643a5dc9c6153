"""Mutates every function of a manifest and finds the tests that do not notice.

The manifest runs once with the real functions, then once per mutant (the runner says what each mutant does; the names
are in schema/run.schema.json). A test that passes although its function is mutated has survived that mutant.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from portbench.errors import BadInput
from portbench.formats.documents import read_document
from portbench.formats.schemas import values_of
from portbench.run.execute import run_targets
from portbench.run.model import RunPlan, TargetResult
from portbench.run.progress import Reporter
from portbench.util.strict_json import shown

TestKey = tuple[str, str]
"""Function and test."""

SurvivorKey = tuple[str, str, str]
"""Function, test and mutant."""


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

    @property
    def key(self) -> SurvivorKey:
        return self.function, self.test, self.mutant


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
    """Tests that fail with the real function, with the reason: mutants say nothing about them."""
    skipped: Mapping[TestKey, str]

    @property
    def unexplained(self) -> list[Survivor]:
        return [survivor for survivor in self.survivors if not survivor.reason]

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
    def is_clean(self) -> bool:
        """Every survivor has a reason, no reason is stale, every function notices a mutant, and no test fails."""
        return not (self.unexplained or self.stale or self.blind_functions or self.failing)


COARSE = ("scaled", "shifted", "zeroed", "wrong-dtype", "wrong-shape", "first-argument", "nothing")
"""The mutants that change a whole output, which run without being asked for. The others are like faults of devices."""


def mutants() -> tuple[str, ...]:
    """The names of all mutants, coarse and fine, from the schema that host and runner share."""
    return tuple(name for name in values_of("run", "protocol", "mutant") if name is not None)


def survivors_file_of(manifest: Path) -> Path:
    """The file of a manifest's survivors, unless the user names another."""
    return manifest.parent / "survivors" / manifest.name


def run_mutants(plan: RunPlan, chosen: Sequence[str], survivors_file: Path, reporter: Reporter) -> MutationTest:
    """Runs the manifest of a plan with one target, with the real functions and with each of the ``chosen`` mutants.

    Raises what a run of the target raises, and BadInput for a file of survivors that belongs to another manifest.
    """
    (target,) = plan.targets
    manifest = read_document(plan.arguments[target.framework].manifest, "manifest").data["name"]
    reasons = read_reasons(survivors_file, manifest)
    reporter.say("the real functions")
    real = _run(plan, None, reporter)
    passing = real.with_outcome("passed")
    applicable: Counter[tuple[str, str]] = Counter()
    noticed: Counter[tuple[str, str]] = Counter()
    survivors = []
    for mutant in chosen:
        reporter.say(f"mutated functions: {mutant}")
        mutated = _run(plan, mutant, reporter)
        for function, test in sorted(passing.keys() & mutated.outcomes.keys()):
            outcome = mutated.outcomes[function, test].name
            if outcome == "skipped":
                continue
            applicable[function, mutant] += 1
            if outcome == "passed":
                survivors.append(Survivor(function, test, mutant, reasons.get((function, test, mutant), "")))
            else:
                noticed[function, mutant] += 1
    seen = {survivor.key for survivor in survivors}
    missed = {key: reason for key, reason in reasons.items() if key not in seen and key[2] in chosen}
    return MutationTest(
        target=target.name,
        manifest=manifest,
        tests=Counter(function for function, _ in real.outcomes),
        applicable=applicable,
        noticed=noticed,
        survivors=tuple(survivors),
        stale=tuple(_stale(missed, real)),
        failing={
            key: outcome.reason for key, outcome in real.outcomes.items() if outcome.name not in ("passed", "skipped")
        },
        skipped=real.with_outcome("skipped"),
    )


def read_reasons(path: Path, manifest: str) -> dict[SurvivorKey, str]:
    """The reasons of a file of survivors; empty where there is no such file. Raises BadInput."""
    if not path.exists():
        return {}
    data = read_document(path, "survivors").data
    if data["manifest"] != manifest:
        raise BadInput(
            f"{shown(path)}: $.manifest: found {json.dumps(data['manifest'])}, expected {json.dumps(manifest)}",
            "Give the file of this manifest's survivors.",
        )
    return {(entry["function"], entry["test"], entry["mutant"]): entry["reason"] for entry in data["survivors"]}


def _stale(missed: Mapping[SurvivorKey, str], real: MutantRun) -> Iterator[Survivor]:
    """The reasons of tests that did not survive. A test that is not there is stale only if the whole manifest ran."""
    passing = real.with_outcome("passed")
    for (function, test, mutant), reason in missed.items():
        if (function, test) in passing or not real.is_selection:
            yield Survivor(function, test, mutant, reason)


def _run(plan: RunPlan, mutant: str | None, reporter: Reporter) -> MutantRun:
    (framework,) = plan.arguments
    arguments = replace(plan.arguments[framework], mutant=mutant)
    (result,) = run_targets(replace(plan, arguments={framework: arguments}), reporter)
    if result.error or result.run_file is None:
        raise result.error or BadInput("the run wrote no run file")
    run = read_document(result.run_file, "run").data
    outcomes = {
        (row["function"], row["test"]): Outcome(
            row["outcome"], row["reason"] or (row["error"] or {}).get("message", "")
        )
        for row in run["results"]
    }
    return MutantRun(outcomes, bool(run["manifest"]["selection"]))
