"""Reading and checking JSON documents against ``schema/``: strict parsing, one sentence for the first mistake."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, Iterable, Iterator

import jsonschema
import jsonschema.validators
from jsonschema.exceptions import ValidationError

SCHEMAS = Path(__file__).resolve().parents[2] / "schema"


def parse(text: str) -> Any:
    """Parses JSON. Raises ValueError for what is none, for NaN, a number of more than 64 bits, a key given twice."""
    return json.loads(
        text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_integer, parse_float=_finite
    )


def validator(name: str) -> Any:
    """A jsonschema validator for ``schema/<name>.schema.json``."""
    schema = json.loads((SCHEMAS / (name + ".schema.json")).read_text("utf-8"))
    return _Validator(schema)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """The standard's regular expressions: there '$' is the very end, in Python's also the place before a line feed."""
    if isinstance(instance, str) and not re.search(re.sub(r"(?<!\\)\$$", r"\\Z", pattern), instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_extend: Any = jsonschema.validators.extend
_Validator = _extend(jsonschema.Draft202012Validator, {"pattern": _pattern})


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


def _integer(digits: str) -> int:
    if not -(2**63) <= int(digits) < 2**64:
        raise ValueError(f"{digits} needs more than 64 bits")
    return int(digits)


def _finite(digits: str) -> float:
    if not math.isfinite(float(digits)):
        raise ValueError(f"{digits} needs more than 64 bits")
    return float(digits)


def _no_constant(name: str) -> list[Any]:
    raise ValueError(f"{name} is not JSON")
