"""The types of a study's summary have the properties of its schema."""

from __future__ import annotations

import json
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

from portbench.study.document import StudySummary
from tests.paths import ROOT

SCHEMA = json.loads((ROOT / "schema" / "study.schema.json").read_text("utf-8"))


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with its reference followed."""
    if "$ref" in schema:
        return SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]  # type: ignore[no-any-return]
    return schema


def compare(kind: Any, schema: dict[str, Any], place: str) -> int:
    """Compares a type with the schema at a place. Returns the number of objects that were compared."""
    schema = resolved(schema)
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        assert hints.keys() == schema["properties"].keys(), place
        return 1 + sum(compare(hint, schema["properties"][name], f"{place}.{name}") for name, hint in hints.items())
    if get_origin(kind) is list:
        assert schema["type"] == "array", place
        return compare(get_args(kind)[0], schema["items"], f"{place}[]")
    options = get_args(kind)
    if type(None) in options:
        allowed = schema.get("type", schema.get("enum", [each.get("type") for each in schema.get("anyOf", ())]))
        assert "null" in allowed or None in allowed, place
    return sum(compare(option, schema, place) for option in options if is_typeddict(option))


def test_the_types_have_the_properties_of_the_schema() -> None:
    assert compare(StudySummary, SCHEMA, "$") >= 18
