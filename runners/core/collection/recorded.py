"""Makes tests of recorded calls: those of examples in docstrings, and of the test suites of installed packages.

Recorded and tried in forks of the process that collects, which has imported the framework and computed nothing. Of a
function, at most ``samples`` calls become tests, those of its own docstring first. Each mutation (see
runners.core.testing.derived_calls) is added to the first of them with which the CPU accepts it: a function has at most
one test of each.
"""

from __future__ import annotations

import importlib
import json
import mmap
import re
import time
from functools import partial
from typing import Any, Callable, Dict, Iterable, Mapping, NamedTuple, Sequence

from runners.core.adapter import Adapter
from runners.core.collection import forks, recording
from runners.core.collection.examples import Documented, documented
from runners.core.collection.recording import Recorded
from runners.core.collection.sources import DOCS, SUITE, label
from runners.core.manifest_grids import leads_outside
from runners.core.public import permitted
from runners.core.public.functions import Function, ranked
from runners.core.public.library import Library
from runners.core.public.texts import signature
from runners.core.selection import Selection
from runners.core.testing import derived_calls
from runners.core.testing.replay import replay
from runners.core.testing.trial import Trial

TEST_LIMIT_S = 10.0
"""Of the processor, for one call to be made and compared."""
_MOST_ENDED = 3
"""Forks of one function that may be ended by its calls: no more of these are tried then."""

_TRIES = 4
"""How many calls of a function are tried for each that becomes a test."""
_LONGEST_REASON = 300
_SEED = 20230401

Data = Dict[str, Any]


class Collected(NamedTuple):
    """Tests by function; what was left out, with the reasons; how many entries the source has."""

    tests: Mapping[str, Sequence[Data]]
    left_out: Sequence[Data]
    entries: int


