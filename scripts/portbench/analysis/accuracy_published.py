"""Compares what was predicted for a device with what the paper published of it: rates, statuses of functions, and
what explains the difference.

The paper had other tests, and most often other versions: functions are compared, not tests, and only those of its
sample. Needs the views of ``portbench.study.summary.analyse``. Its text comes out of run files: printers escape it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import duckdb

from portbench.analysis.accuracy import AGREEMENT, BOTH_PASS, FALSE_ALARM, MISSED, WRONG
from portbench.analysis.configurations import Configuration
from portbench.analysis.predictions import PredictedTarget
from portbench.analysis.rate_model import FunctionRates
from portbench.analysis.strata import strata
from portbench.published import disagreements, paper
from portbench.study.model import STATUS_TEXTS
from portbench.study.raw_2023 import RawOutcome, RawReport, read_raw_file, test_id
from portbench.study.summary import STATUSES, Row, fetch_dicts
from portbench.util.text import pluralize, shortened

UNDECIDED, NOT_PREDICTED = "undecided", "not predicted"

HOW_COMPARED = (
    "Of the functions of the paper's sample alone. Their status is that of the authors' pytest reports, by test file "
    "(PyTorch and TensorFlow). There is no report of JAX, and the paper prints no status: a function with a latency in "
    "its Tables 5-7 passed some test on both devices; one without failed completely on at least one, or had nothing "
    "timed. undecided: the paper does not say enough. published failure: the most frequent message of failing tests."
)

_COLUMNS = {"tpu-v3": ("tpu", "v3-8"), "gpu-predicted": ("gpu", "T4"), "gpu-t4": ("gpu", "T4")}
"""The paper's column of a predicted device: its Tables 1 and 8 are of these two models."""
_REPORTS = {("gpu", "T4"): "gpu_t4_outcomes.json.gz", ("tpu", "v3-8"): "tpu_v3_outcomes.json.gz"}
_LONGEST_REASON = 200


@dataclass(frozen=True)
class PublishedFunction:
    """A function of the sample. ``possible``: the statuses that it may have had in the paper; ``outcome`` is AGREEMENT
    to BOTH_PASS, UNDECIDED where the paper does not say enough, or NOT_PREDICTED. ``categories``: why tests are
    predicted to fail; ``failure``: the most frequent message of the paper's failing tests, empty where unknown.
    ``explanation``: why the prediction is a miss or a false alarm; None for other outcomes, and where nobody looked."""

    function: str
    listed_as: str
    status: str
    passed: int
    ran: int
    categories: tuple[str, ...]
    possible: frozenset[str]
    outcome: str
    failure: str = ""
    explanation: disagreements.Explanation | None = None

    @property
    def is_unexplained(self) -> bool:
        """Whether the prediction is a miss or a false alarm that nobody looked at."""
        return self.outcome in WRONG and self.explanation is None


@dataclass(frozen=True)
class PublishedComparison:
    """A predicted target and the paper's column of its framework on ``device`` ("gpu", "tpu"), a ``model``.

    ``rates`` are of the functions of the paper's sample; ``because``: sentences on what explains the difference."""

    predicted: PredictedTarget
    device: str
    model: str
    rates: FunctionRates
    functions: tuple[PublishedFunction, ...]
    because: tuple[str, ...]

    @property
    def column(self) -> str:
        """The paper's column in words."""
        framework = self.predicted.side.framework
        return f"{framework} {paper.versions()[framework]} on {self.model}"

    @property
    def percent(self) -> Mapping[str, int]:
        """The paper's Table 1: percent of functions by status."""
        return paper.table1(self.predicted.side.framework, self.device) or {}

    @property
    def counts(self) -> Mapping[str, int]:
        """The paper's Table 8: functions by status, and their total."""
        return paper.table8(self.predicted.side.framework, self.device) or {}

    @property
    def outcomes(self) -> Mapping[str, int]:
        """How many functions have which outcome."""
        return Counter(function.outcome for function in self.functions)

    @property
    def wrong(self) -> tuple[PublishedFunction, ...]:
        """The misses and false alarms, unexplained ones first."""
        found = (function for function in self.functions if function.outcome in WRONG)
        return tuple(sorted(found, key=lambda one: (not one.is_unexplained, one.outcome, one.listed_as)))


def compare_published(
    connection: duckdb.DuckDBPyConnection, targets: Iterable[PredictedTarget]
) -> tuple[PublishedComparison, ...]:
    """The predicted targets that the paper has a column of, if a function of its sample has a result on them."""
    listed = {key: stratum.listed_as for key, stratum in strata(connection).items()}
    found = (_compared(connection, one, listed) for one in targets)
    return tuple(one for one in found if one)


def _compared(
    connection: duckdb.DuckDBPyConnection, one: PredictedTarget, listed: Mapping[tuple[str, str], str]
) -> PublishedComparison | None:
    device, model = _COLUMNS.get(one.side.device, ("", ""))
    possible = paper.possible_statuses(one.side.framework, device)
    if possible is None:
        return None
    recorded = recorded_statuses(one.side.framework, device, model)
    possible = {**possible, **{name: frozenset((status,)) for name, (status, _) in recorded.items()}}
    categories = _rows_of(connection, "categories", one.side)
    functions = tuple(
        replace(
            function,
            failure=recorded.get(function.listed_as, ("", ""))[1],
            explanation=disagreements.explain(str(one.side.target), function.listed_as, function.outcome),
        )
        for function in _functions(_rows_of(connection, "functions", one.side), categories, possible, listed)
    )
    if not functions:
        return None
    placements = _rows_of(connection, "placements", one.side)
    off_device = {row["function"] for row in placements if row["seen"] in ("host", "mixed")}
    counts = Counter(function.status for function in functions)
    rates = FunctionRates({status: counts[status] for status in STATUSES})
    because = tuple(_because(one, device, model, functions, categories, len(off_device)))
    return PublishedComparison(one, device, model, rates, functions, because)


