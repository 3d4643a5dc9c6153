"""How many public functions of a framework have a test, by module, and which used ones have none.

Functions are counted, not tests. The denominators are a list of 'portbench enumerate', and those of it that are in
scope (see portbench.corpus.scope). A function that a manifest names by another public name is the same function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portbench.corpus.scope import Scope
from portbench.corpus.scope import scope as scope_of
from portbench.errors import BadInput
from portbench.formats.documents import Document
from portbench.util.strict_json import shown

_SAMPLED = ".sampled:sample"
_REPEATED_BY_HOST = ("replay", "program")
_REPLAYED = ".sampled:replay"


@dataclass(frozen=True)
class Covered:
    """Numbers of functions: all; those with a test; with a test against a reference that is not the framework itself;
    with a test of gradients. ``uses`` counts the calls of all and of those with a test, in a corpus."""

    functions: int
    tested: int
    independent: int
    gradient: int
    uses: int
    tested_uses: int


@dataclass(frozen=True)
class Missing:
    """A function without a test. ``uses``: None without a corpus. ``out_of_scope``: the reason, None if in scope."""

    function: str
    uses: int | None
    out_of_scope: str | None


@dataclass(frozen=True)
class Coverage:
    """The coverage of a list of functions, and of those in scope. ``out_of_scope`` counts the others by their reasons.
    ``by_module`` is of those in scope. ``missing`` is in the order of use, then of names, those in scope first.
    ``unlisted`` are tested functions that the list does not have, such as methods."""

    framework: str
    version: str
    all: Covered
    in_scope: Covered
    out_of_scope: Mapping[str, int]
    by_module: Mapping[str, Covered]
    missing: Sequence[Missing]
    unlisted: Sequence[str]


def coverage(manifests: Sequence[Document], functions: Document, counts: Document | None = None) -> Coverage:
    """Holds manifests against a list of functions. Raises BadInput for another framework, and for counts without it."""
    target = functions.data["target"]
    framework: str = target["framework"]
    for manifest in manifests:
        if manifest.data["framework"] != framework:
            raise BadInput(
                f"{shown(manifest.path)}: $.framework: found {manifest.data['framework']}, expected {framework}, as in "
                f"{shown(functions.path)}",
                "Give manifests and a list of one framework.",
            )
    names = {
        name: entry["name"] for entry in functions.data["functions"] for name in (entry["name"], *entry["aliases"])
    }
    uses = _uses(counts, framework, names) if counts else None
    tests: dict[str, list[Mapping[str, Any]]] = {}
    unlisted = set()
    for manifest in manifests:
        for entry in manifest.data["functions"]:
            name = names.get(entry["function"])
            if name is None:
                unlisted.add(entry["function"])
            elif entry["tests"]:
                tests.setdefault(name, []).extend(entry["tests"])
    listed = [entry["name"] for entry in functions.data["functions"]]
    why_out = _why_out(functions, scope_of(framework))
    in_scope = [name for name in listed if name not in why_out]
    modules: dict[str, list[str]] = {}
    for name in in_scope:
        modules.setdefault(_module(name), []).append(name)
    missing = [
        Missing(name, None if uses is None else uses.get(name, 0), why_out.get(name))
        for name in listed
        if name not in tests
    ]
    return Coverage(
        framework,
        target["version"],
        _covered(listed, tests, uses or {}),
        _covered(in_scope, tests, uses or {}),
        dict(Counter(why_out.values()).most_common()),
        {module: _covered(modules[module], tests, uses or {}) for module in sorted(modules)},
        sorted(missing, key=lambda each: (each.out_of_scope is not None, -(each.uses or 0), each.function)),
        sorted(unlisted),
    )


def _why_out(functions: Document, scope: Scope) -> Mapping[str, str]:
    """The functions that are out of scope, each with the reason."""
    reasons = {entry["name"]: scope.why_out(entry["name"], entry["kind"]) for entry in functions.data["functions"]}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def as_data(found: Coverage) -> dict[str, Any]:
    """The coverage as JSON."""
    return {
        "framework": found.framework,
        "version": found.version,
        "all": _as_data(found.all),
        "in_scope": _as_data(found.in_scope),
        "out_of_scope": dict(found.out_of_scope),
        "by_module": {module: _as_data(each) for module, each in found.by_module.items()},
        "missing": [dict(vars(each)) for each in found.missing],
        "unlisted": list(found.unlisted),
    }


def _as_data(covered: Covered) -> dict[str, int]:
    return dict(vars(covered))


def _uses(counts: Document, framework: str, names: Mapping[str, str]) -> Mapping[str, int]:
    """Resolved calls in the corpus by canonical name."""
    for entry in counts.data["frameworks"]:
        if entry["framework"] == framework:
            found: dict[str, int] = {}
            for function in entry["functions"]:
                name = names.get(function["name"], function["name"])
                found[name] = found.get(name, 0) + function["resolved"]
            return found
    known = ", ".join(entry["framework"] for entry in counts.data["frameworks"])
    raise BadInput(
        f"{shown(counts.path)}: $.frameworks: found {known}, expected {framework}",
        f"Count again with a list of {framework}.",
    )


def _covered(
    names: Sequence[str], tests: Mapping[str, Sequence[Mapping[str, Any]]], uses: Mapping[str, int]
) -> Covered:
    tested = [name for name in names if name in tests]
    return Covered(
        functions=len(names),
        tested=len(tested),
        independent=sum(any(map(_is_independent, tests[name])) for name in tested),
        gradient=sum(any(map(_has_gradient, tests[name])) for name in tested),
        uses=_sum(uses, names),
        tested_uses=_sum(uses, tested),
    )


def _sum(uses: Mapping[str, int], names: Iterable[str]) -> int:
    return sum(uses.get(name, 0) for name in names)


def _is_independent(test: Mapping[str, Any]) -> bool:
    """Whether a test's reference is not the same framework on the host."""
    if test["case"].endswith(_SAMPLED):
        return bool(test["params"].get("reference") == "independent")
    if test["case"].endswith(_REPLAYED):
        return False
    return test["case"] not in _REPEATED_BY_HOST and "raises" not in test.get("expect", ())


def _has_gradient(test: Mapping[str, Any]) -> bool:
    params, grid = test.get("params", {}), test.get("grid", {})
    return bool(test.get("gradient") or params.get("gradient") is True or "gradient" in grid.get("mutation", ()))


def _module(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[: 2 if len(parts) > 2 else 1])
