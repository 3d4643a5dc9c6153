"""What could be done about a function that a target refuses: a successor, from a table with a source for each row.

The table is successors.json; the successors of removed functions in the study's manifests belong to it. What the study
or the program itself shows about the successor on that target is said, too. A successor that is known to fail there is
not offered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from portbench.record.known import Known
from portbench.record.model import Advice, Successor, TargetVerdict
from portbench.util.repository import Checkout
from portbench.util.strict_json import read_json

_ADVISED = ("refused", "wrong", "host")


def advise(target: TargetVerdict, known: Known, checkout: Checkout) -> None:
    """Adds to the findings of a target what could be done about them. ``known``: what a study says of functions."""
    for finding in target.findings:
        if finding.verdict in _ADVISED:
            for successor in successors(checkout).get(finding.function, ()):
                said = _known(successor.instead, target, known)
                if said:
                    finding.advice.append(Advice(successor, said))


def _known(function: str, target: TargetVerdict, known: Known) -> str:
    """What is known of a function on a target; empty: that it does not run there."""
    if function in target.running:
        return "this program calls it, and it runs there"
    if any(finding.function == function and finding.verdict != "unknown" for finding in target.findings):
        return ""
    status = known.of(function, target.target)
    if status is None:
        return "not known whether it runs there"
    return f"all its tests pass on {status.target}" if status.status == "all_pass" else ""


@cache
def successors(checkout: Checkout) -> Mapping[str, tuple[Successor, ...]]:
    """The table: what can take the place of each function."""
    found: dict[str, tuple[Successor, ...]] = {}
    for name, successor in (*_of_manifests(checkout), *_curated()):
        if successor.instead != name:
            found[name] = (*found.get(name, ()), successor)
    return found


def _curated() -> Iterator[tuple[str, Successor]]:
    rows: list[dict[str, str]] = json.loads(
        (resources.files("portbench.record") / "successors.json").read_text("utf-8")
    )["successors"]
    for row in rows:
        yield row["function"], Successor(row["instead"], row["if"], row["source"])


def _of_manifests(checkout: Checkout) -> Iterator[tuple[str, Successor]]:
    for path in sorted((checkout.manifests / "study").glob("*.json")):
        manifest: Any = read_json(path).data
        for entry in manifest["functions"]:
            for name in entry.get("successors", ()):
                yield entry["function"], Successor(name, "", f"manifests/study/{path.name}")
