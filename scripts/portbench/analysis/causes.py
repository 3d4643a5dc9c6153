"""Why tests did not pass on a configuration: the shortest list of causes that together explain every one of them.

A cause explains many tests with one line: nearly all tests with a dtype fail ("all complex128"), or nearly all of a
module; an operation has no kernel, or none for a dtype; a message is the same. First come the dtypes and modules of
which nearly everything fails, then operations and messages; among these always the one that explains most of what is
left. So each test is in one cause, and the counts add up. Needs test_facts.sql, and the views of
``portbench.study.summary.analyse``. Text comes out of run files: printers escape it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.analysis.rate_model import Uses
from portbench.study.summary import Row, fetch_dicts
from portbench.util.sql import load_sql
from portbench.util.text import pluralize, shortened

NEARLY_ALL = 0.9
"""A trait or a module explains failures if at least this share of its tests fails."""
LEAST_FUNCTIONS = 3
"""... of at least so many functions."""
MOST_OTHERS = 0.5
"""A trait explains failures if at most this share of the same functions' other tests fails."""
_GRADIENT = "gradient"
_MOST_NAMED = 4
_LONGEST = 160

TRAIT, MODULE, OPERATION, MESSAGE = "trait", "module", "operation", "message"
KINDS = (TRAIT, MODULE, OPERATION, MESSAGE)
"""What a cause is: a dtype or another parameter of tests; a module; an operation, or a dtype that operations lack; a
message."""


@dataclass(frozen=True)
class Cause:
    """Tests of one configuration that did not pass for one reason. ``kind``: one of KINDS; ``words`` say the reason;
    ``categories``: the most frequent first. ``functions``: names, sorted; ``example``: a function and a test.
    ``uses``: the uses of these functions in a corpus; None where they are not known."""

    kind: str
    words: str
    categories: tuple[str, ...]
    tests: int
    functions: tuple[str, ...]
    example: tuple[str, str]
    uses: int | None = None


@dataclass(frozen=True)
class _Group:
    """Failing tests with the same traits, module, operation and message."""

    traits: tuple[str, ...]
    module: str
    operation: str | None
    said: str
    category: str
    tests: int
    functions: frozenset[str]
    example: tuple[str, str]


@dataclass(frozen=True)
class _Candidate:
    """What may explain tests. A trait or a module has the numbers of its tests that ``ran`` and ``failed``."""

    kind: str
    name: str
    ran: int = 0
    failed: int = 0


def causes(connection: duckdb.DuckDBPyConnection, uses: Uses | None = None) -> dict[Configuration, tuple[Cause, ...]]:
    """The causes of each configuration of which a test did not pass: the order in which they were found, which is
    nearly that of their tests."""
    connection.execute(load_sql("analysis", "test_facts"))
    connection.execute(load_sql("analysis", "causes"))
    groups: dict[Configuration, list[_Group]] = {}
    for row in fetch_dicts(connection, "FROM caused_groups ORDER BY ALL"):
        groups.setdefault(Configuration.of(row), []).append(_group(row))
    wide: dict[Configuration, list[_Candidate]] = {}
    for row in fetch_dicts(connection, "FROM failing_traits ORDER BY ALL"):
        if _is_nearly_all(row) and row["others_failed"] <= MOST_OTHERS * row["others"]:
            wide.setdefault(Configuration.of(row), []).append(
                _Candidate(TRAIT, row["trait"], row["ran"], row["failed"])
            )
    for row in fetch_dicts(connection, "FROM failing_modules ORDER BY ALL"):
        if _is_nearly_all(row):
            wide.setdefault(Configuration.of(row), []).append(
                _Candidate(MODULE, row["module"], row["ran"], row["failed"])
            )
    return {side: tuple(_cover(side, groups[side], wide.get(side, ()), uses)) for side in sorted(groups)}


def _is_nearly_all(row: Row) -> bool:
    return bool(row["failed"] >= NEARLY_ALL * row["ran"] and row["functions"] >= LEAST_FUNCTIONS)


def _group(row: Row) -> _Group:
    return _Group(
        traits=tuple(row["traits"]),
        module=row["module"],
        operation=row["operation"],
        said=row["said"],
        category=row["category"],
        tests=row["tests"],
        functions=frozenset(row["functions"]),
        example=(row["example"]["function"], row["example"]["test"]),
    )


