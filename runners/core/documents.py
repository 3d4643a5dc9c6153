"""Parses JSON strictly and checks documents against ``schema/``; the first mistake is reported in one sentence."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from runners.core.errors import shortened
from runners.core.schema_predicate import Predicate, predicate

SCHEMAS = Path(__file__).resolve().parents[2] / "schema"
_LEVELS = 100
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse(content: bytes) -> Any:
    """Parses JSON strictly.

    Raises ValueError, which says where, for text that is not JSON, NaN, a number of more than 64 bits, a duplicate key,
    half of a surrogate pair, and more than a hundred levels.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    try:
        hooks = _Hooks()
        document = json.loads(
            text,
            object_pairs_hook=hooks.unique,
            parse_constant=hooks.refused,
            parse_int=hooks.integer,
            parse_float=hooks.finite,
        )
        # The search takes longer than all the rest, and few documents need it.
        is_doubtful = hooks.has_refused or _ESCAPED_SURROGATE.search(text) or _brackets(text) > _LEVELS
        refused = next(_refused(document, "$", _LEVELS), "") if is_doubtful else ""
    except RecursionError:
        raise ValueError(f"objects and lists are nested too deeply, at most {_LEVELS} levels are allowed") from None
    if refused:
        raise ValueError(refused)
    return document


def schema(name: str) -> dict[str, Any]:
    """The content of ``schema/<name>.schema.json``."""
    found: dict[str, Any] = json.loads((SCHEMAS / (name + ".schema.json")).read_text("utf-8"))
    return found


class Checker(NamedTuple):
    """Checks documents against a schema: ``fits`` says whether one fits, and is fast."""

    fits: Predicate
    schema: Mapping[str, Any]


def checker(name: str) -> Checker:
    """The checker for ``schema/<name>.schema.json``."""
    return checker_of(schema(name))


def checker_of(schema: Mapping[str, Any]) -> Checker:
    """The checker for a schema."""
    return Checker(predicate(schema), schema)


def escaped(value: Any) -> Any:
    """The same JSON value with text that every JSON parser accepts.

    Bytes that are not UTF-8, which Python holds as lone surrogates, become ``\\xff``; other lone surrogates become
    ``\\ud800``.
    """
    if isinstance(value, str):
        return _escaped_text(value) if _SURROGATE.search(value) else value
    if isinstance(value, Mapping):
        return {escaped(str(key)): escaped(item) for key, item in value.items()}
    return [escaped(item) for item in value] if isinstance(value, (list, tuple)) else value


def _escaped_text(text: str) -> str:
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def first_mistake(checker: Checker, document: Any) -> str:
    """The first mistake in a document, as '$.path: message'; empty if there is none."""
    try:
        if checker.fits(document):
            return ""
        # Only a mistake needs jsonschema, whose import takes longer than a small run.
        from runners.core import schema_mistakes

        return schema_mistakes.first(checker.schema, document)
    except RecursionError:
        return "$: objects and lists are nested too deeply"


class _Refused(str):
    """Takes the place of a value that is not allowed, and says why."""


class _Hooks:
    """What json.loads calls for objects, numbers and constants. ``has_refused``: whether one of them is not allowed."""

    def __init__(self) -> None:
        self.has_refused = False

    def refused(self, why: str) -> _Refused:
        self.has_refused = True
        return _Refused(why)

    def unique(self, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any] | _Refused:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        return self.refused(f"the key {shortened(repr(twice))} is duplicated in one object")

    def integer(self, digits: str) -> int | _Refused:
        # The number of digits first: Python takes very long to convert very many, or raises an error.
        if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
            return self.refused(f"{shortened(digits, 24)} needs more than 64 bits")
        return int(digits)

    def finite(self, digits: str) -> float | _Refused:
        number = float(digits)
        return number if math.isfinite(number) else self.refused(f"{shortened(digits, 24)} is too large")


def _brackets(text: str) -> int:
    """At least as many as there are levels."""
    return text.count("[") + text.count("{")


def _refused(value: Any, path: str, levels: int) -> Iterator[str]:
    if levels == 0:
        raise RecursionError
    if isinstance(value, _Refused):
        # For a constant (NaN, Infinity), only its name is known.
        yield f"{path}: " + (value if " " in value else f"{value} is not JSON")
    elif isinstance(value, str) and _SURROGATE.search(value):
        yield f"{path}: a text has half of a surrogate pair"
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _refused(item, f"{path}[{position}]", levels - 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if _SURROGATE.search(key):
                yield f"{path}: a key has half of a surrogate pair"
            yield from _refused(item, f"{path}.{shortened(key, 60)}", levels - 1)
