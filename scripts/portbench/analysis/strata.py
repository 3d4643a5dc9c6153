"""The stratum of a function in the sample that its manifest was drawn from."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

_QUERY = """
    SELECT framework, function, min(decile), max(uses), bool_or(top20), min(listed_as)
    FROM listed_functions
    GROUP BY ALL
"""


@dataclass(frozen=True)
class Stratum:
    """``decile`` of use (1 to 10, the most used), ``uses`` in the corpus, whether it is one of the ``top20`` of its
    framework; each null where the manifest does not say. ``listed_as``: the name that the sample prints."""

    decile: int | None
    uses: int | None
    top20: bool | None
    listed_as: str


def strata(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], Stratum]:
    """The stratum of each function, by framework and function, as far as the run files list their manifests' functions.

    Needs the view listed_functions (see schema/README.md).
    """
    return {
        (framework, function): Stratum(decile, uses, top20, listed_as or function)
        for framework, function, decile, uses, top20, listed_as in connection.sql(_QUERY).fetchall()
    }
