"""The figures of the paper "The Grand Illusion" (Mince et al., 2023): access to study_2023.json, which names its
source.

Functions have the name that the paper prints (see ``portbench.analysis.strata.Stratum.listed_as``). Statuses have our
keys: pass, partial, complete. This module only reads data; ``portbench.analysis.published`` compares it with a study.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

FRAMEWORKS = ("tensorflow", "torch", "jax")
"""In the order of the paper's tables."""

TOP20, OTHERS = "top20", "others"
"""Strata of the paper's sample: the 20 most used functions of a framework; all others, which the paper drew by decile
of use (its Table 4 calls them "all functions")."""

_STEPS = {("T4", "A100"): "T4_to_A100", ("v2-8", "v3-8"): "v2_to_v3"}
_PRINTED = {"success": "all_pass", "partial": "some_fail", "complete": "all_fail", "total": "total"}


@dataclass(frozen=True)
class PublishedColumn:
    """A column of the paper: ``device`` is "gpu" or "tpu", ``model`` "T4", "A100", "v3-8" or "v2-8".

    Its Tables 1, 4, 5-7 and 8 are of the primary models, T4 and v3-8."""

    framework: str
    device: str
    model: str

    @property
    def is_primary(self) -> bool:
        """Whether the model is the T4 or the v3-8."""
        return self.model in _data()["devices"]["primary"]


@dataclass(frozen=True)
class PublishedLatency:
    """A row of Tables 5-7: milliseconds as printed, and the printed ratio of TPU over GPU, computed from these."""

    function: str
    gpu_ms: float
    tpu_ms: float
    ratio: float


def source() -> str:
    """The authors, title and year of the paper."""
    return str(_data()["source"])


def versions() -> Mapping[str, str]:
    """The version of each framework that the paper measured."""
    found: dict[str, str] = _data()["versions"]
    return found


def protocol() -> Mapping[str, Any]:
    """How the paper measured: ``runs``, ``timeout_s``, ``clock``, ``sync`` and ``statistic``, in words."""
    found: dict[str, Any] = _data()["protocol"]
    return found


def models(device: str) -> tuple[str, ...]:
    """The models of "gpu" or "tpu" that the paper measured; empty for any other device."""
    return tuple(_data()["devices"].get(device, ()))


def table1(framework: str, device: str) -> Mapping[str, int] | None:
    """Percent of functions by status (pass, partial, complete) on "gpu" or "tpu"; None where the paper has none."""
    return _by_status("table1_percent", device, framework)


def table3(framework: str, model: str) -> Mapping[str, int] | None:
    """Percent of functions by status on "T4" or "A100"; None where the paper has none."""
    return _by_status("table3_percent", model, framework)


def table4(framework: str, device: str) -> Mapping[str, int] | None:
    """Percent of functions that fail, partially or completely, by stratum: TOP20 and OTHERS.

    The figures of OTHERS are shares of the functions drawn by decile alone (torch on gpu: 5 of 50). Tensorflow's 22 %
    on gpu is 11 of 50 by the raw data; by the counts of Table 8, 14 of all 65 rounds to the same.
    """
    rows = _data()["table4_failure_percent"].get(device)
    if rows is None or framework not in rows["all"]:
        return None
    return {TOP20: rows["top20"][framework], OTHERS: rows["all"][framework]}


def table8(framework: str, device: str) -> Mapping[str, int] | None:
    """Number of functions by status, and "total", as printed (torch on tpu: they add up to one more than the total)."""
    return _by_status("table8_counts", device, framework)


def possible_statuses(framework: str, device: str) -> Mapping[str, frozenset[str]] | None:
    """Which statuses each function of the paper's sample may have had on "gpu" (T4) or "tpu" (v3-8), by the printed
    name; None where the paper has no counts.

    The paper prints no status of a function, but its tables imply some: a function with a latency in Tables 5-7 passed
    some test on both devices. One without failed completely on at least one device, or had nothing timed. Table 8 says
    how many functions failed completely on this device, which may be all of those.
    """
    counts = table8(framework, device)
    if counts is None:
        return None
    timed = frozenset(("all_pass", "some_fail") if counts["some_fail"] else ("all_pass",))
    untimed = [row["name"] for row in sample(framework) if not row["published_ms"]]
    others = frozenset(("all_fail",)) if counts["all_fail"] == len(untimed) else timed | {"all_fail"}
    return {row["name"]: others if row["name"] in untimed else timed for row in sample(framework)}


