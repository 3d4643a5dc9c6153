"""Breaks every function of a manifest on purpose and finds the tests that do not notice.

One run of the manifest as it is, then one for each mutant (runners.core.mutants says what they do; the names stand in
schema/run.schema.json). A test that passes although its function is broken has survived that mutant.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from portbench.errors import BadInput
from portbench.formats.documents import read_document
from portbench.formats.schemas import validator
from portbench.run.execute import RunPlan, TargetResult, run_targets
from portbench.run.progress import Reporter
from portbench.util.strict_json import shown

TestKey = tuple[str, str]
Outcomes = Mapping[TestKey, tuple[str, str]]
"""By function and test: the outcome and why."""


class AuditReporter(Reporter):
    """Shows how the runs go, not where their files are: those are gone after the audit."""

    def finished(self, result: TargetResult) -> None:
        """Says nothing; an error is raised."""


@dataclass(frozen=True)
class Survivor:
    """A test that passes with its function broken. ``reason``: why that is right; empty where nobody has said so."""

    function: str
    test: str
    mutant: str
    reason: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.function, self.test, self.mutant


@dataclass(frozen=True)
class Audit:
    """What came of one. ``applicable`` and ``noticed`` count tests by function and mutant."""

    target: str
    manifest: str
    tests: Mapping[str, int]
    applicable: Counter[tuple[str, str]]
    noticed: Counter[tuple[str, str]]
    survivors: tuple[Survivor, ...]
    stale: tuple[Survivor, ...]
    """Explained as survivors, but noticed, or not there."""
    failing: Mapping[TestKey, str]
    """Tests that do not even pass with the function as it is: they tell nothing about mutants."""
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
        """Every survivor is explained, every explanation true, every function notices something, nothing fails."""
        return not (self.unexplained or self.stale or self.blind_functions or self.failing)


def mutants() -> tuple[str, ...]:
    """The names of all mutants, from the schema that host and runner share."""
    names = validator("run").schema["properties"]["protocol"]["properties"]["mutant"]["enum"]
    return tuple(name for name in names if name is not None)


def explanations_beside(manifest: Path) -> Path:
    """Where the explained survivors of a manifest stand unless the user says otherwise."""
    return manifest.parent / "survivors" / manifest.name


def audit(plan: RunPlan, chosen: Sequence[str], explanations: Path, reporter: Reporter) -> Audit:
    """Audits the manifest of a plan with one target by the ``chosen`` mutants.

    Raises what a run of the target raises, and BadInput for a file of explanations that is none of this manifest.
    """
    (target,) = plan.targets
    manifest = read_document(plan.arguments[target.framework].manifest, "manifest").data["name"]
    explained = read_explanations(explanations, manifest)
    reporter.say("the functions as they are")
    plain, selection = _outcomes(plan, None, reporter)
    passing = {key for key, (outcome, _) in plain.items() if outcome == "passed"}
    applicable: Counter[tuple[str, str]] = Counter()
    noticed: Counter[tuple[str, str]] = Counter()
    survivors = []
    for mutant in chosen:
        reporter.say(f"the functions broken: {mutant}")
        broken, _ = _outcomes(plan, mutant, reporter)
        for function, test in sorted(passing & set(broken)):
            outcome, _ = broken[function, test]
            if outcome == "skipped":
                continue
            applicable[function, mutant] += 1
            if outcome == "passed":
                reason = explained.get((function, test, mutant), "")
                survivors.append(Survivor(function, test, mutant, reason))
            else:
                noticed[function, mutant] += 1
    seen = {survivor.key for survivor in survivors}
    stale = [
        Survivor(*key, reason)
        for key, reason in explained.items()
        if key not in seen and key[2] in chosen and (key[:2] in passing or not selection)
    ]
    return Audit(
        target=target.name,
        manifest=manifest,
        tests=Counter(function for function, _ in plain),
        applicable=applicable,
        noticed=noticed,
        survivors=tuple(survivors),
        stale=tuple(stale),
        failing={key: why for key, (outcome, why) in plain.items() if outcome not in ("passed", "skipped")},
        skipped={key: why for key, (outcome, why) in plain.items() if outcome == "skipped"},
    )


def read_explanations(path: Path, manifest: str) -> dict[tuple[str, str, str], str]:
    """The reasons by function, test and mutant; none where there is no such file. Raises BadInput."""
    if not path.exists():
        return {}
    data = read_document(path, "survivors").data
    if data["manifest"] != manifest:
        raise BadInput(
            f"{shown(path)}: $.manifest: found {json.dumps(data['manifest'])}, expected {json.dumps(manifest)}",
            "Give the file of this manifest's survivors.",
        )
    return {(entry["function"], entry["test"], entry["mutant"]): entry["reason"] for entry in data["survivors"]}


def _outcomes(plan: RunPlan, mutant: str | None, reporter: Reporter) -> tuple[Outcomes, bool]:
    """The outcomes of one run, and whether it was of a selection of functions."""
    (framework,) = plan.arguments
    arguments = replace(plan.arguments[framework], mutant=mutant)
    (result,) = run_targets(replace(plan, arguments={framework: arguments}), reporter)
    if result.error or result.run_file is None:
        raise result.error or BadInput("the run left no run file")
    run = read_document(result.run_file, "run").data
    return {
        (row["function"], row["test"]): (row["outcome"], row["reason"] or (row["error"] or {}).get("message", ""))
        for row in run["results"]
    }, bool(run["manifest"]["selection"])
