"""Says what is wrong with a document that does not fit its JSON Schema, with jsonschema."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Iterator, Mapping

import jsonschema
import jsonschema.validators
from jsonschema.exceptions import ValidationError

from runners.core.errors import shortened
from runners.core.schema_predicate import regular_expression


def first(schema: Mapping[str, Any], document: Any) -> str:
    """The first mistake, as '$.path: message'; empty if there is none. Raises RecursionError for a document that is
    nested too deeply."""
    errors = [_deepest(error) for error in _Validator(schema).iter_errors(document)]
    if not errors:
        return ""
    error = min(errors, key=lambda found: [str(part) for part in found.absolute_path])
    return f"{shortened(error.json_path)}: {shortened(error.message)}"


def _deepest(error: ValidationError) -> ValidationError:
    """Of the reasons why no alternative fits, the one at the deepest place of the document."""
    while error.context:
        error = max(error.context, key=lambda found: len(found.absolute_path))
    return error


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not re.search(regular_expression(pattern), instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _dependent_required(validator: Any, needs: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """The message names the keys of the document, not those of the schema."""
    if isinstance(instance, dict):
        for key, others in needs.items():
            for other in others:
                if key in instance and other not in instance:
                    yield ValidationError(f"has {key!r} without {other!r}, expected both or neither")


def _unique_items(validator: Any, unique: bool, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """The message names the one that is there twice, not the whole list."""
    if unique and isinstance(instance, list):
        counts = Counter(json.dumps(item, sort_keys=True) for item in instance)
        again = next((item for item, count in counts.items() if count > 1), None)
        if again is not None:
            yield ValidationError(f"found {shortened(again)} twice, expected each once")


_extend: Any = jsonschema.validators.extend
_OURS = {"pattern": _pattern, "dependentRequired": _dependent_required, "uniqueItems": _unique_items}
_Validator = _extend(jsonschema.Draft202012Validator, _OURS)
