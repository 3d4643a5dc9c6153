"""The figures that the study published, to stand beside ours: "The Grand Illusion" (Mince et al., 2023).

They lie in data/study_2023.json, which names their source. Functions go by the name that the study prints (see
``portbench.strata.Stratum.listed_as``), statuses by ours: pass, partial, complete.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from importlib import resources
from typing import Any

from portbench.analysis.configurations import Configuration
from portbench.analysis.latency import AS_PUBLISHED, Latencies
from portbench.analysis.rates import OTHERS, TOP20

FRAMEWORKS = ("tensorflow", "torch", "jax")
"""In the order of the study's tables."""

_PRINTED = {"success": "pass", "partial": "partial", "complete": "complete", "total": "total"}
_MODELS = {"T4": r"\bT4\b", "A100": r"\bA100\b", "v3-8": r"^TPU v3(-8)?$", "v2-8": r"^TPU v2(-8)?$"}


@dataclass(frozen=True)
class PublishedSide:
    """A column of the study: ``device`` is "gpu" or "tpu", ``model`` "T4", "A100", "v3-8" or "v2-8".

    Its Tables 1, 4, 5-7 and 8 are of the primary models, T4 and v3-8."""

    framework: str
    device: str
    model: str

    @property
    def is_primary(self) -> bool:
        """Whether it is a T4 or a v3-8."""
        return self.model in _data()["devices"]["primary"]


@dataclass(frozen=True)
class PublishedLatency:
    """A row of Tables 5-7: milliseconds as printed, and the printed ratio of TPU over GPU, which is of these."""

    function: str
    gpu_ms: float
    tpu_ms: float
    ratio: float


@dataclass(frozen=True)
class Difference:
    """A function's published latency beside ours: milliseconds and the ratio of these, rounded as the study printed.

    ``ratio`` is null where our ``gpu_ms`` is 0 in all printed digits. ``by_test_gpu_ms`` and ``by_test_tpu_ms`` are
    ours with each test counted alike, however many calls it times: so the study's own raw data gives all of Table 7,
    though its text says that the mean is over all timed operations.
    """

    published: PublishedLatency
    gpu_ms: float
    tpu_ms: float
    ratio: float | None
    by_test_gpu_ms: float
    by_test_tpu_ms: float

    @property
    def agrees(self) -> bool:
        """Whether milliseconds and ratio are the published ones to the last printed digit."""
        told = self.published
        return (self.gpu_ms, self.tpu_ms, self.ratio) == (told.gpu_ms, told.tpu_ms, told.ratio)

    @property
    def agrees_by_test(self) -> bool:
        """Whether our milliseconds with each test counted alike are the published ones to the last printed digit."""
        return (self.by_test_gpu_ms, self.by_test_tpu_ms) == (self.published.gpu_ms, self.published.tpu_ms)


def source() -> str:
    """Where the figures are from: authors, title and year."""
    return str(_data()["source"])


def versions() -> Mapping[str, str]:
    """The version of each framework that the study ran."""
    found: dict[str, str] = _data()["versions"]
    return found


def protocol() -> Mapping[str, Any]:
    """How the study measured: ``runs``, ``timeout_s``, ``clock``, ``sync`` and ``statistic``, in words."""
    found: dict[str, Any] = _data()["protocol"]
    return found


def published_side(side: Configuration, model: str | None) -> PublishedSide | None:
    """The study's column that a side repeats: the same framework, version and device, and the same model (see
    ``portbench.sides.device_model``). None where there is none."""
    if versions().get(side.framework) != side.version or model is None:
        return None
    models = _data()["devices"].get(side.device, ())
    return next((PublishedSide(side.framework, side.device, name) for name in models if _is(name, model)), None)


def table1(framework: str, device: str) -> Mapping[str, int] | None:
    """Percent of functions by status (pass, partial, complete) on "gpu" or "tpu"; None where the study has none."""
    return _by_status("table1_percent", device, framework)


def table3(framework: str, model: str) -> Mapping[str, int] | None:
    """Percent of functions by status on "T4" or "A100"; None where the study has none."""
    return _by_status("table3_percent", model, framework)


def table4(framework: str, device: str) -> Mapping[str, int] | None:
    """Percent of functions that fail, partially or completely, by stratum: ``portbench.rates.TOP20`` and OTHERS.

    The study calls the latter "all functions". They are those that it drew by decile: of these, and only of these, its
    figures are shares (torch on gpu: 5 of 50; but for tensorflow on gpu, where 22 % is the share of all 65).
    """
    rows = _data()["table4_failure_percent"].get(device)
    if rows is None or framework not in rows["all"]:
        return None
    return {TOP20: rows["top20"][framework], OTHERS: rows["all"][framework]}


