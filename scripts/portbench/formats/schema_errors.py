"""Turns the errors of a JSON Schema validation into sentences that a person can act on.

An error below ``anyOf`` or ``oneOf`` comes as one error for each alternative. The alternative whose error is deepest in
the document is nearly always the intended one. (``jsonschema.best_match`` reports the whole ``anyOf`` where two
alternatives fail at the same depth, and knows nothing of alternatives that only require one of several keys.)
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from portbench.util.strict_json import json_path, quoted
from portbench.util.text import escape_control, shortened

# A jsonschema ValidationError. Its annotations allow every field to be unset, which none is after a validation.
Error: TypeAlias = Any

_TYPES = {
    "null": "null",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "array": "a list",
    "object": "an object",
}


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong. ``path`` is its JSON path; ``sentence`` says what was found and what was expected."""

    path: str
    sentence: str


def explain(errors: Iterable[Error], schema: Mapping[str, Any] | bool) -> list[Violation]:
    """One violation for each error, the most helpful first: near the document's top, unknown keys before others."""
    ordered = sorted(errors, key=lambda error: (len(error.absolute_path), _rank(error)))
    return [_violation(error, schema) for error in ordered]


def _rank(error: Error) -> int:
    # A mistyped key causes two errors, unknown and missing: the unknown key says more.
    return {"additionalProperties": 0, "required": 1}.get(str(error.validator), 2)


def _violation(error: Error, schema: Mapping[str, Any] | bool) -> Violation:
    error = _deepest(error)
    sentence = _SENTENCES.get(str(error.validator), _any_other)(error)
    return Violation(json_path(list(error.absolute_path)), sentence + _condition(error, schema) + _meaning(error))


def _deepest(error: Error) -> Error:
    """Follows anyOf and oneOf into the alternative that fits best. Alternatives of another type do not fit."""
    while error.context and not _chooses_keys(error):
        branches = [list(found) for _, found in groupby(error.context, lambda child: child.schema_path[0])]
        branches = [found for found in branches if not _is_variable(found[0])] or branches
        fitting = (
            branches
            if len(branches) == 1
            else [found for found in branches if not any(_is_other_type(child) for child in found)]
        )
        if not fitting:
            return error
        error = max(
            (min(found, key=_rank) for found in fitting),
            key=lambda child: max([len(child.path), *(len(below.path) for below in child.context or ())]),
        )
    return error


def _is_variable(error: Error) -> bool:
    """Whether the alternative is a variable of a grid, which takes the place of any value."""
    return str(error.validator_value) == r"^\$" or (
        error.validator == "type" and dict(error.schema).get("pattern") == r"^\$"
    )


def _is_other_type(error: Error) -> bool:
    return error.validator in ("type", "const", "enum") and not error.path


def _chooses_keys(error: Error) -> bool:
    """Whether the alternatives only say which of several keys is required."""
    return bool(_alternative_keys(error)) and all(not child.path for child in error.context or ())


def _alternative_keys(error: Error) -> list[str]:
    if not isinstance(error.validator_value, list) or not isinstance(error.instance, dict):
        return []
    return [
        key
        for branch in error.validator_value
        if isinstance(branch, dict) and not branch.keys() - {"required", "not"}
        for key in branch.get("required", [])
    ]


def _unknown_key(error: Error) -> str:
    known = list(error.schema.get("properties", {}))
    unknown = [key for key in error.instance if key not in known]
    near = difflib.get_close_matches(unknown[0], known, n=1, cutoff=0.7)
    guess = f"; did you mean {_quoted(near[0])}?" if near else ""
    others = f" (and {_listed(unknown[1:])})" if unknown[1:] else ""
    return f"unknown key {_quoted(unknown[0])}{others}{guess}; known here: {', '.join(known)}"


def _missing_key(error: Error) -> str:
    missing = [key for key in error.validator_value if key not in error.instance]
    return (
        f"the key {_listed(missing[:1])} is missing"
        if len(missing) == 1
        else f"the keys {_listed(missing)} are missing"
    )


def _missing_companion(error: Error) -> str:
    for key, others in error.validator_value.items():
        missing = [other for other in others if key in error.instance and other not in error.instance]
        if missing:
            return f"has {_quoted(key)} without {_listed(missing)}: give both or neither"
    return _any_other(error)


def _type(error: Error) -> str:
    types = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    return _found(error, " or ".join(_TYPES[name] for name in types))


def _alternatives(error: Error) -> str:
    keys = _alternative_keys(error)
    if not keys:
        return _found(error, " or ".join(dict.fromkeys(_wanted(branch) for branch in error.validator_value)))
    present = [key for key in keys if key in error.instance]
    if len(present) != 1:
        found = f"has {_listed(present)}" if present else f"has none of {_listed(keys)}"
        return f"{found}, expected exactly one of them" if present else f"{found}, expected exactly one"
    excluded = [key for key in error.instance if any(key in _excluded(branch) for branch in error.validator_value)]
    return f"{_listed(excluded)} cannot be used together with {_quoted(present[0])}"


