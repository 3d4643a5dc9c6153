"""The headlines of a report: sentences with figures, as in the paper's text, each with its method and its counts.

There is no headline where there is nothing to count. Text out of run files is in it: printers escape it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded
from portbench.analysis.intervals import Interval, wilson
from portbench.analysis.latency import Latencies
from portbench.analysis.rate_model import FunctionRates, TestRates
from portbench.analysis.results import Pair, Results, weighted_interval
from portbench.analysis.terms import INTOLERABLE, NEWER, PAPER_METHOD, ROBUST
from portbench.published import paper
from portbench.published.paper import OTHERS, TOP20
from portbench.util.text import pluralize

_LEAST_PERCENT = 1
"""The paper's figures below it are of JAX: "0.05 %" and "0.02 %", where its raw data has 3 of 62 and 1 of 61."""
_LABELS = {PAPER_METHOD: "Paper's method", ROBUST: "Robust"}


FAILURES, INTOLERABLY_SLOW, SLOWER, NEWER_HARDWARE = "failures", "intolerably slow", "slower", "newer hardware"
BY_USE, FAILING_TESTS, FAILING_ON_BOTH, UNVERIFIED = "by use", "failing tests", "failing on both", "unverified timing"
KINDS = (FAILURES, INTOLERABLY_SLOW, SLOWER, NEWER_HARDWARE, BY_USE, FAILING_ON_BOTH, FAILING_TESTS, UNVERIFIED)
"""What headlines are about, the most important first."""


@dataclass(frozen=True)
class Headline:
    """A sentence and what it is about: a ``method`` (empty where it has no figure), one of KINDS and a ``target``.
    ``has_published``: the paper prints this figure, and the sentence has both."""

    sentence: str
    method: str
    kind: str
    target: str
    has_published: bool = False


def ranked(headlines: Iterable[Headline]) -> list[Headline]:
    """By importance: those with a published counterpart first, then by kind, then in the order given."""
    return sorted(headlines, key=lambda headline: (not headline.has_published, KINDS.index(headline.kind)))


def build_headlines(results: Results, intolerable: float = INTOLERABLE) -> Iterator[Headline]:
    """The headlines, target by target: first how much fails, then how fast it is, then newer hardware.

    More than ``intolerable`` times the latency on the baseline is intolerable. Every sentence begins with its method,
    "Paper's method" or "Robust".
    """
    for side in results.sides:
        yield from _failures(results, side)
    for pair in results.by_device:
        yield from _shared_failures(results, pair)
    for pair in results.by_device:
        for measured in () if results.unverified_sides(pair) else pair.latencies:
            yield from _speed(results, measured, intolerable)
    for pair in results.by_model:
        for measured in () if results.unverified_sides(pair) else pair.latencies:
            yield from _newer(results, measured)
    for side, why in sorted(results.unverified.items()):
        sentence = f"Timing unverified, and in no headline on times: {_named(results, side)}; {why}."
        yield Headline(sentence, "", UNVERIFIED, _named(results, side))


def _failures(results: Results, side: Configuration) -> Iterator[Headline]:
    """How many functions of a target fail, of the top 20 and of the others; how many tests."""
    rates = results.rates[side]
    column = results.primary(side)
    where = _named(results, side)
    if rates.by_function.rated:
        shown = ""
        if column:
            shown = _published(rates.by_function.failing_percent, "failure_percent", column.device, column.framework)
        sentence = f"Paper's method: {_failing(rates.by_function)} fail, partially or completely, on {where}{shown}."
        yield Headline(sentence, PAPER_METHOD, FAILURES, where, bool(shown))
    top20, others = rates.by_stratum.get(TOP20), rates.by_stratum.get(OTHERS)
    if top20 and others and top20.rated and others.rated:
        table = paper.table4(column.framework, column.device) if column else None
        published = [
            _remark(table.get(stratum), stratum_rates.failing_percent) if table else ""
            for stratum, stratum_rates in ((TOP20, top20), (OTHERS, others))
        ]
        sentence = (
            f"Paper's method: of the top 20, {_failing(top20)} fail on {where}{published[0]}; "
            f"of the others, {_failing(others)}{published[1]}."
        )
        yield Headline(sentence, PAPER_METHOD, BY_USE, where, any(published))
    if rates.robust.tests:
        rest = _exclusions(rates.exclusions)
        sentence = f"Robust: {_failing_tests(rates.robust)} fail on {where}{_weighted(rates.robust)}{rest}."
        yield Headline(sentence, ROBUST, FAILING_TESTS, where)


def _shared_failures(results: Results, pair: Pair) -> Iterator[Headline]:
    """How many of the tests that ran on both devices fail on each."""
    first, second = pair.rates.first.robust, pair.rates.second.robust
    if first.tests:
        sentence = (
            f"Robust, over the tests that ran on both: {_failing_tests(first)} fail on {_named(results, pair.first)}, "
            f"{_failing_tests(second)} on {_named(results, pair.second)}{_exclusions(pair.rates.exclusions)}."
        )
        yield Headline(sentence, ROBUST, FAILING_ON_BOTH, _named(results, pair.second))


