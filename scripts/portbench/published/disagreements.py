"""Why predicted statuses of functions differ from what the paper published: disagreements.json.

One row for each miss and false alarm of a predicted target, made by hand from the authors' reports and our run files.
A disagreement without a row has not been looked at; NOT_KNOWN is the cause of one that was, without finding it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Explanation:
    """Why the prediction of ``function`` (by its printed name) for ``target`` is a miss or a false alarm (``outcome``).

    ``cause`` is one of ``causes()``; ``evidence`` says what was seen where."""

    target: str
    function: str
    outcome: str
    cause: str
    evidence: str


@cache
def causes() -> Mapping[str, str]:
    """What each cause of a disagreement means."""
    found: dict[str, str] = json.loads(_text())["causes"]
    return found


@cache
def explanations() -> tuple[Explanation, ...]:
    """Every disagreement that somebody looked at."""
    return tuple(Explanation(**row) for row in json.loads(_text())["disagreements"])


def explain(target: str, function: str, outcome: str) -> Explanation | None:
    """Why a function's prediction differs from the paper's result; None where nobody looked at it yet."""
    for one in explanations():
        if (one.target, one.function, one.outcome) == (target, function, outcome):
            return one
    return None


def _text() -> str:
    return (resources.files("portbench.published") / "disagreements.json").read_text("utf-8")
