"""What a study found, in sentences with figures, as the published study says them; each with its method and its count.

A sentence stands only where there is something to count. Text out of run files is in it: printers escape it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded
from portbench.analysis.intervals import Interval, wilson
from portbench.analysis.latency import AS_PUBLISHED, ROBUST, Latencies
from portbench.analysis.rates import OTHERS, TOP20, FunctionRates, TestRates
from portbench.analysis.results import Pair, Results, answers_of, spread_of
from portbench.published import paper as published
from portbench.tables.write import INTOLERABLE
from portbench.util.text import pluralize

NEWER = 1.5
"""From this factor on a function counts as faster on newer hardware, as in the study."""

_THRESHOLD_OF_STUDY = 10.0
_NEWER_IN_STUDY = {("T4", "A100"): "T4_to_A100", ("v2-8", "v3-8"): "v2_to_v3"}
_LABELS = {AS_PUBLISHED: "As published", ROBUST: "Robust"}


def sentences(connection: duckdb.DuckDBPyConnection, intolerable: float = INTOLERABLE) -> list[str]:
    """The headlines of the study that ``connection`` shows, once ``portbench.analysis.analyse`` was called on it.

    First how much fails, then how fast it is, then newer hardware. ``intolerable``: more than so many times the latency
    on the baseline is intolerable. Every sentence begins with its method, "As published" or "Robust".
    """
    return list(of_answers(answers_of(connection), intolerable))


def of_answers(answers: Results, intolerable: float = INTOLERABLE) -> Iterator[str]:
    """The same, of what was computed already."""
    for side in answers.sides:
        yield from _failures(answers, side)
    for pair in answers.by_device:
        yield from _shared_failures(answers, pair)
    for pair in answers.by_device:
        for measured in pair.latencies:
            yield from _speed(answers, measured, intolerable)
    for pair in answers.by_model:
        for measured in pair.latencies:
            yield from _newer(answers, measured)


def _failures(answers: Results, side: Configuration) -> Iterator[str]:
    """How many functions of a side fail, of the top 20 and of the others; how many tests."""
    rates = answers.rates[side]
    told = answers.primary(side)
    where = _named(answers, side)
    if rates.as_published.rated:
        shown = _published("failure_percent", told.device, told.framework) if told else ""
        yield f"As published: {_failing(rates.as_published)} fail, partially or completely, on {where}{shown}."
    top20, others = rates.by_stratum.get(TOP20), rates.by_stratum.get(OTHERS)
    if top20 and others and top20.rated and others.rated:
        table = published.table4(told.framework, told.device) if told else None
        beside = [_beside(table.get(stratum)) if table else "" for stratum in (TOP20, OTHERS)]
        yield (
            f"As published: of the top 20, {_failing(top20)} fail on {where}{beside[0]}; "
            f"of the others, {_failing(others)}{beside[1]}."
        )
    if rates.robust.tests:
        ended = _left_out(rates.left_out)
        yield f"Robust: {_failing_tests(rates.robust)} fail on {where}{_weighted(rates.robust)}{ended}."


def _shared_failures(answers: Results, pair: Pair) -> Iterator[str]:
    """How many of the tests that ran on both sides fail on each."""
    first, second = pair.rates.first.robust, pair.rates.second.robust
    if first.tests:
        yield (
            f"Robust, over the tests that ran on both: {_failing_tests(first)} fail on {_named(answers, pair.first)}, "
            f"{_failing_tests(second)} on {_named(answers, pair.second)}{_left_out(pair.rates.left_out)}."
        )


def _speed(answers: Results, measured: Latencies, intolerable: float) -> Iterator[str]:
    """How many functions are slower on the second side, how many faster, and how many intolerably slower."""
    if not measured.functions:
        return
    told = _framework_of_study(answers, measured)
    slower, faster = _slower(measured, 1), _faster(measured, 1)
    label = _LABELS[measured.method]
    than = f"on {_named(answers, measured.second)} than on {_named(answers, measured.first)}"
    yield (
        f"{label}: {slower} are slower {than}{_published('slower_on_tpu_percent', told)}; "
        f"{faster} are faster{_published('faster_on_tpu_percent', told)}."
    )
    is_studys = told and intolerable == _THRESHOLD_OF_STUDY
    beside = _published(f"{told}_over_10x_slower_percent") if is_studys else ""
    beyond = _slower(measured, intolerable)
    yield f"{label}: {beyond} are more than {intolerable:g} times slower {than}, an intolerable latency{beside}."


def _newer(answers: Results, measured: Latencies) -> Iterator[str]:
    """How many functions are faster on the newer of two models of a device, by the study's factor."""
    if measured.functions:
        first, second = answers.published(measured.first), answers.published(measured.second)
        if first and second and measured.method == AS_PUBLISHED:
            step = _NEWER_IN_STUDY.get((first.model, second.model))
        else:
            step = None
        beside = _published("faster_1_5x_on_newer", step, measured.first.framework) if step else ""
        yield (
            f"{_LABELS[measured.method]}: {_faster(measured, NEWER)} are more than {NEWER:g} times faster on "
            f"{_named(answers, measured.second)} than on the older {_named(answers, measured.first)}{beside}."
        )


