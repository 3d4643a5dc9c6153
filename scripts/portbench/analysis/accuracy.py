"""What was foretold of a device held against what was measured on it, test by test: hits, misses and false alarms.

A hit was foretold to fail and failed; a miss failed and was foretold to pass; a false alarm passed and was foretold to
fail. A test that fails on the CPU too says nothing of the device, and stands apart. Placement is held the same way:
a test that passed on both sides is a hit where its work was foretold to be on the host, at least partly, and was.
Needs the views of ``portbench.analysis.analyse``. Text out of run files is in it: printers escape it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import duckdb

from portbench.analysis.configurations import Configuration, device_model, measured_sides, predicted_sides
from portbench.study.summary import Row, fetch_dicts
from portbench.util.sql import load_sql

SETTLED = ("hit", "miss", "false alarm", "both pass")
APART = ("not foretold", "not run", "flaky", "fails on the CPU too")
"""What comes of a test: by the two sides, and what says nothing of the prediction."""

HOW_HELD = (
    "hit: foretold to fail, and failed; miss: failed, and was foretold to pass; false alarm: foretold to fail, and "
    "passed. A test that fails on the CPU too (the control run, or the CPU as a target of the study) says nothing of "
    "the device and stands apart, as do tests that were not foretold, not run, or passed in some runs only."
)
HOW_PLACED = (
    "By placement, of the tests that pass on both: a hit was foretold to have work on the host, and had; a miss had, "
    "and was not foretold to."
)

_MODELS = {
    "tpu-v2": r"\bv2\b",
    "tpu-v3": r"\bv3\b",
    "tpu-v4": r"\bv4\b(?! lite)",
    "tpu-v5e": r"\bv5 ?(e\b|lite)",
    "tpu-v5p": r"\bv5(p\b|-|$)",
    "tpu-v6e": r"\bv6 ?(e\b|lite)",
    "tpu7x": r"7x",
    "gpu-predicted": r"^(?!.*\b(AMD|Radeon|Instinct)\b)",
    "rocm-predicted": r"\b(AMD|Radeon|Instinct)\b",
}
"""How the model of a measured device is named: by accelerator types (v5litepod-4) or frameworks (TPU v5 lite)."""


@dataclass(frozen=True)
class PredictionMatch:
    """A predicted side, and the measured one that it is held against, whose device is a ``model``.

    ``rows``: a row for each test that both sides have, with function, successor_of, test, outcome (of SETTLED or
    APART), placement (of SETTLED, or None) and both sides' category and message."""

    predicted: Configuration
    measured: Configuration
    model: str
    rows: tuple[Row, ...]

    @property
    def outcomes(self) -> Mapping[str, int]:
        """How many tests have which outcome."""
        return Counter(row["outcome"] for row in self.rows)

    @property
    def placements(self) -> Mapping[str, int]:
        """How many tests are what by placement."""
        return Counter(row["placement"] for row in self.rows if row["placement"])

    @property
    def same_category(self) -> int:
        """Hits whose categories agree."""
        hits = (row for row in self.rows if row["outcome"] == "hit")
        return sum(row["predicted_category"] == row["measured_category"] for row in hits)

    @property
    def missed_categories(self) -> Mapping[str, int]:
        """Why the misses failed, the most frequent category first."""
        missed = Counter(row["measured_category"] or "other" for row in self.rows if row["outcome"] == "miss")
        return dict(missed.most_common())


def held(connection: duckdb.DuckDBPyConnection) -> tuple[PredictionMatch, ...]:
    """Every predicted side with the same framework on the same device measured, sorted."""
    found = []
    models = device_model(connection)
    for predicted, measured in counterparts(predicted_sides(connection), measured_sides(connection), models):
        names = ("framework", "version", "device", "machine", "sync")
        for name, side in (("first", predicted), ("second", measured)):
            connection.execute(f"SET VARIABLE {name} = ?", [dict(zip(names, side.key, strict=True))])
        connection.execute(load_sql("analysis", "prediction_matches"))
        rows = fetch_dicts(connection, "FROM held_tests ORDER BY function, successor_of, test")
        found.append(PredictionMatch(predicted, measured, models[measured] or "", tuple(rows)))
    return tuple(found)


def counterparts(
    predicted: Iterable[Configuration], measured: Iterable[Configuration], models: Mapping[Configuration, str | None]
) -> list[tuple[Configuration, Configuration]]:
    """Which measured sides each predicted one is held against: those of its framework on a device of its model, of its
    own version where there is one, else of every other; on each machine by the complete wait, if that was taken."""
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


def _device(predicted: Configuration) -> str:
    return "tpu" if predicted.device.startswith("tpu") else "gpu"


def _is_model(predicted: Configuration, model: str | None) -> bool:
    if model is None or re.search(_MODELS[predicted.device], model) is None:
        return False
    # One that tells less than its generation ("v2 or v3") is none for certain.
    return len(set(re.findall(r"\bv\d", model))) <= 1