def _speed(results: Results, measured: Latencies, intolerable: float) -> Iterator[Headline]:
    """How many functions are slower on the second device, how many faster, and how many intolerably slower."""
    if not measured.functions:
        return
    framework = _framework_of_paper(results, measured)
    slower, faster = _slower(measured, 1), _faster(measured, 1)
    ours = [_percent(measured, lambda ratio: ratio > 1), _percent(measured, lambda ratio: ratio < 1)]
    label = _LABELS[measured.method]
    than = f"on {_named(results, measured.second)} than on {_named(results, measured.first)}"
    where = _named(results, measured.second)
    published = [
        _published(share, f"{word}_on_tpu_percent", framework)
        for share, word in zip(ours, ("slower", "faster"), strict=True)
    ]
    sentence = (
        f"{label}, at the sizes of the tests: {slower} are slower {than}{published[0]}; {faster} are "
        f"faster{published[1]}."
    )
    yield Headline(sentence, measured.method, SLOWER, where, any(published))
    is_papers = framework and intolerable == INTOLERABLE
    share = _percent(measured, lambda ratio: ratio > intolerable)
    shown = _published(share, f"{framework}_over_10x_slower_percent") if is_papers else ""
    beyond = _slower(measured, intolerable)
    sentence = f"{label}: {beyond} are more than {intolerable:g} times slower {than}, an intolerable latency{shown}."
    yield Headline(sentence, measured.method, INTOLERABLY_SLOW, where, bool(shown))


def _newer(results: Results, measured: Latencies) -> Iterator[Headline]:
    """How many functions are faster on the newer of two models of a device, by the paper's factor."""
    if measured.functions:
        first, second = results.published(measured.first), results.published(measured.second)
        published = ""
        if first and second and measured.method == PAPER_METHOD:
            figure = paper.faster_on_newer(measured.first.framework, first.model, second.model)
            published = _remark(figure, _percent(measured, lambda ratio: ratio < 1 / NEWER))
        sentence = (
            f"{_LABELS[measured.method]}: {_faster(measured, NEWER)} are more than {NEWER:g} times faster on "
            f"{_named(results, measured.second)} than on the older {_named(results, measured.first)}{published}."
        )
        where = _named(results, measured.second)
        yield Headline(sentence, measured.method, NEWER_HARDWARE, where, bool(published))


def _slower(measured: Latencies, factor: float) -> str:
    """The share of functions that take more than ``factor`` times as long on the second device."""
    found = [function for function in measured.functions if function.ratio > factor]
    surely = sum(function.low is not None and function.low > factor for function in found)
    return _share_of_functions(len(found), surely, measured)


def _faster(measured: Latencies, factor: float) -> str:
    """The share of functions that are more than ``factor`` times as fast on the second device."""
    found = [function for function in measured.functions if function.ratio < 1 / factor]
    surely = sum(function.high is not None and function.high < 1 / factor for function in found)
    return _share_of_functions(len(found), surely, measured)


def _share_of_functions(found: int, surely: int, measured: Latencies) -> str:
    """``surely`` counts those whose whole interval is beyond the factor; only the robust method has intervals."""
    total = len(measured.functions)
    if measured.method == PAPER_METHOD:
        return _share(found, total, "functions")
    by_interval = f", {surely} of them by the whole interval of the ratio" if found else ""
    return _share(found, total, "functions", wilson(found, total), by_interval)


def _failing(rates: FunctionRates) -> str:
    none = rates.counts["not_testable"]
    return _share(rates.failing, rates.rated, "functions", more=f"; {none:,} more not testable" if none else "")


def _failing_tests(rates: TestRates) -> str:
    return _share(rates.failed, rates.tests, "tests", rates.interval)


def _exclusions(exclusions: Iterable[Excluded]) -> str:
    rest = sum(entry.tests for entry in exclusions)
    return f"; {pluralize(rest, 'test')} left out" if rest else ""


def _weighted(rates: TestRates) -> str:
    weighted = rates.weighted
    if not weighted:
        return ""
    found = weighted_interval(weighted)
    interval = f"; 95 % interval {_from_to(found)}" if found else ""
    of = pluralize(weighted.functions, "function")
    return f"; weighted by use in the corpus, {100 * weighted.rate:.1f} % ({of}{interval})"


def _share(part: int, whole: int, what: str, interval: Interval | None = None, more: str = "") -> str:
    """``81.4 % of functions (35 of 43; 95 % interval 67.4 to 90.3 %)``; ``more`` follows the count."""
    interval_text = f"; 95 % interval {_from_to(interval)}" if interval else ""
    return f"{100 * part / whole:.1f} % of {what} ({part:,} of {whole:,}{more}{interval_text})"


def _from_to(interval: Interval) -> str:
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"


def _named(results: Results, side: Configuration) -> str:
    """``jax-0.4.8-gpu on box (Tesla T4)``, with the synchronization where it is not the complete wait."""
    details = ", ".join(detail for detail in (results.models.get(side), side.synchronization) if detail)
    return f"{side.target} on {side.machine}" + (f" ({details})" if details else "")


def _framework_of_paper(results: Results, measured: Latencies) -> str | None:
    """The framework where both devices are the paper's GPU and TPU and the latencies are by its method."""
    sides = (results.primary(measured.first), results.primary(measured.second))
    is_papers = [side and side.device for side in sides] == ["gpu", "tpu"] and measured.method == PAPER_METHOD
    return measured.first.framework if is_papers else None


def _percent(measured: Latencies, holds: Callable[[float], bool]) -> float:
    """The share of functions whose ratio is such."""
    return 100 * sum(holds(function.ratio) for function in measured.functions) / len(measured.functions)


def _published(ours: float | None, *path: str | None) -> str:
    """A figure of the paper's text beside ours, as a remark; empty where it has none."""
    figure: Any = paper.headlines()
    for key in path:
        figure = figure.get(key) if isinstance(figure, Mapping) else None
    return _remark(figure, ours)


def _remark(figure: float | None, ours: float | None) -> str:
    if figure is None or ours is None:
        return ""
    note = "; the paper's is probably a fraction, not a percentage" if 0 < figure < _LEAST_PERCENT else ""
    return f" (paper: {figure:g} %; its method on this data: {ours:.1f} %{note})"
