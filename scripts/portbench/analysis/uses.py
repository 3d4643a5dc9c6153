"""How often the functions of a study are used, from a count of a corpus."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from portbench.analysis.rate_model import Uses
from portbench.errors import BadInput
from portbench.formats.documents import read_document
from portbench.study.document import TargetEntry
from portbench.util.strict_json import shown


def read_uses(path: Path, targets: Iterable[TargetEntry]) -> Uses:
    """The resolved calls of each function by 'portbench count'. Raises BadInput for a file that is no count, or has
    none of the frameworks of the study, whose ``targets`` are given."""
    counts = read_document(path, "counts").data["frameworks"]
    frameworks = sorted({entry["target"]["framework"] for entry in targets})
    if not any(entry["framework"] in frameworks for entry in counts):
        known = ", ".join(entry["framework"] for entry in counts)
        raise BadInput(
            f"{shown(path)}: $.frameworks: found {known}, expected one of {', '.join(frameworks)}",
            "Count with a list of a framework of this study ('portbench enumerate').",
        )
    uses: dict[tuple[str, str], int] = {}
    for entry in counts:
        for function in entry["functions"]:
            uses[entry["framework"], function["name"]] = function["resolved"]
    return uses
