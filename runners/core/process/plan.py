"""Which tests a run consists of, in which order: from the manifest and the functions that this version has."""

from __future__ import annotations

import dataclasses
import itertools
import random
from dataclasses import dataclass
from typing import Iterator, Mapping, Sequence, Tuple

from runners.core.errors import BadInput, FrameworkFailed, NothingRan
from runners.core.manifest import Manifest, attributes
from runners.core.manifest_grids import Test
from runners.core.process.settings import Settings
from runners.core.process.workers import STARTS_AGAIN, Workers
from runners.core.public import names
from runners.core.result import Message

RESOLVE_LIMIT_S = 600.0
"""For looking up all names of a manifest, which may import parts of the framework."""

TestKey = Tuple[str, str]


@dataclass(frozen=True)
class PlannedTest:
    """One test in one pass. ``run`` counts the passes from 1; ``request`` is what a worker is asked to do.
    ``removed`` is the reason why this version cannot run it, or None: its function is not there."""

    test: Test
    run: int
    request: Message
    removed: str | None = None

    @property
    def key(self) -> TestKey:
        """Function and test: the same in every pass."""
        return self.test.function, self.test.id

    def with_request(self, **changes: object) -> PlannedTest:
        """The same test, run in another way."""
        return dataclasses.replace(self, request={**self.request, **changes})


class Plan:
    """The tests of a run. ``missing`` maps the functions that this version lacks to the reason. Nothing is timed for a
    device that is predicted, and another pass would find the same."""

    def __init__(self, settings: Settings, tests: Sequence[Test], missing: Mapping[str, str]) -> None:
        self.tests = tests
        self._settings = settings
        self._missing = missing
        self._is_predicted = settings.device in names.framework(settings.framework).PREDICTED

    @property
    def passes(self) -> int:
        """The number of passes that have a test."""
        return self._settings.runs if any(map(self._is_timed, self.tests)) else 1

    @property
    def results(self) -> int:
        """The number of results of all passes."""
        return len(self.tests) + sum(map(self._is_timed, self.tests)) * (self.passes - 1)

    def timed(self, run: int) -> Iterator[PlannedTest]:
        """The tests of one pass that are timed, in their order: the manifest's, or shuffled by the seed and the number
        of the pass."""
        return self._planned(run, timed=True)

    def untimed(self) -> Iterator[PlannedTest]:
        """The tests that are not timed. They run once."""
        return self._planned(1, timed=False)

    def _is_timed(self, test: Test) -> bool:
        return test.timed and not self._is_predicted

    def _planned(self, run: int, timed: bool) -> Iterator[PlannedTest]:
        for test in _ordered(self.tests, self._settings.shuffle, run):
            if self._is_timed(test) == timed:
                yield PlannedTest(test, run, _request(self._settings, test), self._missing.get(test.function))


def plan_tests(settings: Settings, manifest: Manifest, workers: Workers) -> Plan:
    """Looks up the manifest's names in the framework.

    A missing function stays in the plan as removed; its tests are also planned with the first of its successors
    that this version has. Raises BadInput if a name is a mistake, NothingRan if there is no function to run.
    """
    found = _resolved_names(settings, manifest, workers)
    worker = workers.current()
    absent: Mapping[str, str] = found["missing"]
    missing = {name: absent[name] for name in manifest.functions if name in absent}
    mistakes: dict[str, str] = dict(found["forbidden"])
    if manifest.written_for is not None and manifest.written_for == worker.ready["version"]:
        mistakes.update(missing)
    if mistakes:
        raise _mistaken_name(manifest, mistakes)
    successors = _successors(manifest, missing, absent)
    if len(missing) == len(manifest.functions) and not successors:
        raise NothingRan(
            f"{manifest.path}: $.functions: {settings.framework} {worker.ready['version']} has none of its functions",
            "Give a manifest that was written for this version.",
        )
    return Plan(settings, [*manifest.tests, *_with_successors(manifest.tests, successors)], missing)


def _resolved_names(settings: Settings, manifest: Manifest, workers: Workers) -> Message:
    """``missing`` and ``forbidden`` names with their reasons; see runners.core.testing.cases.resolve_names."""
    expected = [test.parameters["expect"] for test in manifest.tests if test.case == "call"]
    request = {
        "do": "resolve_names",
        "functions": [*manifest.functions, *itertools.chain.from_iterable(manifest.successors.values())],
        "attributes": sorted({name for test in manifest.tests for name in attributes(test.parameters)}),
        "private_names": settings.private_names,
        "cases": sorted({test.case for test in manifest.tests}),
        "references": sorted({(key, e[key]) for e in expected for key in ("numpy", "scipy", "property") if key in e}),
    }
    worker = workers.current()
    reply = worker.ask(request, RESOLVE_LIMIT_S)
    for _ in range(STARTS_AGAIN):
        if reply.exit is None or reply.exit.code is not None:
            break
        # It was killed.
        workers.retire()
        worker = workers.current()
        reply = worker.ask(request, RESOLVE_LIMIT_S)
    if reply.message is None:
        said = worker.capture.take()["text"].strip()
        raise FrameworkFailed("looking up the manifest's functions ended the worker or took too long\n" + said)
    return reply.message


def _mistaken_name(manifest: Manifest, mistakes: Mapping[str, str]) -> BadInput:
    name, reason = next(iter(mistakes.items()))
    more = f" (and {len(mistakes) - 1} more such names)" if len(mistakes) > 1 else ""
    place = manifest.places.get(name, "$.functions")
    return BadInput(f"{manifest.path}: {place}: {name}: {reason}{more}", "Fix the name in the manifest.")


def _successors(manifest: Manifest, missing: Mapping[str, str], absent: Mapping[str, str]) -> Mapping[str, str]:
    """The first successor that this version has, of each missing function that has one."""
    first = {
        name: next((successor for successor in manifest.successors.get(name, ()) if successor not in absent), "")
        for name in missing
    }
    return {name: successor for name, successor in first.items() if successor}


def _with_successors(tests: Sequence[Test], successors: Mapping[str, str]) -> Sequence[Test]:
    return [
        dataclasses.replace(test, function=successors[test.function], successor_of=test.function)
        for test in tests
        if test.function in successors
    ]


def _ordered(tests: Sequence[Test], seed: int | None, run: int) -> Sequence[Test]:
    if seed is None:
        return tests
    return random.Random(f"{seed}/{run}").sample(tests, len(tests))


def _request(settings: Settings, test: Test) -> Message:
    return {
        "do": "test",
        "function": test.function,
        "case": test.case,
        "parameters": test.parameters,
        "protocol": settings.protocol,
        "steady_budget_s": settings.steady_budget_s,
        "mutant": None,
        "own_mutants": settings.own_mutants and str(settings.own_mutants),
        "sync": settings.sync,
        "sync_check": None,
        "timed": test.timed,
        "counts_bytes": test.size is not None,
        "calls_again": True,
    }