def _slower(measured: Latencies, factor: float) -> str:
    """The share of functions that take more than ``factor`` times as long on the second side."""
    found = [function for function in measured.functions if function.ratio > factor]
    surely = sum(function.low is not None and function.low > factor for function in found)
    return _share_of_functions(len(found), surely, measured)


def _faster(measured: Latencies, factor: float) -> str:
    """The share of functions of which the second side is more than ``factor`` times as fast."""
    found = [function for function in measured.functions if function.ratio < 1 / factor]
    surely = sum(function.high is not None and function.high < 1 / factor for function in found)
    return _share_of_functions(len(found), surely, measured)


def _share_of_functions(found: int, surely: int, measured: Latencies) -> str:
    """``surely`` counts those whose whole interval says so; only the robust way has intervals."""
    total = len(measured.functions)
    if measured.method == AS_PUBLISHED:
        return _share(found, total, "functions")
    by_interval = f", {surely} of them by the whole interval of the ratio" if found else ""
    return _share(found, total, "functions", wilson(found, total), by_interval)


def _failing(rates: FunctionRates) -> str:
    none = rates.counts["none"]
    return _share(rates.failing, rates.rated, "functions", more=f"; of {none:,} more nothing ran" if none else "")


def _failing_tests(rates: TestRates) -> str:
    return _share(rates.failed, rates.tests, "tests", rates.interval)


def _left_out(left_out: Iterable[Excluded]) -> str:
    rest = sum(entry.tests for entry in left_out)
    return f"; {pluralize(rest, 'test')} left out" if rest else ""


def _weighted(rates: TestRates) -> str:
    weighted = rates.weighted
    if not weighted:
        return ""
    spread = spread_of(weighted)
    interval = f"; 95 % interval {_from_to(spread)}" if spread else ""
    of = pluralize(weighted.functions, "function")
    return f"; weighted by use in the corpus, {100 * weighted.rate:.1f} % ({of}{interval})"


def _share(part: int, whole: int, what: str, interval: Interval | None = None, more: str = "") -> str:
    """``81.4 % of functions (35 of 43; 95 % interval 67.4 to 90.3 %)``; ``more`` stands behind the count."""
    spread = f"; 95 % interval {_from_to(interval)}" if interval else ""
    return f"{100 * part / whole:.1f} % of {what} ({part:,} of {whole:,}{more}{spread})"


def _from_to(interval: Interval) -> str:
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"


def _named(answers: Results, side: Configuration) -> str:
    """``jax-0.4.8-gpu on box (Tesla T4)``; the clock is told where it is not the complete wait."""
    told = [answers.models.get(side), None if side.sync == "complete" else f"{side.sync} synchronisation"]
    details = ", ".join(detail for detail in told if detail)
    return f"{side.target} on {side.machine}" + (f" ({details})" if details else "")


def _framework_of_study(answers: Results, measured: Latencies) -> str | None:
    """The framework where both sides are the study's GPU and TPU and the latencies are as published."""
    sides = (answers.primary(measured.first), answers.primary(measured.second))
    is_studys = [side and side.device for side in sides] == ["gpu", "tpu"] and measured.method == AS_PUBLISHED
    return measured.first.framework if is_studys else None


def _published(*path: str | None) -> str:
    """A figure of the study's text, as a remark; nothing where it has none."""
    figure: Any = published.headlines()
    for key in path:
        figure = figure.get(key) if isinstance(figure, Mapping) else None
    return _beside(figure)


def _beside(figure: float | None) -> str:
    return "" if figure is None else f" (published: {figure:g} %)"
