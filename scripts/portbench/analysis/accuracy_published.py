"""What was foretold of a device held against what the study of 2023 published of it: rates, statuses of functions, and
what explains the difference.

The study had other tests, and most often other versions: functions are compared, not tests, and only those of its
sample. Needs the views of ``portbench.analysis.analyse``. Text out of run files is in it: printers escape it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.analysis.foretold import Foretold
from portbench.analysis.rates import FunctionRates
from portbench.analysis.strata import strata
from portbench.published import paper as published
from portbench.study.summary import STATUSES, Row, fetch_dicts
from portbench.util.text import pluralize, shortened

OUTCOMES = ("hit", "miss", "false alarm", "both pass", "undecided", "not foretold")

HOW_BESIDE = (
    "Of the functions of the study's sample alone. The study prints no status of a function: one with a latency in its "
    "Tables 5-7 passed some test on both devices; one without failed completely on either, or had nothing timed. "
    "undecided: that does not tell."
)

_COLUMNS = {"tpu-v3": ("tpu", "v3-8"), "gpu-predicted": ("gpu", "T4")}
"""The study's column of a predicted device: its Tables 1 and 8 are of these two models."""
_KEY = ("framework", "version", "device", "machine", "sync")
_LONGEST_REASON = 200


@dataclass(frozen=True)
class FunctionBeside:
    """A function of the sample. ``possible``: the statuses that it may have had in the study; ``outcome`` is one of
    OUTCOMES, undecided where the study does not tell enough. ``categories``: why tests are foretold to fail."""

    function: str
    listed_as: str
    status: str
    passed: int
    ran: int
    categories: tuple[str, ...]
    possible: frozenset[str]
    outcome: str


@dataclass(frozen=True)
class PublishedComparison:
    """A predicted side and the study's column of its framework on ``device`` ("gpu", "tpu"), a ``model``.

    ``rates`` are of the functions of the study's sample; ``because``: sentences on what explains the difference."""

    foretold: Foretold
    device: str
    model: str
    rates: FunctionRates
    functions: tuple[FunctionBeside, ...]
    because: tuple[str, ...]

    @property
    def column(self) -> str:
        """The study's column in words."""
        framework = self.foretold.side.framework
        return f"{framework} {published.versions()[framework]} on {self.model}"

    @property
    def percent(self) -> Mapping[str, int]:
        """The study's Table 1: percent of functions by status."""
        return published.table1(self.foretold.side.framework, self.device) or {}

    @property
    def counts(self) -> Mapping[str, int]:
        """The study's Table 8: functions by status, and their total."""
        return published.table8(self.foretold.side.framework, self.device) or {}

    @property
    def outcomes(self) -> Mapping[str, int]:
        """How many functions have which outcome."""
        return Counter(function.outcome for function in self.functions)


def beside_published(
    connection: duckdb.DuckDBPyConnection, found: Iterable[Foretold]
) -> tuple[PublishedComparison, ...]:
    """Those predicted sides of which the study has a column, if a function of its sample has a result on them."""
    listed = {key: stratum.listed_as for key, stratum in strata(connection).items()}
    told = []
    for one in found:
        device, model = _COLUMNS.get(one.side.device, ("", ""))
        possible = published.possible_statuses(one.side.framework, device)
        if possible is None:
            continue
        categories = _of_side(connection, "categories", one.side)
        functions = tuple(_functions(_of_side(connection, "functions", one.side), categories, possible, listed))
        if functions:
            off_device = {
                row["function"]
                for row in _of_side(connection, "placements", one.side)
                if row["seen"] in ("host", "mixed")
            }
            counts = Counter(function.status for function in functions)
            rates = FunctionRates({status: counts[status] for status in STATUSES})
            because = tuple(_because(one, device, model, functions, categories, len(off_device)))
            told.append(PublishedComparison(one, device, model, rates, functions, because))
    return tuple(told)


