"""Compares a study with the paper of 2023: which column of it a configuration repeats, and its latencies with ours."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from portbench.analysis.configurations import Configuration
from portbench.analysis.latency import Latencies
from portbench.analysis.terms import PAPER_METHOD
from portbench.published import paper
from portbench.published.paper import PublishedColumn, PublishedLatency

_MODELS = {"T4": r"\bT4\b", "A100": r"\bA100\b", "v3-8": r"^TPU v3(-8)?$", "v2-8": r"^TPU v2(-8)?$"}


@dataclass(frozen=True)
class Difference:
    """A function's published latency and ours: milliseconds and the ratio of these, rounded as the paper prints them.

    ``ratio`` is null where our ``gpu_ms`` is 0 in all printed digits."""

    published: PublishedLatency
    gpu_ms: float
    tpu_ms: float
    ratio: float | None

    @property
    def agrees(self) -> bool:
        """Whether milliseconds and ratio are the published ones to the last printed digit."""
        printed = self.published
        return (self.gpu_ms, self.tpu_ms, self.ratio) == (printed.gpu_ms, printed.tpu_ms, printed.ratio)


def published_column(configuration: Configuration, model: str | None) -> PublishedColumn | None:
    """The paper's column that a configuration repeats: the same framework, version and device, and the same model (see
    ``portbench.analysis.configurations.device_model``). None where there is none."""
    if paper.versions().get(configuration.framework) != configuration.version or model is None:
        return None
    columns = (
        PublishedColumn(configuration.framework, configuration.device, name)
        for name in paper.models(configuration.device)
        if re.search(_MODELS[name], model)
    )
    return next(columns, None)


def differences(measured: Latencies) -> tuple[Difference, ...]:
    """Our latencies by the paper's method, of a GPU (first) and a TPU (second) with Tables 5-7, for every function that
    both have, in the printed order; ``Difference.agrees`` says which are the published ones.

    Raises ValueError for latencies of another method or of other devices."""
    if measured.method != PAPER_METHOD or (measured.first.device, measured.second.device) != ("gpu", "tpu"):
        raise ValueError("published latencies are those of a GPU and a TPU, by the paper's method")
    ours = {function.listed_as: function for function in measured.functions}
    found = []
    for name, printed in paper.latencies(measured.first.framework).items():
        if function := ours.get(name):
            gpu_ms, tpu_ms = _in_ms(function.first_ns), _in_ms(function.second_ns)
            # The paper's ratios are those of its printed figures.
            ratio = paper.round_half_up(tpu_ms / gpu_ms, 3) if gpu_ms else None
            found.append(Difference(printed, gpu_ms, tpu_ms, ratio))
    return tuple(found)


def disagreeing(found: Iterable[Difference]) -> tuple[Difference, ...]:
    """Those that differ in a printed digit."""
    return tuple(difference for difference in found if not difference.agrees)


def _in_ms(ns: float) -> float:
    return paper.round_half_up(ns / 1e6, 3)