@cache
def recorded_statuses(framework: str, device: str, model: str) -> Mapping[str, tuple[str, str]]:
    """The status of each function in the authors' report of a device's tests, and the most frequent message of its
    failing tests ("" if none fails), by the printed name; empty where there is no report.

    Tests that ran on the CPU, and skipped ones, do not count.
    """
    path = paper.raw_data() / framework / _REPORTS.get((device, model), "")
    if not path.is_file():
        return {}
    report = read_raw_file(path, framework)
    assert isinstance(report, RawReport)
    files = paper.raw_test_files(framework)
    tests: dict[str, list[RawOutcome]] = {}
    for one in report.outcomes:
        if one.file in files and one.outcome != "skipped" and test_id(framework, one.test) is not None:
            tests.setdefault(files[one.file], []).append(one)
    return {name: _status_of(outcomes) for name, outcomes in tests.items()}


def _status_of(outcomes: Sequence[RawOutcome]) -> tuple[str, str]:
    failed = [one for one in outcomes if one.outcome == "failed"]
    if not failed:
        return "all_pass", ""
    said = Counter(shortened((one.message or "").split("\n")[0], _LONGEST_REASON) for one in failed)
    return "all_fail" if len(failed) == len(outcomes) else "some_fail", said.most_common(1)[0][0]


def outcome(status: str, possible: frozenset[str]) -> str:
    """Compares a predicted status with those that the paper allows for."""
    if status == "not_testable":
        return NOT_PREDICTED
    if status == "all_pass":
        return BOTH_PASS if possible == {"all_pass"} else MISSED if "all_pass" not in possible else UNDECIDED
    if "all_pass" not in possible:
        return AGREEMENT
    # Partial failure and success differ by the tests, unless the paper says that nothing failed.
    return FALSE_ALARM if status not in possible else UNDECIDED


def _functions(
    rows: Iterable[Row],
    categories: Iterable[Row],
    possible: Mapping[str, frozenset[str]],
    listed: Mapping[tuple[str, str], str],
) -> Iterator[PublishedFunction]:
    seen: dict[str, list[str]] = {}
    for row in categories:
        seen.setdefault(row["function"], []).append(row["seen"])
    for row in rows:
        name = listed.get((row["framework"], row["function"]), row["function"])
        if name in possible:
            yield PublishedFunction(
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
    one: PredictedTarget,
    device: str,
    model: str,
    functions: Sequence[PublishedFunction],
    categories: Iterable[Row],
    off_device: int,
) -> Iterator[str]:
    """First what follows from the run files, then what is known of the paper. ``off_device`` counts functions."""
    framework, version = one.side.framework, one.side.version
    theirs = paper.versions()[framework]
    versions = f"{framework} {version}" + ("" if version == theirs else f" here, {theirs} in the paper")
    yield f"Versions: {versions}. Predicted: {'; '.join(one.sources)}; published: measured on a {model}."
    refused: Counter[str] = Counter()
    for row in categories:
        refused[row["seen"]] += row["tests"]
    del refused["removed"]
    if refused:
        counts = ", ".join(f"{name.replace('_', ' ')} {tests:,}" for name, tests in refused.most_common())
        yield f"Tests that are predicted to fail, by category: {counts}."
    if one.tests["unknown"]:
        most, tests = next(iter(one.reasons.items()))
        yield (
            f"{one.tests['unknown']:,} of {pluralize(sum(one.tests.values()), 'test')} cannot be predicted, most often "
            f"({tests:,}) since {shortened(most, _LONGEST_REASON)}."
        )
    yield _by_latency(functions)
    if nothing := sum(function.status == "not_testable" for function in functions):
        yield f"Functions of which no test could be run or predicted: {nothing}."
    if off_device:
        yield f"Functions of which tests pass on the host, at least partly, and count as passing: {off_device}."
    for sentence in paper.explanations():
        if sentence["framework"] in (None, framework) and sentence["device"] in (None, device):
            yield sentence["says"]


def _by_latency(functions: Sequence[PublishedFunction]) -> str:
    """The predicted statuses of the functions that the paper timed on both devices, and of those that it did not."""

    def counts(found: Sequence[PublishedFunction]) -> str:
        statuses = Counter(function.status for function in found)
        return ", ".join(
            f"{statuses[status]} {STATUS_TEXTS[status]}" for status in ("all_fail", "some_fail", "all_pass")
        )

    untimed = [function for function in functions if "all_fail" in function.possible]
    timed = [function for function in functions if "all_fail" not in function.possible]
    return (
        f"Predicted for the {len(untimed)} functions without a published latency, which failed completely on the T4 or "
        f"the v3-8 or had nothing timed: {counts(untimed)}; for the {len(timed)} others: {counts(timed)}."
    )


def _rows_of(connection: duckdb.DuckDBPyConnection, view: str, side: Configuration) -> list[Row]:
    """The rows of a view of the analysis that are of a configuration, without those of successors."""
    rows = fetch_dicts(connection, f"FROM {view} WHERE successor_of = '' ORDER BY ALL")
    return [row for row in rows if Configuration.of(row) == side]
