"""Compares what was predicted for a device with what was measured on it, test by test.

An agreement was predicted to fail, and failed; a missed failure failed, but was predicted to pass; a false alarm was
predicted to fail, but passed. A test that fails on the CPU too says nothing of the device and is counted apart.
Placement is compared in the same way over the tests that pass on both: an agreement was predicted to have work on the
host, and had. Needs the views of ``portbench.study.summary.analyse``. Its text comes out of run files: printers escape
it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import duckdb

from portbench.analysis.configurations import Configuration, device_model, measured_sides, predicted_sides
from portbench.study.summary import fetch_dicts
from portbench.util.sql import load_sql

AGREEMENT, MISSED, FALSE_ALARM, BOTH_PASS = "agreement", "missed", "false alarm", "both pass"
WRONG = (MISSED, FALSE_ALARM)
APART = ("not predicted", "not run", "flaky", "fails on the CPU too")
"""The outcomes of a test that say nothing of the prediction."""

HOW_MATCHED = (
    "agreement: predicted to fail, and failed; missed: failed, but was predicted to pass; false alarm: predicted to "
    "fail, but passed. A test that fails on the CPU too (the control run, or the CPU as a target of the study) says "
    "nothing of the device and is counted apart, as are tests that were not predicted, not run, or passed in some runs "
    "only."
)
HOW_PLACED = (
    "By placement, of the tests that pass on both: an agreement was predicted to have work on the host, and had; a "
    "missed one had, but was not predicted to."
)

_MODELS = {
    "tpu-v2": r"\bv2\b",
    "tpu-v3": r"\bv3\b",
    "tpu-v4": r"\bv4\b(?! lite)",
    "tpu-v5e": r"\bv5 ?(e\b|lite)",
    "tpu-v5p": r"\bv5(p\b|-|$)",
    "tpu-v6e": r"\bv6 ?(e\b|lite)",
    "tpu7x": r"7x",
    "gpu-t4": r"\bT4\b",
    "gpu-v100": r"\bV100\b",
    "gpu-a100": r"\bA100\b",
    "gpu-h100": r"\bH100\b",
    "gpu-h200": r"\bH200\b",
    "gpu-b200": r"\bB200\b",
    "gpu-predicted": r"^(?!.*\b(AMD|Radeon|Instinct)\b)",
    "mps-predicted": r"^Apple\b",
    "rocm-predicted": r"\b(AMD|Radeon|Instinct)\b",
}
"""Matches the model of a measured device: an accelerator type (v5litepod-4) or a framework's name (TPU v5 lite)."""


@dataclass(frozen=True)
class Accuracy:
    """How many tests were predicted rightly and wrongly."""

    agreements: int
    missed: int
    false_alarms: int
    both_pass: int

    @property
    def tests(self) -> int:
        """All tests that say something of the prediction."""
        return self.agreements + self.missed + self.false_alarms + self.both_pass

    @property
    def failures(self) -> int:
        """The tests that failed."""
        return self.agreements + self.missed

    @property
    def predicted_failures(self) -> int:
        """The tests that were predicted to fail."""
        return self.agreements + self.false_alarms


@dataclass(frozen=True)
class MatchedTest:
    """A test that was predicted and measured. ``outcome`` is AGREEMENT to BOTH_PASS, or one of APART; ``placement`` is
    AGREEMENT to BOTH_PASS, or None. ``successor_of``: '' for nothing."""

    function: str
    successor_of: str
    test: str
    outcome: str
    placement: str | None
    predicted_category: str | None
    measured_category: str | None
    predicted_message: str | None
    measured_message: str | None


@dataclass(frozen=True)
class PredictionMatch:
    """A predicted configuration, and the measured one that it is compared with, whose device is a ``model``. ``tests``
    are all that both have."""

    predicted: Configuration
    measured: Configuration
    model: str
    tests: tuple[MatchedTest, ...]

    @property
    def failures(self) -> Accuracy:
        """How well failures were predicted."""
        return _accuracy(test.outcome for test in self.tests)

    @property
    def placements(self) -> Accuracy:
        """How well work on the host was predicted."""
        return _accuracy(test.placement for test in self.tests)

    @property
    def apart(self) -> Mapping[str, int]:
        """How many tests say nothing of the prediction, by each of APART."""
        counts = Counter(test.outcome for test in self.tests)
        return {name: counts[name] for name in APART}

    @property
    def same_category(self) -> int:
        """Agreements whose categories are the same."""
        agreements = (test for test in self.tests if test.outcome == AGREEMENT)
        return sum(test.predicted_category == test.measured_category for test in agreements)

    @property
    def missed_categories(self) -> Mapping[str, int]:
        """Why the missed failures failed, the most frequent category first."""
        missed = Counter(test.measured_category or "other" for test in self.tests if test.outcome == MISSED)
        return dict(missed.most_common())


def match_predictions(connection: duckdb.DuckDBPyConnection) -> tuple[PredictionMatch, ...]:
    """Every predicted configuration with the same framework on the same device measured, sorted."""
    found = []
    models = device_model(connection)
    for predicted, measured in counterparts(predicted_sides(connection), measured_sides(connection), models):
        for name, side in (("first", predicted), ("second", measured)):
            connection.execute(f"SET VARIABLE {name} = {side.literal}")
        connection.execute(load_sql("analysis", "prediction_matches"))
        rows = fetch_dicts(connection, "FROM prediction_matches ORDER BY function, successor_of, test")
        tests = tuple(MatchedTest(**row) for row in rows)
        found.append(PredictionMatch(predicted, measured, models[measured] or "", tests))
    return tuple(found)


def counterparts(
    predicted: Iterable[Configuration], measured: Iterable[Configuration], models: Mapping[Configuration, str | None]
) -> list[tuple[Configuration, Configuration]]:
    """Which measured configurations each predicted one is compared with: those of its framework on a device of its
    model, of its own version if there is one, else of all versions; on each machine those that waited for all of their
    work, if there are any."""
    every = list(measured)
    found = []
    for side in predicted:
        alike = [other for other in every if other.framework == side.framework and _is_model(side, models.get(other))]
        alike = [other for other in alike if other.device == _device(side)]
        own = [other for other in alike if other.version == side.version] or alike
        timed = {(other.target, other.machine) for other in own if other.sync == "complete"}
        found += [
            (side, other) for other in own if other.sync == "complete" or (other.target, other.machine) not in timed
        ]
    return found


def _accuracy(outcomes: Iterable[str | None]) -> Accuracy:
    counts = Counter(outcomes)
    return Accuracy(counts[AGREEMENT], counts[MISSED], counts[FALSE_ALARM], counts[BOTH_PASS])


def _device(predicted: Configuration) -> str:
    return "tpu" if predicted.device.startswith("tpu") else "gpu"


def _is_model(predicted: Configuration, model: str | None) -> bool:
    if model is None or re.search(_MODELS[predicted.device], model) is None:
        return False
    # A model that names several generations ("v2 or v3") is none for certain.
    return len(set(re.findall(r"\bv\d", model))) <= 1
