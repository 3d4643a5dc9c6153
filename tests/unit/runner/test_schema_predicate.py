"""The fast check of a schema and jsonschema accept the same documents. test_validators_agree.py mutates them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runners.core import documents, schema_mistakes
from runners.core.schema_predicate import predicate
from tests.paths import EXAMPLES

KINDS = ("run", "manifest", "functions")
CHECKERS = {kind: documents.checker(kind) for kind in KINDS}
FILES = [file for kind in KINDS for file in sorted(EXAMPLES.glob(f"{kind}/*/*.json"))]


def parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def agree(checker: documents.Checker, document: Any) -> None:
    try:
        is_valid = not schema_mistakes.first(checker.schema, document)
    except RecursionError:
        return
    assert checker.fits(document) == is_valid


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-3:]))
def test_examples(file: Path) -> None:
    agree(CHECKERS[file.parts[-3]], parsed(file.read_bytes()))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": 1}, True),
        ({"const": True}, 1),
        ({"enum": [None, "a", 0]}, False),
        ({"enum": [None, "a", 0]}, 0.0),
        ({"enum": [None, "a", 0]}, []),
        ({"type": "integer"}, 2.0),
        ({"type": "integer"}, True),
        ({"type": "number"}, True),
        ({"type": ["null", "string"]}, 0),
        ({"maximum": 3}, "4"),
        ({"exclusiveMinimum": 0}, 0),
        ({"pattern": "^a$"}, "a\n"),
        ({"pattern": "^a$"}, 1),
        ({"items": {"type": "string"}}, ["a", 1]),
        ({"uniqueItems": True}, [{"a": 1, "b": 2}, {"b": 2, "a": 1}]),
        ({"additionalProperties": {"type": "string"}}, {"a": 1}),
        ({"properties": {"a": {"type": "string"}}, "additionalProperties": False}, {"b": 1}),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}),
        ({"minProperties": 1, "maxProperties": 1}, {}),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}, {"a": 1}),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}, {"c": 1}),
        ({"oneOf": [{"type": "number"}, {"minimum": 3}]}, 4),
        ({"not": {"anyOf": [{"type": "number"}, {"type": "null"}]}}, "a"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}),
        ({"allOf": []}, 1),
        ({"$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "$ref": "#/$defs/tree"}, [[], [1]]),
    ],
)  # fmt: skip
def test_each_keyword(schema: dict[str, Any], value: Any) -> None:
    agree(documents.checker_of(schema), value)


def test_an_unknown_keyword_is_an_error_and_not_a_check_that_never_fails() -> None:
    with pytest.raises(ValueError, match="'contains'"):
        predicate({"contains": {"type": "string"}})
