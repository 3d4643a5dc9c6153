"""Draws a stratified sample of functions from the counts of a corpus, as a manifest without tests.

As in the paper of 2023, the sample holds the most used functions and random functions of each decile of use. A drawn
function is replaced by another of its decile if it is one of the most used, or if the user excludes it (no test exists,
tests only check errors, another version).

Deciles: of n functions with at least one use, a function that is used more than r others is in decile
1 + floor(10 r / n). Functions with equal use are therefore in one decile, and a decile may be empty.

The draw: the functions of a decile, sorted by the SHA-256 of ``SEED/FRAMEWORK/NAME`` in UTF-8, in lower-case
hexadecimal digits. It depends on no library's random generator, and the functions keep their order when others
are added or removed.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from portbench import __version__
from portbench.errors import BadInput
from portbench.formats.documents import Document, read_document
from portbench.util.strict_json import shown
from portbench.util.text import escape_control

FRAMEWORKS = ("torch", "tensorflow", "jax", "fake")
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*")


@dataclass(frozen=True)
class SampleOptions:
    """The options of ``portbench sample``. ``by``: resolved or identifier. ``framework`` None: the only one."""

    counts: Path
    name: str
    framework: str | None = None
    by: str = "resolved"
    top: int = 20
    per_stratum: int = 5
    seed: int = 0
    exclusions: Path | None = None


@dataclass(frozen=True)
class Drawn:
    """A function of the counts with its stratum."""

    name: str
    uses: int
    decile: int
    top: bool = False


def sample(options: SampleOptions) -> dict[str, Any]:
    """Draws the manifest: functions with their strata and no tests, and how they were drawn.

    Raises BadInput if the counts or exclusions are not valid, or if no function is used.
    """
    document = read_document(options.counts, "counts")
    entry = _framework(document, options.framework)
    excluded = _exclusions(options.exclusions, entry["framework"])
    functions = _with_deciles(entry["functions"], options.by)
    if not functions:
        raise BadInput(
            f"{shown(options.counts)}: no function has a use by the count '{options.by}'", "Give other counts."
        )
    draw = _Draw(functions, options, entry["framework"], excluded)
    chosen = draw.sample()
    version = entry["version"]
    return {
        "schema": "portbench/manifest",
        "schema_version": 3,
        "name": options.name,
        "description": f"A sample of {entry['framework']}'s functions by use in {document.data['corpus']['name']}.",
        "framework": entry["framework"],
        **({"written_for": version} if version and _VERSION.fullmatch(version) else {}),
        "provenance": {
            "portbench": __version__,
            "corpus": {key: document.data["corpus"][key] for key in ("name", "sha256_sum")},
            "counts_sha256": document.sha256,
            "list_sha256": entry["list_sha256"],
            "by": options.by,
            "seed": options.seed,
            "draw": "sha256",
            "top": options.top,
            "per_stratum": options.per_stratum,
            "strata": _strata(functions),
            "replacements": draw.replacements,
        },
        "functions": [
            {
                "function": function.name,
                "stratum": {"decile": function.decile, "uses": function.uses, "top20": function.top},
                "tests": [],
            }
            for function in sorted(chosen, key=lambda drawn: (-drawn.decile, -drawn.uses, drawn.name))
        ],
    }


def as_text(manifest: Mapping[str, Any]) -> str:
    """The manifest as JSON with one function per line. The same manifest gives the same bytes."""
    functions = ",\n".join("  " + json.dumps(entry, ensure_ascii=False) for entry in manifest["functions"])
    head = json.dumps({**manifest, "functions": []}, indent=1, ensure_ascii=False)
    return head.removesuffix("[]\n}") + f"[\n{functions}\n ]\n}}\n"


class _Draw:
    def __init__(
        self,
        functions: Sequence[Drawn],
        options: SampleOptions,
        framework: str,
        excluded: Mapping[str, tuple[str, str | None]],
    ) -> None:
        self.replacements: list[dict[str, Any]] = []
        self._excluded = excluded
        self._top = sorted(functions, key=lambda function: (-function.uses, function.name))[: options.top]
        self._top_names = {function.name for function in self._top}
        self._drawn: list[Drawn] = []
        self._waiting: dict[int, Iterator[Drawn]] = {}
        for decile in sorted({function.decile for function in functions}):
            drawn = sorted(
                (function for function in functions if function.decile == decile),
                key=lambda function: sha256(f"{options.seed}/{framework}/{function.name}".encode()).hexdigest(),
            )
            self._drawn += drawn[: options.per_stratum]
            self._waiting[decile] = iter(drawn[options.per_stratum :])

    def sample(self) -> list[Drawn]:
        top = [replace(function, top=True) for function in self._top]
        chosen = [function if self._reason(function) is None else self._replacement(function) for function in top]
        for function in self._drawn:
            chosen.append(function if self._reason(function) is None else self._replacement(function))
        return [function for function in chosen if function]

    def _reason(self, function: Drawn) -> tuple[str, str | None] | None:
        """The reason why the function is not taken, and a note; None if it is taken."""
        if function.name in self._excluded:
            return self._excluded[function.name]
        return ("overlap", None) if function.name in self._top_names and not function.top else None

    def _replacement(self, function: Drawn) -> Drawn | None:
        """The next function of its decile that can be taken, or None."""
        passed, taken = [function], None
        for candidate in self._waiting[function.decile]:
            if self._reason(candidate) is None:
                taken = candidate
                break
            passed.append(candidate)
        for left in passed:
            reason, note = self._reason(left) or ("other", None)
            record = {"function": left.name, "decile": left.decile, "reason": reason, "note": note}
            self.replacements.append({**record, "replaced_by": taken.name if taken else None})
        return taken


def _with_deciles(functions: Sequence[Mapping[str, Any]], by: str) -> list[Drawn]:
    used = [function for function in functions if function[by]]
    ranks = sorted(function[by] for function in used)
    return [
        Drawn(
            function["name"],
            function[by],
            function.get("decile") or 1 + 10 * bisect_left(ranks, function[by]) // len(ranks),
        )
        for function in used
    ]


def _strata(functions: Sequence[Drawn]) -> list[dict[str, int]]:
    by_decile: dict[int, list[int]] = {}
    for function in functions:
        by_decile.setdefault(function.decile, []).append(function.uses)
    return [
        {"decile": decile, "functions": len(uses), "least_uses": min(uses), "most_uses": max(uses)}
        for decile, uses in sorted(by_decile.items())
    ]


def _framework(document: Document, wanted: str | None) -> dict[str, Any]:
    entries = {entry["framework"]: entry for entry in document.data["frameworks"]}
    if wanted is None and len(entries) > 1:
        raise BadInput(f"{shown(document.path)} counts {', '.join(entries)}", "Select one: --framework NAME.")
    name = wanted or next(iter(entries))
    if name not in entries or name not in FRAMEWORKS:
        raise BadInput(
            f"{shown(document.path)} counts {', '.join(entries)}, not {escape_control(name)}",
            "Count that framework first.",
        )
    if document.data["shard"]:
        raise BadInput(
            f"{shown(document.path)} holds a shard of a corpus", "Add up all shards: 'portbench count --merge'."
        )
    return dict(entries[name])


def _exclusions(path: Path | None, framework: str) -> dict[str, tuple[str, str | None]]:
    if path is None:
        return {}
    data = read_document(path, "exclusions").data
    if data["framework"] != framework:
        raise BadInput(
            f"{shown(path)}: $.framework: found {data['framework']}, expected {framework}",
            f"Give the exclusions of {framework}.",
        )
    return {entry["function"]: (entry["reason"], entry.get("note")) for entry in data["exclusions"]}