def _cover(
    side: Configuration, groups: Sequence[_Group], wide: Sequence[_Candidate], uses: Uses | None
) -> Iterator[Cause]:
    """Takes the candidate that explains most of the tests that are left, until none is left."""
    members: dict[_Candidate, set[int]] = {candidate: set() for candidate in wide}
    for number, group in enumerate(groups):
        for candidate in _candidates(group):
            members.setdefault(candidate, set()).add(number)
        for candidate in wide:
            if _is_in(group, candidate):
                members[candidate].add(number)
    left = {candidate: sum(groups[number].tests for number in numbers) for candidate, numbers in members.items()}
    of_group: dict[int, list[_Candidate]] = {}
    for candidate, numbers in members.items():
        for number in numbers:
            of_group.setdefault(number, []).append(candidate)
    while any(left.values()):
        best = min(left, key=lambda one: (_is_later(one, left[one]), -left[one], KINDS.index(one.kind), one.name))
        taken = [number for number in sorted(members[best]) if number in of_group]
        yield _cause(side, best, [groups[number] for number in taken], left[best], uses)
        for number in taken:
            for candidate in of_group.pop(number):
                left[candidate] -= groups[number].tests


def _is_later(candidate: _Candidate, left: int) -> bool:
    """Dtypes and modules come first, unless others of them have explained most of their tests."""
    return not left or 2 * left < (candidate.failed or 3 * left)


def _candidates(group: _Group) -> Iterator[_Candidate]:
    if group.operation is None:
        yield _Candidate(MESSAGE, group.said)
        return
    yield _Candidate(OPERATION, group.operation)
    if group.category == "type":
        for dtype in _dtypes(group):
            yield _Candidate(OPERATION, f"for {dtype}")


def _dtypes(group: _Group) -> list[str]:
    return [trait for trait in group.traits if "=" not in trait and trait != _GRADIENT]


def _is_in(group: _Group, wide: _Candidate) -> bool:
    return wide.name in group.traits if wide.kind == TRAIT else f"{group.module}.".startswith(f"{wide.name}.")


def _cause(
    side: Configuration, candidate: _Candidate, groups: Sequence[_Group], tests: int, uses: Uses | None
) -> Cause:
    categories: Counter[str] = Counter()
    for group in groups:
        categories[group.category] += group.tests
    functions = sorted(frozenset().union(*(group.functions for group in groups)))
    return Cause(
        kind=candidate.kind,
        words=_words(candidate, groups),
        categories=tuple(sorted(categories, key=lambda name: (-categories[name], name))),
        tests=tests,
        functions=tuple(functions),
        example=min(group.example for group in groups),
        uses=sum(uses.get((side.framework, name), 0) for name in functions) if uses is not None else None,
    )


def _words(candidate: _Candidate, groups: Sequence[_Group]) -> str:
    if candidate.kind == MESSAGE:
        return shortened(candidate.name, _LONGEST)
    if candidate.kind == OPERATION:
        return _missing_kernel(candidate.name, groups)
    what = "tests of gradients" if candidate.name == _GRADIENT else candidate.name
    what = f"tests of {what}" if candidate.kind == MODULE else what
    if candidate.failed == candidate.ran:
        return f"all {what}"
    return f"nearly all {what} ({candidate.failed:,} of {pluralize(candidate.ran, 'test')})"


def _missing_kernel(name: str, groups: Sequence[_Group]) -> str:
    """``no kernel for int8: aten::mm, aten::mv``, ``no kernel for int8, int16: aten::mm``, or ``no kernel: aten::mm``
    where it is missing altogether."""
    operations, dtypes = Counter[str](), Counter[str]()
    for group in groups:
        operations[str(group.operation)] += group.tests
        if group.category == "type":
            dtypes.update(dict.fromkeys(_dtypes(group), group.tests))
    said = name.removeprefix("for ") if name.startswith("for ") else _some(dtypes)
    return f"no kernel for {said}: {_some(operations)}" if said else f"no kernel: {_some(operations)}"


def _some(counts: Mapping[str, int]) -> str:
    """The most frequent names."""
    found = sorted(counts, key=lambda name: (-counts[name], name))
    more = f" and {pluralize(len(found) - _MOST_NAMED, 'other')}" if len(found) > _MOST_NAMED else ""
    return ", ".join(found[:_MOST_NAMED]) + more
