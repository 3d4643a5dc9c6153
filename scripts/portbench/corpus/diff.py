"""Differences between two lists of functions: added, removed and moved functions, and changed signatures.

A function of the first list is matched with one of the second by its public names, the canonical name first. Functions
without such a match are matched by module and qualified name. A function has *moved* if its canonical name is different
in the second list, whether or not the old name still works. A function without a match was *removed*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portbench.errors import Contradiction
from portbench.formats.documents import Document
from portbench.util.strict_json import shown

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Move:
    """A function with another canonical name. ``keeps_old``: the old name still works."""

    old: str
    new: str
    keeps_old: bool


@dataclass(frozen=True)
class SignatureChange:
    """A function with another signature. ``name`` is the name in the second list."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Changes:
    """All differences, sorted by name. ``kept`` counts the functions that are in both lists, under any name."""

    before: str
    after: str
    kept: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    moved: tuple[Move, ...]
    signatures: tuple[SignatureChange, ...]


def changes(before: Document, after: Document) -> Changes:
    """Compares two lists. Raises Contradiction if they have different frameworks or rules."""
    _must_agree("framework", before, after, before.data["target"], after.data["target"])
    for key in ("name", "methods"):
        _must_agree(key, before, after, before.data["rule"], after.data["rule"])
    pairs = dict(_pairs(before.data["functions"], after.data["functions"]))
    old = {entry["name"]: entry for entry in before.data["functions"]}
    new = {entry["name"]: entry for entry in after.data["functions"]}
    found = [(old[first], new[second]) for first, second in sorted(pairs.items())]
    return Changes(
        before=target_of(before),
        after=target_of(after),
        kept=len(found),
        added=tuple(sorted(new.keys() - set(pairs.values()))),
        removed=tuple(sorted(old.keys() - pairs.keys())),
        moved=tuple(
            Move(first["name"], second["name"], first["name"] in second["aliases"])
            for first, second in found
            if first["name"] != second["name"]
        ),
        signatures=tuple(
            SignatureChange(second["name"], first["signature"], second["signature"])
            for first, second in found
            if None not in (first["signature"], second["signature"]) and first["signature"] != second["signature"]
        ),
    )


def target_of(document: Document) -> str:
    """The target of a list, such as torch-2.9.0-cpu."""
    return "{framework}-{version}-{device}".format(**document.data["target"])


def as_data(found: Changes) -> dict[str, Any]:
    """The changes as plain data for JSON."""
    return {
        "before": found.before,
        "after": found.after,
        "kept": found.kept,
        "added": list(found.added),
        "removed": list(found.removed),
        "moved": [{"old": move.old, "new": move.new, "keeps_old": move.keeps_old} for move in found.moved],
        "signatures": [
            {"name": change.name, "before": change.before, "after": change.after} for change in found.signatures
        ],
    }


def _must_agree(key: str, before: Document, after: Document, first: Entry, second: Entry) -> None:
    if first[key] != second[key]:
        raise Contradiction(
            f"the lists cannot be compared: {key} is {first[key]} in {shown(before.path)}, "
            f"and {second[key]} in {shown(after.path)}",
            "Create both lists for the same framework, with the same options.",
        )


def _pairs(before: Sequence[Entry], after: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """The canonical names of each function that is in both lists. A name is in one pair only. Equal names come first,
    because an alias may lead to a function that is matched by its own name already."""
    names = {name: entry["name"] for entry in after for name in (*entry["aliases"], entry["name"])}
    canonical = {entry["name"] for entry in after}
    taken = {entry["name"] for entry in before if entry["name"] in canonical}
    yield from ((name, name) for name in sorted(taken))
    left = [entry for entry in before if entry["name"] not in taken]
    lost = []
    for entry in left:
        same = [names[name] for name in (entry["name"], *entry["aliases"]) if name in names]
        free = next((name for name in same if name not in taken), None)
        if free is None:
            # Two functions became one, and the other function is matched with that name.
            if entry["name"] in names:
                yield entry["name"], names[entry["name"]]
            else:
                lost.append(entry)
            continue
        taken.add(free)
        yield entry["name"], free
    homes = {(entry["module"], entry["qualname"]): entry["name"] for entry in after if entry["name"] not in taken}
    for entry in lost:
        found = homes.pop((entry["module"], entry["qualname"]), None)
        if found is not None:
            yield entry["name"], found
