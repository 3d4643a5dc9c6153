"""Reading and checking JSON documents against ``schema/``: strict parsing, one sentence for the first mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterable

import jsonschema
from jsonschema.exceptions import ValidationError

SCHEMAS = Path(__file__).resolve().parents[2] / "schema"


def parse(text: str) -> Any:
    """Parses JSON as the standard has it. Raises ValueError for NaN, Infinity and a key given twice."""
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)


def validator(name: str) -> Any:
    """A jsonschema validator for ``schema/<name>.schema.json``."""
    schema = json.loads((SCHEMAS / (name + ".schema.json")).read_text("utf-8"))
    return jsonschema.Draft202012Validator(schema)


def first_mistake(checker: Any, document: Any) -> str:
    """What is wrong with a document, as '$.path: message'; empty if nothing is."""
    errors = [_deepest(error) for error in checker.iter_errors(document)]
    if not errors:
        return ""
    error = min(errors, key=lambda found: [str(part) for part in found.absolute_path])
    return f"{error.json_path}: {_shortened(error.message)}"


def _deepest(error: ValidationError) -> ValidationError:
    """Of the reasons why no alternative fitted, the one that got furthest into the document."""
    while error.context:
        error = max(error.context, key=lambda found: len(found.absolute_path))
    return error


def _shortened(message: str, limit: int = 300) -> str:
    return message if len(message) <= limit else message[: limit // 2] + " ... " + message[-limit // 2 :]


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands twice in one object")
        found[key] = value
    return found


def _no_constant(name: str) -> list[Any]:
    raise ValueError(f"{name} is not JSON")