class Collector:
    """Collects from one recorded source. ``step`` gets what is done next, and how much of how much is done."""

    def __init__(
        self,
        library: Library,
        framework: str,
        adapter: Adapter,
        most: int,
        selection: Selection,
        step: Callable[[str, int, int], None],
    ) -> None:
        self._library = library
        self._framework = framework
        self._adapter = adapter
        self._most = most
        self._selection = selection
        self._step = step
        self._left_out: list[Data] = []

    def collected(self, source: str, functions: Sequence[Function]) -> Collected:
        """The tests of a source. Raises NotRecorded for a suite that cannot be recorded."""
        self._left_out = []
        if source == DOCS:
            own = [each for each in documented(functions) if any(map(self._selection.has_function, each.names))]
            calls = self._of_docstrings(own)
            count = len(own)
        else:
            package = source[len(SUITE) :]
            found = recording.of_suite(package, self._framework, lambda: self._step(source, 0, 1))
            calls, count = [(False, call) for call in found.calls], len({call.entry for call in found.calls})
            for reason in sorted(set(found.failures)):
                self._leave_out(source, package, reason)
        by_function: dict[str, list[Recorded]] = {}
        for _, call in sorted(calls, key=lambda each: not each[0]):
            by_function.setdefault(call.function, []).append(call)
        lent = _lend(by_function, functions)
        wanted = sorted(filter(self._selection.has_function, by_function))
        tests = {}
        for number, name in enumerate(wanted):
            tick = partial(self._step, f"{source}: {name}", len(wanted) + number, 2 * len(wanted))
            made = self._tests(source, name, _distinct(by_function[name]), tick, name in lent)
            if made:
                tests[name] = made
        return Collected(tests, self._left_out, count)

    def _of_docstrings(self, functions: Sequence[Documented]) -> list[tuple[bool, Recorded]]:
        """The calls of examples, each with whether it is one of the function whose docstring it is in."""
        calls = []
        for number, function in enumerate(functions):
            found = recording.of_docstring(
                function,
                self._framework,
                self._library.module,
                lambda: self._adapter.seed(_SEED),
                partial(self._step, f"{DOCS}: examples of {function.name}", number, 2 * len(functions)),
            )
            calls += [(call.function in function.names, call) for call in found.calls]
            if not found.calls:
                reasons = found.failures or ["no example calls a function that can be recorded"]
                self._leave_out(DOCS, function.name, reasons[0])
        return calls

    def _tests(
        self, source: str, function: str, calls: Sequence[Recorded], tick: Callable[[], None], is_lent: bool
    ) -> list[Data]:
        """The tests of one function, tried in forks: what ends a fork is left out, and another one goes on behind.

        ``is_lent``: the calls are of a function of the same name.
        """
        try:
            permitted.function(function, self._framework)
        except Exception as error:
            if not is_lent:
                self._leave_out(source, function, str(error))
            return []
        tried = _Tried(calls[: _TRIES * self._most], self._most)
        for _ in range(_MOST_ENDED):
            attempt: tuple[int, str] | None = None
            ended = ""
            for message in forks.messages(lambda send: self._try(function, tried, send), TEST_LIMIT_S):
                tick()
                if "trying" in message:
                    attempt = message["trying"][0], message["trying"][1]
                elif "passed" in message:
                    tried.add(message["passed"], "")
                elif "failed" in message:
                    tried.add(message["failed"], message["reason"])
                ended = message.get(forks.ENDED, "")
            if not ended:
                break
            if attempt is None or attempt in tried.reasons:
                # It is not one of the calls that ends the fork.
                self._leave_out(source, function, ended)
                break
            tried.add(attempt, ended)
        for (number, mutation), reason in tried.reasons.items():
            # That the CPU refuses what nobody called is no finding. That it contradicts itself, or ends, is one.
            was_called = mutation == derived_calls.NONE and not is_lent
            if reason and (was_called or not _is_refusal(reason)):
                name = f"{tried.calls[number].entry} {tried.calls[number].position}: {function}"
                self._leave_out(source, name, reason, [] if mutation == derived_calls.NONE else [mutation])
        return [self._test(source, call, kept) for call, kept in tried.kept()]

    def _test(self, source: str, call: Recorded, kept: Sequence[str]) -> Data:
        params = {
            "source": label(source),
            "entry": call.entry,
            "position": call.position,
            "sha256": call.sha256,
            **call.arguments,
            "mutation": "$mutation",
        }
        return {"case": f"{self._framework}.sampled:replay", "grid": {"mutation": list(kept)}, "params": params}

    def _try(self, function: str, tried: _Tried, send: forks.Send) -> None:
        """Tries in a fork what has not been tried."""
        called = permitted.function(function, self._framework)
        device = self._adapter.open_device("cpu")
        facts: Any = importlib.import_module(f"runners.{self._framework}.examples")
        while True:
            attempt = tried.next(facts.MUTATIONS)
            if attempt is None:
                return
            number, mutation = attempt
            arguments = tried.calls[number].arguments
            try:
                derived_calls.of_arguments(arguments, mutation)
            except Exception as error:
                tried.add(attempt, f"BadInput: {error}")
                continue
            send({"trying": [number, mutation]})
            reason = self._reason(called, device, arguments, mutation)
            tried.add(attempt, reason)
            send({"failed": [number, mutation], "reason": reason} if reason else {"passed": [number, mutation]})

    def _reason(self, called: Any, device: Any, arguments: Mapping[str, Any], mutation: str) -> str:
        """Why a call is no test, or nothing."""
        trial = Trial(
            self._framework,
            called,
            self._adapter,
            device,
            mmap.mmap(-1, 1),
            time.perf_counter_ns,
            observer=lambda call: call(),
        )
        try:
            with self._adapter.scope(device):
                self._adapter.seed(_SEED)
                if mutation in derived_calls.DTYPES and trial.dtype_name(trial.tensor([1], mutation)) != mutation:
                    return f"BadInput: the framework holds no {mutation}"
                replay(trial, **derived_calls.of_arguments(arguments, mutation))
        except Exception as error:
            said = str(error).strip().splitlines() or [""]
            return f"{type(error).__name__}: {said[0]}"[:_LONGEST_REASON]
        return "" if trial.checks else "MisusedTrial: the call gives nothing to compare"

    def _leave_out(self, source: str, entry: str, reason: str, dtypes: Sequence[str] = ()) -> None:
        reason = " ".join(reason.split())[:_LONGEST_REASON]
        self._left_out.append({"source": label(source), "entry": entry, "dtypes": list(dtypes), "reason": reason})


