"""All that a study foretells, and how it holds against what was measured and what was published."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from portbench.analysis.accuracy import PredictionMatch, held
from portbench.analysis.accuracy_published import PublishedComparison, beside_published
from portbench.analysis.foretold import Foretold, foretold


@dataclass(frozen=True)
class Predictions:
    """Of each predicted side what was ``foretold``; ``held`` against measured sides, and ``beside`` published ones."""

    foretold: tuple[Foretold, ...] = ()
    held: tuple[PredictionMatch, ...] = ()
    beside: tuple[PublishedComparison, ...] = ()


def predictions_of(connection: duckdb.DuckDBPyConnection) -> Predictions:
    """What the study foretells that ``connection`` shows; ``portbench.analysis.analyse`` was called on it."""
    found = foretold(connection)
    return Predictions(found, held(connection), beside_published(connection, found)) if found else Predictions()