def _excluded(branch: Mapping[str, Any]) -> list[str]:
    return [key for part in branch.get("not", {}).get("anyOf", []) for key in part.get("required", [])]


def _wanted(branch: Mapping[str, Any]) -> str:
    if "type" in branch:
        types = branch["type"] if isinstance(branch["type"], list) else [branch["type"]]
        return " or ".join(_TYPES[name] for name in types)
    if "const" in branch:
        return json.dumps(branch["const"])
    return "an object"


def _enum(error: Error) -> str:
    allowed = error.validator_value
    near = []
    if isinstance(error.instance, str):
        near = difflib.get_close_matches(error.instance, [value for value in allowed if isinstance(value, str)], n=1)
    guess = f"; did you mean {_quoted(near[0])}?" if near else ""
    return _found(error, "one of " + ", ".join(json.dumps(value) for value in allowed)) + guess


def _found(error: Error, expected: str) -> str:
    # Below propertyNames the instance is a key, and the path ends at the object that contains the key.
    of_key = "the key " if "propertyNames" in error.absolute_schema_path else ""
    return f"found {of_key}{_value(error.instance)}, expected {expected}"


def _size(fewest: bool, noun: str) -> Callable[[Error], str]:
    def sentence(error: Error) -> str:
        limit, size = error.validator_value, len(error.instance)
        bound = "at least" if fewest else "at most"
        return f"found {size} {noun}{'s' * (size != 1)}, expected {bound} {limit}"

    return sentence


def _any_other(error: Error) -> str:
    return escape_control(shortened(error.message, 300))


_SENTENCES: dict[str, Callable[[Error], str]] = {
    "additionalProperties": _unknown_key,
    "required": _missing_key,
    "dependentRequired": _missing_companion,
    "type": _type,
    "anyOf": _alternatives,
    "oneOf": _alternatives,
    "enum": _enum,
    "const": lambda error: _found(error, json.dumps(error.validator_value)),
    "pattern": lambda error: _found(error, f"text that matches {error.validator_value}"),
    "minimum": lambda error: _found(error, f"at least {error.validator_value}"),
    "maximum": lambda error: _found(error, f"at most {error.validator_value}"),
    "exclusiveMinimum": lambda error: _found(error, f"more than {error.validator_value}"),
    "minItems": _size(True, "item"),
    "maxItems": _size(False, "item"),
    "minProperties": lambda error: _found(error, f"at least {error.validator_value} key"),
    "maxProperties": lambda error: _found(error, f"at most {error.validator_value} key"),
    "minLength": _size(True, "character"),
    "maxLength": _size(False, "character"),
}


def _condition(error: Error, root: Any) -> str:
    """The condition of a violated rule that is below if ... then, such as `` (where outcome is "passed")``.

    A referenced definition does not depend on the condition of the place that references it.
    """
    schema = root
    terms: dict[str, list[str]] = {}
    for step in error.absolute_schema_path:
        while isinstance(schema, dict) and "$ref" in schema and step not in schema:
            schema, terms = _referred(schema["$ref"], root), {}
        if step in ("then", "else"):
            verb = "is" if step == "then" else "is not"
            for key, wanted in schema["if"].get("properties", {}).items():
                values = [wanted["const"]] if "const" in wanted else wanted["enum"]
                terms.setdefault(f"{key} {verb}", []).extend(json.dumps(value) for value in values)
        schema = schema[step]
    return f" (where {' and '.join(f'{term} {_any_of(values)}' for term, values in terms.items())})" if terms else ""


def _any_of(values: Sequence[str]) -> str:
    return " or ".join([*([", ".join(values[:-1])] if len(values) > 1 else []), values[-1]])


def _referred(reference: str, root: Any) -> Any:
    found = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return found


def _meaning(error: Error) -> str:
    """The schema's description of the value, in brackets, where the value itself is wrong and not its keys."""
    of_keys = error.validator in ("additionalProperties", "required", "dependentRequired", "oneOf", "anyOf")
    description = "" if of_keys or not isinstance(error.schema, dict) else error.schema.get("description", "")
    return f" ({description.rstrip('.')})" if description and len(description) <= 200 else ""


def _value(value: Any) -> str:
    if isinstance(value, list) and value:
        return f"a list of {len(value)}"
    if isinstance(value, dict) and value:
        return f"an object with {_listed(list(value)[:4])}{' and more' * (len(value) > 4)}"
    return escape_control(shortened(json.dumps(value, ensure_ascii=False), 80))


def _quoted(key: str) -> str:
    return quoted(shortened(key, 60))


def _listed(keys: list[str]) -> str:
    shown = [_quoted(key) for key in keys[:6]] + ["…"] * (len(keys) > 6)
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]
