"""The figures that the study published, to stand beside ours: "The Grand Illusion" (Mince et al., 2023).

They lie in data/study_2023.json, which names their source. Functions go by the name that the study prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from portbench.latency import Latencies
from portbench.sides import Side

FRAMEWORKS = ("tensorflow", "torch", "jax")
"""In the order of the study's tables."""


@dataclass(frozen=True)
class PublishedSide:
    """A column of the study: ``device`` is "gpu" or "tpu", ``model`` "T4", "A100", "v3-8" or "v2-8". Its Tables 1, 4, 5-7
    and 8 are of the primary models, T4 and v3-8."""

    framework: str
    device: str
    model: str

    @property
    def is_primary(self) -> bool:
        """Whether it is a T4 or a v3-8."""
        raise NotImplementedError


@dataclass(frozen=True)
class PublishedLatency:
    """A row of Tables 5-7: milliseconds as printed, and the printed ratio of TPU over GPU, which is of these."""

    function: str
    gpu_ms: float
    tpu_ms: float
    ratio: float


@dataclass(frozen=True)
class Difference:
    """A function's published latency beside ours, in milliseconds. ``ours`` are rounded as the study printed."""

    published: PublishedLatency
    gpu_ms: float
    tpu_ms: float

    @property
    def agrees(self) -> bool:
        """Whether both figures are the published ones to the last printed digit."""
        raise NotImplementedError


def versions() -> Mapping[str, str]:
    """The version of each framework that the study ran."""
    raise NotImplementedError


def published_side(side: Side, model: str | None) -> PublishedSide | None:
    """The study's column that a side repeats: the same framework, version and device, and the same model (see
    ``portbench.sides.device_model``). None where there is none."""
    raise NotImplementedError


def table1(framework: str, device: str) -> Mapping[str, float] | None:
    """Percent of functions by status (pass, partial, complete) on "gpu" or "tpu"; None where the study has none."""
    raise NotImplementedError


def table3(framework: str, model: str) -> Mapping[str, float] | None:
    """Percent of functions by status on "T4" or "A100"."""
    raise NotImplementedError


def table4(framework: str, device: str) -> Mapping[str, float] | None:
    """Percent of functions that fail, partially or completely, by stratum: ``portbench.rates.TOP20`` and OTHERS.

    The study calls the latter "all functions". They are those that it drew by decile: of these, and only of these, its
    figures are shares (torch on gpu: 5 of 50; but for tensorflow on gpu, where 22 % is the share of all 65).
    """
    raise NotImplementedError


def table8(framework: str, device: str) -> Mapping[str, int] | None:
    """Number of functions by status (pass, partial, complete), and "total" as printed."""
    raise NotImplementedError


def latencies(framework: str) -> Mapping[str, PublishedLatency]:
    """Tables 5 (tensorflow), 6 (torch) and 7 (jax), by function, in the printed order."""
    raise NotImplementedError


def headlines() -> Mapping[str, Any]:
    """The figures in the study's text, in percent, as they stand under "headlines" in the data file."""
    raise NotImplementedError


def stratum(framework: str, function: str) -> Mapping[str, Any] | None:
    """``decile``, ``uses`` and ``top20`` of a function of the study's sample (null where the study does not say)."""
    raise NotImplementedError


def study_rounding(percent: float) -> int:
    """A percentage as the study prints it: to the nearest whole number, halves up."""
    raise NotImplementedError


def differences(measured: Latencies) -> tuple[Difference, ...]:
    """Our as-published latencies of a GPU (first) and a TPU (second) beside Tables 5-7, for every function that both
    have, in the printed order. Those that do not agree are told by ``agrees``."""
    raise NotImplementedError


def disagreeing(found: Iterable[Difference]) -> tuple[Difference, ...]:
    """Those that differ in a printed digit."""
    raise NotImplementedError