def table8(framework: str, device: str) -> Mapping[str, int] | None:
    """Number of functions by status, and "total", as printed (torch on tpu: they add up to one more than the total)."""
    return _by_status("table8_counts", device, framework)


def possible_statuses(framework: str, device: str) -> Mapping[str, frozenset[str]] | None:
    """Which statuses each function of the study's sample may have had on "gpu" (T4) or "tpu" (v3-8), by the printed
    name; None where the study has no counts.

    It prints no status of a function, but they follow in part: a function with a latency in Tables 5-7 passed some
    test on both devices. One without failed completely on either, or had nothing timed; as many of these failed
    completely on this device as Table 8 says, which may be all of them.
    """
    counts = table8(framework, device)
    if counts is None:
        return None
    timed = frozenset(("pass", "partial") if counts["partial"] else ("pass",))
    untimed = [row["name"] for row in sample(framework) if not row["published_ms"]]
    others = frozenset(("complete",)) if counts["complete"] == len(untimed) else timed | {"complete"}
    return {row["name"]: others if row["name"] in untimed else timed for row in sample(framework)}


def latencies(framework: str) -> Mapping[str, PublishedLatency]:
    """Tables 5-7 (Table 7 is JAX's), by function, in the printed order: greatest ratio first."""
    return {
        row["name"]: PublishedLatency(row["name"], told["gpu"], told["tpu"], told["ratio"])
        for row in sample(framework)
        if (told := row["published_ms"])
    }


def enumerated_functions() -> Mapping[str, int]:
    """How many functions the study found in each framework: short names, in its versions."""
    found: Mapping[str, int] = _data()["enumerated_functions"]
    return found


def headlines() -> Mapping[str, Any]:
    """The figures in the study's text, as they stand under "headlines" in the data file."""
    found: dict[str, Any] = _data()["headlines"]
    return found


def sample(framework: str) -> list[dict[str, Any]]:
    """The functions of the study's sample, as they stand in the data file.

    name, importable_as (null: the same), decile, uses, top20, published_ms (null where Tables 5-7 do not have it)."""
    return [row for row in _data()["functions"] if row["framework"] == framework]


def raw_test_files(framework: str) -> Mapping[str, str]:
    """Which test file of the study's raw timings is of which function, by the printed name; empty where not known."""
    found: dict[str, str] = _data()["raw_test_files"].get(framework, {})
    return found


def study_rounding(percent: float) -> int:
    """A percentage as the study prints it: to the nearest whole number, halves up."""
    return int(_rounded(percent, 0))


def differences(measured: Latencies) -> tuple[Difference, ...]:
    """Our as-published latencies of a GPU (first) and a TPU (second) beside Tables 5-7, for every function that both
    have, in the printed order; ``Difference.agrees`` tells which are the published ones."""
    if measured.method != AS_PUBLISHED or (measured.first.device, measured.second.device) != ("gpu", "tpu"):
        raise ValueError("published latencies are those of a GPU and a TPU, as published")
    ours = {function.listed_as: function for function in measured.functions}
    found = []
    for name, told in latencies(measured.first.framework).items():
        if function := ours.get(name):
            gpu_ms, tpu_ms = _in_ms(function.first_ns), _in_ms(function.second_ns)
            # The study's ratios are those of its printed figures.
            ratio = _rounded(tpu_ms / gpu_ms, 3) if gpu_ms else None
            by_test = _in_ms(function.first_by_test_ns), _in_ms(function.second_by_test_ns)
            found.append(Difference(told, gpu_ms, tpu_ms, ratio, *by_test))
    return tuple(found)


def disagreeing(found: Iterable[Difference]) -> tuple[Difference, ...]:
    """Those that differ in a printed digit."""
    return tuple(difference for difference in found if not difference.agrees)


def _in_ms(ns: float | None) -> float:
    return _rounded((ns or 0) / 1e6, 3)


def _rounded(value: float, decimals: int) -> float:
    # By the shortest decimal that is this number: 0.125 and 2.675 are what they look like.
    return float(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


@cache
def _data() -> dict[str, Any]:
    text = (resources.files("portbench.published") / "study_2023.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _is(name: str, model: str) -> bool:
    return re.search(_MODELS[name], model) is not None


def _by_status(table: str, column: str, framework: str) -> dict[str, int] | None:
    rows = _data()[table]
    values = rows[column].get(framework) if column in rows and column != "columns" else None
    return values and {_PRINTED[name]: value for name, value in zip(rows["columns"], values, strict=True)}
