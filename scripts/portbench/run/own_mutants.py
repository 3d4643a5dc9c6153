"""Runs the tests of a manifest with a user's own mutants, and finds those that no test notices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from portbench.formats.documents import read_document
from portbench.run.model import RunPlan
from portbench.run.mutation import Outcome, TestKey, mutant_runs
from portbench.run.mutation_terminal import print_list, reasons
from portbench.run.progress import Reporter
from portbench.util.text import escape_control


@dataclass(frozen=True)
class OwnMutant:
    """A mutant of a user's file. ``tried`` counts the tests until one noticed it, ``noticed_by``; None if none did."""

    function: str
    name: str
    class_name: str
    what: str
    tried: int
    noticed_by: str | None
    reason: str


@dataclass(frozen=True)
class OwnMutationTest:
    """The result. ``failing`` are tests that fail with the real function, with the reason: they tried no mutant."""

    target: str
    manifest: str
    mutants: tuple[OwnMutant, ...]
    failing: Mapping[TestKey, str]

    @property
    def missed(self) -> list[OwnMutant]:
        """The mutants that no test notices."""
        return [mutant for mutant in self.mutants if mutant.noticed_by is None]

    @property
    def by_class(self) -> Mapping[str, list[OwnMutant]]:
        """The mutants of each class, as the file orders the classes."""
        found: defaultdict[str, list[OwnMutant]] = defaultdict(list)
        for mutant in self.mutants:
            found[mutant.class_name].append(mutant)
        return found


def run_own_mutants(plan: RunPlan, file: Path, reporter: Reporter) -> OwnMutationTest:
    """Runs the manifest of a plan with one target, with the real functions and with each of the file's mutants.

    Raises what a run of the target raises: BadInput where the file is no file of mutants.
    """
    (target,) = plan.targets
    (arguments,) = plan.arguments.values()
    runs = mutant_runs(plan, replace(arguments, own_mutants=file.resolve()), reporter)
    real: Mapping[TestKey, Outcome] = {}
    mutants = []
    for run, outcomes in runs:
        facts = run["protocol"]["mutant"]
        if facts is None:
            real = outcomes
        else:
            mutants.append(_own_mutant(facts, outcomes))
    return OwnMutationTest(
        target=target.name,
        manifest=read_document(arguments.manifest, "manifest").data["name"],
        mutants=tuple(sorted(mutants, key=lambda mutant: (mutant.function, mutant.name))),
        failing={key: outcome.reason for key, outcome in real.items() if outcome.name == "failed"},
    )


def _own_mutant(facts: Mapping[str, str], outcomes: Mapping[TestKey, Outcome]) -> OwnMutant:
    noticed = [(test, outcome.reason) for (_, test), outcome in outcomes.items() if outcome.name == "failed"]
    test, reason = noticed[0] if noticed else (None, "")
    tried = sum(outcome.name != "skipped" for outcome in outcomes.values())
    return OwnMutant(facts["function"], facts["name"], facts["class"], facts["what"], tried, test, reason)


def print_own_mutants(test: OwnMutationTest, console: Console) -> None:
    """Prints how many mutants of each class were noticed, then those that were not."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("class")
    for heading in ("noticed", "%"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, group in [*test.by_class.items(), ("all", test.mutants)]:
        noticed = sum(mutant.noticed_by is not None for mutant in group)
        style = "" if noticed == len(group) else "red"
        table.add_row(escape_control(name), Text(f"{noticed}/{len(group)}", style), f"{100 * noticed / len(group):.1f}")
    console.print(table)
    name = escape_control(test.manifest)
    noticed = len(test.mutants) - len(test.missed)
    console.print(Text(f"{test.target}, {name}: {noticed} of {len(test.mutants)} mutants noticed"))
    print_list(console, "No test notices", _missed_lines(test.missed))
    print_list(console, "Fail with the real function, so no mutant was tried there", reasons(test.failing.items()))


def _missed_lines(missed: Iterable[OwnMutant]) -> Iterator[str]:
    for mutant in missed:
        tried = f"tests: {mutant.tried}" if mutant.tried else "no test passes with the real function"
        yield f"{mutant.function} {mutant.name}: {mutant.what} ({tried})"


def as_data(test: OwnMutationTest) -> dict[str, Any]:
    """The result as plain data."""
    return {
        "target": test.target,
        "manifest": test.manifest,
        "applicable": len(test.mutants),
        "noticed": len(test.mutants) - len(test.missed),
        "classes": [
            {"class": name, "noticed": sum(each.noticed_by is not None for each in group), "applicable": len(group)}
            for name, group in test.by_class.items()
        ],
        "mutants": [
            {
                "function": each.function,
                "name": each.name,
                "class": each.class_name,
                "what": each.what,
                "tests": each.tried,
                "noticed_by": each.noticed_by,
                "reason": each.reason or None,
            }
            for each in test.mutants
        ],
        "failing": [{"function": f, "test": t, "reason": why} for (f, t), why in test.failing.items()],
    }