def outcome(status: str, possible: frozenset[str]) -> str:
    """What a predicted status is beside those that the study allows for."""
    if status == "none":
        return "not foretold"
    if status == "pass":
        return "both pass" if possible == {"pass"} else "miss" if "pass" not in possible else "undecided"
    if "pass" not in possible:
        return "hit"
    # Partial failure and success differ by the tests, unless the study says that nothing failed.
    return "false alarm" if status not in possible else "undecided"


def _functions(
    rows: Iterable[Row],
    categories: Iterable[Row],
    possible: Mapping[str, frozenset[str]],
    listed: Mapping[tuple[str, str], str],
) -> Iterator[FunctionBeside]:
    seen: dict[str, list[str]] = {}
    for row in categories:
        seen.setdefault(row["function"], []).append(row["seen"])
    for row in rows:
        name = listed.get((row["framework"], row["function"]), row["function"])
        if name in possible:
            yield FunctionBeside(
                function=row["function"],
                listed_as=name,
                status=row["status"],
                passed=row["passed"],
                ran=row["passed"] + row["failed"] + row["flaky"],
                categories=tuple(seen.get(row["function"], ())),
                possible=possible[name],
                outcome=outcome(row["status"], possible[name]),
            )


def _because(
    one: Foretold,
    device: str,
    model: str,
    functions: Sequence[FunctionBeside],
    categories: Iterable[Row],
    off_device: int,
) -> Iterator[str]:
    """First what follows from the run files, then what is known of the study. ``off_device`` counts functions."""
    framework, version = one.side.framework, one.side.version
    theirs = published.versions()[framework]
    versions = f"{framework} {version}" + ("" if version == theirs else f" here, {theirs} in the study")
    yield f"Versions: {versions}. Foretold: {'; '.join(one.by)}; published: measured on a {model}."
    refused: Counter[str] = Counter()
    for row in categories:
        refused[row["seen"]] += row["tests"]
    del refused["unavailable"]
    if refused:
        counts = ", ".join(f"{name.replace('_', ' ')} {tests:,}" for name, tests in refused.most_common())
        yield f"Tests that are foretold to fail, by category: {counts}."
    if one.tests["unknown"]:
        most, tests = next(iter(one.reasons.items()))
        yield (
            f"{one.tests['unknown']:,} of {pluralize(sum(one.tests.values()), 'test')} cannot be foretold, most often "
            f"({tests:,}) since {shortened(most, _LONGEST_REASON)}."
        )
    yield _by_latency(functions)
    if nothing := sum(function.status == "none" for function in functions):
        yield f"Functions of which nothing could be run or foretold: {nothing}."
    if off_device:
        yield f"Functions of which tests pass on the host, at least partly, and count as passing: {off_device}."
    for sentence in _sentences():
        if sentence["framework"] in (None, framework) and sentence["device"] in (None, device):
            yield sentence["says"]


def _by_latency(functions: Sequence[FunctionBeside]) -> str:
    """How functions are foretold to end that the study timed on both devices, and those that it did not."""

    def counts(found: Sequence[FunctionBeside]) -> str:
        statuses = Counter(function.status for function in found)
        return f"{statuses['complete']} fail completely, {statuses['partial']} partially, {statuses['pass']} pass"

    untimed = [function for function in functions if "complete" in function.possible]
    timed = [function for function in functions if "complete" not in function.possible]
    return (
        f"Foretold of the {len(untimed)} functions without a published latency, which failed completely on the T4 or "
        f"the v3-8 or timed nothing: {counts(untimed)}; of the {len(timed)} others: {counts(timed)}."
    )


def _of_side(connection: duckdb.DuckDBPyConnection, view: str, side: Configuration) -> list[Row]:
    """The rows of a view of the analysis that are of a side, without those of successors."""
    rows = fetch_dicts(connection, f"FROM {view} WHERE successor_of = '' ORDER BY ALL")
    return [row for row in rows if tuple(row[name] for name in _KEY) == side.key]


@cache
def _sentences() -> list[dict[str, Any]]:
    text = (resources.files("portbench.published") / "predicted_against_published.json").read_text("utf-8")
    found: list[dict[str, Any]] = json.loads(text)["sentences"]
    return found