class _Tried:
    """Calls of one function, and what became of those that were tried, by their number and mutation."""

    def __init__(self, calls: Sequence[Recorded], most: int) -> None:
        self.calls = calls
        self.reasons: dict[tuple[int, str], str] = {}
        self._most = most

    def add(self, attempt: Sequence[Any], reason: str) -> None:
        """Notes why a call with a mutation, by its number and name, is no test; an empty reason for one that is."""
        number, mutation = attempt
        self.reasons[number, mutation] = reason

    def next(self, known: Sequence[str]) -> tuple[int, str] | None:
        """What to try next: calls as they are, then each mutation with one call after another until one is accepted."""
        for number in range(len(self.calls)):
            if len(self._passed(derived_calls.NONE)) < self._most and (number, derived_calls.NONE) not in self.reasons:
                return number, derived_calls.NONE
        for mutation in known:
            if not self._passed(mutation):
                for number in self._passed(derived_calls.NONE):
                    if (number, mutation) not in self.reasons:
                        return number, mutation
        return None

    def _passed(self, mutation: str) -> list[int]:
        found = (number for (number, other), reason in self.reasons.items() if other == mutation and not reason)
        return sorted(found)

    def kept(self) -> list[tuple[Recorded, list[str]]]:
        """The calls that are tests, each with its mutations; the call itself is the first."""
        return [
            (
                self.calls[number],
                [mutation for (other, mutation), reason in self.reasons.items() if other == number and not reason],
            )
            for number in self._passed(derived_calls.NONE)
        ]


def _lend(calls: dict[str, list[Recorded]], functions: Sequence[Function]) -> set[str]:
    """Adds the calls of a function to each public one of the same name elsewhere, or with an underscore behind it, that
    has no calls: ``torch.abs_`` those of ``torch.abs``. Their first parameters must have the same name, where it is
    known. The CPU says whether it accepts them. Returns the names of these functions."""
    known = {name: function for function in functions for name in function.names}
    lenders: dict[str, list[str]] = {}
    for name in sorted(calls):
        lenders.setdefault(_last(name), []).append(name)
    lent = set()
    for function in functions:
        if function.kind != "class" and not any(name in calls for name in function.names):
            name = ranked(function.names, function.qualname)[0]
            first = _first_parameter(function)
            for lender in lenders.get(_last(name)) or lenders.get(_last(name).rstrip("_")) or ():
                if first in ("", _first_parameter(known[lender]) if lender in known else ""):
                    calls.setdefault(name, []).extend(call._replace(function=name) for call in calls[lender])
                    lent.add(name)
    return lent


def _first_parameter(function: Function) -> str:
    """The name of the first parameter; empty where it is not known."""
    found = re.match(r"\((\w+)", signature(function.value)[0] or "")
    return found[1] if found else ""


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _is_refusal(reason: str) -> bool:
    return not reason.startswith(("the process", "Mismatch", "AssertionError"))


def _distinct(calls: Iterable[Recorded]) -> list[Recorded]:
    """Calls with different arguments, and with texts that a manifest may have; the first of equal ones."""
    found: dict[str, Recorded] = {}
    for call in calls:
        if not leads_outside([call.arguments, call.entry]):
            found.setdefault(json.dumps(call.arguments, sort_keys=True), call)
    return list(found.values())
