"""Which mutants a run tries in a test: the built-in ones that it was asked for, or those of a user's file."""

from __future__ import annotations

from typing import Collection, Mapping, Protocol, Sequence

from runners.core.errors import BadInput
from runners.core.process.plan import PlannedTest
from runners.core.process.settings import Settings
from runners.core.process.workers import Workers
from runners.core.result import TestResult


class Chosen(Protocol):
    """What runners.core.process.mutation_run asks."""

    def left(self, function: str) -> Sequence[str]:
        """The names of the mutants that a test of this function is still to be tried with."""

    def worth_trying(self, left: Sequence[str], possible: Collection[str]) -> Sequence[str]:
        """Those of them that can differ in a test, of which the worker said what is ``possible``."""

    def take(self, name: str, result: TestResult) -> None:
        """Takes the result of a test with a mutant."""

    def recorded(self, name: str) -> str | Mapping[str, str]:
        """What a run file says of a mutant."""


def chosen(settings: Settings, tests: Sequence[PlannedTest], workers: Workers) -> Chosen:
    """The mutants that the settings ask for. Raises BadInput for a file that holds no mutants of these tests."""
    if settings.own_mutants is None:
        return _BuiltIn(settings.mutants)
    functions = sorted({planned.test.function for planned in tests if planned.removed is None})
    request = {
        "do": "describe_mutants",
        "own_mutants": str(settings.own_mutants),
        "functions": functions,
        "is_selection": bool(settings.selection),
    }
    worker = workers.current()
    reply = worker.ask(request, settings.timeout_s)
    # What the file did to the framework when it was imported and its mutants were applied ends with the worker.
    workers.retire()
    if reply.message is None:
        said = worker.capture.take()["text"].strip()
        raise BadInput(f"{settings.own_mutants}: importing it ended the worker or took too long\n{said}")
    if "mistake" in reply.message:
        raise BadInput(reply.message["mistake"], reply.message["remedy"])
    return _Own(reply.message["mutants"])


class _BuiltIn:
    """Each is tried in every test in which it can differ."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def left(self, function: str) -> Sequence[str]:
        return self._names

    def worth_trying(self, left: Sequence[str], possible: Collection[str]) -> Sequence[str]:
        return [name for name in left if name in possible]

    def take(self, name: str, result: TestResult) -> None:
        pass

    def recorded(self, name: str) -> str:
        return name


class _Own:
    """Each is of one function, and tried until a test notices it. ``described``: see runners.core.mutants.own."""

    def __init__(self, described: Sequence[Mapping[str, str]]) -> None:
        self._facts = {each["name"]: dict(each) for each in described}
        self._noticed: set[str] = set()

    def left(self, function: str) -> Sequence[str]:
        return [
            name for name, facts in self._facts.items() if facts["function"] == function and name not in self._noticed
        ]

    def worth_trying(self, left: Sequence[str], possible: Collection[str]) -> Sequence[str]:
        return left

    def take(self, name: str, result: TestResult) -> None:
        if result["outcome"] == "failed":
            self._noticed.add(name)

    def recorded(self, name: str) -> Mapping[str, str]:
        return self._facts[name]
