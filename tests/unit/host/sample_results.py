"""The results of a small study, as values: torch on a T4 and a v3-8, as in the paper, and on an A100."""

from __future__ import annotations

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded
from portbench.analysis.intervals import Interval
from portbench.analysis.latency import FunctionLatency, Latencies
from portbench.analysis.rate_model import ALL, DECILES, FunctionRates, PairRates, Rates, TestRates, WeightedRate
from portbench.analysis.results import Pair, Results
from portbench.analysis.terms import PAPER_METHOD, ROBUST
from portbench.published.paper import OTHERS, TOP20

GPU = Configuration("torch", "1.12.0", "gpu", "t4-box")
NEWER = Configuration("torch", "1.12.0", "gpu", "a100-box")
TPU = Configuration("torch", "1.12.0", "tpu", "tpu-box")
MODELS = {GPU: "Tesla T4", NEWER: "NVIDIA A100-SXM4-40GB", TPU: "TPU v3-8"}


def statuses(good: int, partial: int, complete: int, none: int = 0) -> FunctionRates:
    """Numbers of functions by status."""
    return FunctionRates({"all_pass": good, "some_fail": partial, "all_fail": complete, "not_testable": none})


def rates_of(side: Configuration, whole: FunctionRates, failed: int, tests: int, *exclusions: Excluded) -> Rates:
    """A side whose strata are known where it has functions: 13 of the top 20, of which 3 fail, and a decile."""
    weighted = WeightedRate(0.25, Interval(0.125, 0.5), whole.rated, 1000)
    strata = {ALL: whole}
    if whole.rated > 13:
        counts = whole.counts
        top20 = {"all_pass": 10, "some_fail": 2, "all_fail": 1, "not_testable": 0}
        strata[TOP20] = FunctionRates(top20)
        strata[OTHERS] = FunctionRates({status: counts[status] - top20[status] for status in counts})
        strata[DECILES[9]] = statuses(3, 1, 0)
    known = whole.rated if TOP20 in strata else 0
    return Rates(side, strata, TestRates(failed, tests, weighted if tests else None), known, exclusions)


def latency_of(
    function: str,
    first_ns: float,
    second_ns: float,
    interval: tuple[float, float] | None,
) -> FunctionLatency:
    """A function with two tests; its ratio is that of the times."""
    low, high = interval or (None, None)
    ratio = second_ns / first_ns
    return FunctionLatency(function, function, first_ns, second_ns, ratio, low, high, 2)


def results(*, empty: bool = False, functions: int = 0) -> Results:
    """The study, or one of the same sides in which no test ran.

    With ``functions`` so many were timed by the paper's method, torch.f0, torch.f1 and so on, each with a greater
    ratio."""
    if empty:
        nothing = {
            side: rates_of(side, statuses(0, 0, 0, 2), 0, 0, Excluded("torch.cat", "skipped", 2)) for side in MODELS
        }
        return Results(tuple(MODELS), MODELS, nothing, (_pair(GPU, TPU, nothing),), (_pair(GPU, NEWER, nothing),))
    rates = {
        GPU: rates_of(GPU, statuses(58, 2, 3, 1), 20, 400, Excluded("torch.new", "not in this version", 2)),
        NEWER: rates_of(NEWER, statuses(58, 2, 3), 20, 400),
        TPU: rates_of(TPU, statuses(35, 17, 11), 100, 400),
    }
    published: tuple[FunctionLatency, ...] = (
        latency_of("torch.argsort", 157_000, 948_210_000, None),
        latency_of("torch.cat", 100_400, 64_649_000, None),
        latency_of("torch.own", 2_000_000, 1_000_000, None),
    )
    if functions:
        found = (latency_of(f"torch.f{place}", 1000, 500 * (place + 1), None) for place in range(functions))
        published = tuple(found)
    robust = (
        latency_of("torch.argsort", 10_000, 500_000, (40, 60)),
        latency_of("torch.cat", 20_000, 30_000, (0.9, 2)),
    )
    return Results(
        (GPU, NEWER, TPU),
        MODELS,
        rates,
        (_pair(GPU, TPU, rates, published, robust), _pair(NEWER, TPU, rates)),
        (_pair(GPU, NEWER, rates, published[2:], ()),),
    )


def _pair(
    first: Configuration,
    second: Configuration,
    rates: dict[Configuration, Rates],
    published: tuple[FunctionLatency, ...] = (),
    robust: tuple[FunctionLatency, ...] = (),
) -> Pair:
    missing = (Excluded("torch.dot", f"failed on {second}", 3),)
    return Pair(
        first,
        second,
        PairRates(rates[first], rates[second], missing),
        (
            Latencies(first, second, PAPER_METHOD, published, missing),
            Latencies(first, second, ROBUST, robust, missing),
        ),
    )