def latencies(framework: str) -> Mapping[str, PublishedLatency]:
    """Tables 5-7 (Table 7 is JAX's), by function, in the printed order: greatest ratio first."""
    return {
        row["name"]: PublishedLatency(row["name"], printed["gpu"], printed["tpu"], printed["ratio"])
        for row in sample(framework)
        if (printed := row["published_ms"])
    }


def enumerated_functions() -> Mapping[str, int]:
    """How many functions the paper found in each framework: short names, in its versions."""
    found: Mapping[str, int] = _data()["enumerated_functions"]
    return found


def faster_on_newer(framework: str, older: str, newer: str) -> float | None:
    """The percentage, in the paper's text, of functions that are 1.5 times faster on the newer of two models."""
    figures: Mapping[str, float] = headlines()["faster_1_5x_on_newer"].get(_STEPS.get((older, newer), ""), {})
    return figures.get(framework)


def headlines() -> Mapping[str, Any]:
    """The figures in the paper's text: "headlines" of the data file."""
    found: dict[str, Any] = _data()["headlines"]
    return found


def sample(framework: str) -> list[dict[str, Any]]:
    """The functions of the paper's sample, as in the data file.

    name, importable_as (null: the same), decile, uses, top20, published_ms (null where Tables 5-7 do not have it)."""
    return [row for row in _data()["functions"] if row["framework"] == framework]


def raw_data() -> Path:
    """The folder of the paper's raw data, with a folder for each framework (see its README.md)."""
    return Path(__file__).with_name("raw_2023")


def raw_test_files(framework: str) -> Mapping[str, str]:
    """The function that each test file of the paper's raw data tests, by the printed name; empty where unknown."""
    return _raw_test_files().get(framework, {}) if framework in FRAMEWORKS else {}


def machine(model: str) -> str:
    """The name of the machine in run files of the paper's own measurements on a model of device."""
    return f"study-2023-{model.lower()}"


def reason(kind: str, column: PublishedColumn) -> str:
    """Why a cell of the paper differs from what its raw data give by its method: differences.json; empty where that is
    not known. ``kind``: "table-1" and so on, or "failures", "slower", "newer" for figures of its text."""
    for entry in _differences():
        if (
            kind in entry["kinds"]
            and entry.get("framework", column.framework) == column.framework
            and entry.get("device", column.device) == column.device
            and column.model in entry.get("models", [column.model])
        ):
            return str(entry["says"])
    return ""


@cache
def _differences() -> list[dict[str, Any]]:
    text = (resources.files("portbench.published") / "differences.json").read_text("utf-8")
    found: list[dict[str, Any]] = json.loads(text)["differences"]
    return found


@cache
def explanations() -> list[dict[str, Any]]:
    """Sentences that explain why predicted rates differ from the paper's: framework, device (null: any), says."""
    text = (resources.files("portbench.published") / "predicted_against_published.json").read_text("utf-8")
    found: list[dict[str, Any]] = json.loads(text)["sentences"]
    return found


def paper_rounding(percent: float) -> int:
    """A percentage as the paper prints it: to the nearest whole number, halves up."""
    return int(round_half_up(percent, 0))


def round_half_up(value: float, decimals: int) -> float:
    """``value`` with so many decimals, halves up, as the paper rounds its printed figures."""
    # By the shortest decimal that is this number: 0.125 and 2.675 are what they look like.
    return float(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


@cache
def _raw_test_files() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((raw_data() / "files.json").read_text("utf-8"))
    return found


@cache
def _data() -> dict[str, Any]:
    text = (resources.files("portbench.published") / "study_2023.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _by_status(table: str, column: str, framework: str) -> dict[str, int] | None:
    rows = _data()[table]
    values = rows[column].get(framework) if column in rows and column != "columns" else None
    return values and {_PRINTED[name]: value for name, value in zip(rows["columns"], values, strict=True)}
