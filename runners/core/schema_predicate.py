"""Whether a value fits a JSON Schema, without the reason why not: many times as fast as jsonschema, which reads the
schema again for each value.

Knows the keywords that ``schema/`` uses, with the meaning that runners.core.documents gives them. A test holds its
answers against jsonschema's.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Iterator, Mapping

Predicate = Callable[[Any], bool]
Schema = Mapping[str, Any]

_ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description"}


def predicate(schema: Schema) -> Predicate:
    """A function that says whether a value fits ``schema``. It raises RecursionError for values nested too deeply.

    Raises ValueError for a keyword that it does not know.
    """
    return _Compiler(schema).compiled(schema)


def regular_expression(pattern: str) -> str:
    """A pattern as the standard reads it: there '$' is the end; in Python it is also the place before a line feed."""
    return re.sub(r"(?<!\\)\$$", r"\\Z", pattern)


class _Compiler:
    """Makes predicates of a schema and of its parts; references are pointers into ``root``."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._done: dict[str, Predicate] = {}

    def compiled(self, schema: Any) -> Predicate:
        if isinstance(schema, bool):
            return _anything if schema else _nothing
        return _all([check for keyword in schema for check in self._of_keyword(keyword, schema)])

    def _of_keyword(self, keyword: str, schema: Schema) -> Iterator[Predicate]:
        wanted = schema[keyword]
        if keyword in _SIMPLE:
            yield _SIMPLE[keyword](wanted)
        elif keyword in _OF_SCHEMAS:
            yield _OF_SCHEMAS[keyword]([self.compiled(each) for each in wanted])
        elif keyword == "$ref":
            yield self._reference(wanted)
        elif keyword == "not":
            unwanted = self.compiled(wanted)
            yield lambda value: not unwanted(value)
        elif keyword == "if":
            rest = (self.compiled(schema.get(branch, True)) for branch in ("then", "else"))
            yield _branch(self.compiled(wanted), *rest)
        elif keyword == "items":
            item = self.compiled(wanted)
            yield lambda value: not isinstance(value, list) or all(map(item, value))
        elif keyword == "propertyNames":
            name = self.compiled(wanted)
            yield lambda value: not isinstance(value, dict) or all(map(name, value))
        elif keyword == "properties" or (keyword == "additionalProperties" and "properties" not in schema):
            known = {key: self.compiled(each) for key, each in schema.get("properties", {}).items()}
            yield _properties(known, self.compiled(schema.get("additionalProperties", True)))
        elif keyword not in _ANNOTATIONS | {"then", "else", "additionalProperties"}:
            raise ValueError(f"the keyword {keyword!r} is not known")

    def _reference(self, pointer: str) -> Predicate:
        """A schema may contain itself: then its predicate is looked up when a value is checked."""
        if pointer not in self._done:
            self._done[pointer] = lambda value: self._done[pointer](value)
            found: Any = self._root
            for step in pointer.split("/")[1:]:
                found = found[step]
            self._done[pointer] = self.compiled(found)
        return self._done[pointer]


def _anything(value: Any) -> bool:
    return True


def _nothing(value: Any) -> bool:
    return False


def _all(checks: list[Predicate]) -> Predicate:
    if len(checks) == 1:
        return checks[0]

    # A loop: a generator for each value would take twice as long.
    def fits(value: Any) -> bool:
        for check in checks:  # noqa: SIM110
            if not check(value):
                return False
        return True

    return fits


def _any(checks: list[Predicate]) -> Predicate:
    return lambda value: any(check(value) for check in checks)


def _exactly_one(checks: list[Predicate]) -> Predicate:
    return lambda value: sum(check(value) for check in checks) == 1


def _branch(condition: Predicate, then: Predicate, otherwise: Predicate) -> Predicate:
    return lambda value: then(value) if condition(value) else otherwise(value)


def _properties(known: Mapping[str, Predicate], other: Predicate) -> Predicate:
    def fits(value: Any) -> bool:
        if isinstance(value, dict):
            for key, item in value.items():
                if not known.get(key, other)(item):
                    return False
        return True

    return fits


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TYPES: Mapping[str, Predicate] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int or (isinstance(value, float) and value.is_integer()),
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def _type(wanted: Any) -> Predicate:
    names = [wanted] if isinstance(wanted, str) else wanted
    return _TYPES[names[0]] if len(names) == 1 else _any([_TYPES[name] for name in names])


def _one_of_values(wanted: list[Any]) -> Predicate:
    """True and 1 are different values in JSON, and 1 and 1.0 are the same."""
    texts = {each for each in wanted if isinstance(each, str)}
    others = [(isinstance(each, bool), each) for each in wanted if not isinstance(each, str)]
    return lambda value: value in texts if isinstance(value, str) else (isinstance(value, bool), value) in others


def _pattern(wanted: str) -> Predicate:
    search = re.compile(regular_expression(wanted)).search
    return lambda value: not isinstance(value, str) or search(value) is not None


def _required(wanted: list[str]) -> Predicate:
    names = frozenset(wanted)
    return lambda value: not isinstance(value, dict) or names <= value.keys()


def _dependent_required(wanted: Mapping[str, list[str]]) -> Predicate:
    return lambda value: (
        not isinstance(value, dict)
        or all(other in value for key, others in wanted.items() if key in value for other in others)
    )


def _unique_items(wanted: bool) -> Predicate:
    return lambda value: (
        not (
            wanted
            and isinstance(value, list)
            and len({json.dumps(item, sort_keys=True) for item in value}) < len(value)
        )
    )


_SIMPLE: Mapping[str, Callable[[Any], Predicate]] = {
    "type": _type,
    "enum": _one_of_values,
    "const": lambda wanted: _one_of_values([wanted]),
    "pattern": _pattern,
    "required": _required,
    "dependentRequired": _dependent_required,
    "uniqueItems": _unique_items,
    "minimum": lambda least: lambda value: not _is_number(value) or value >= least,
    "maximum": lambda most: lambda value: not _is_number(value) or value <= most,
    "exclusiveMinimum": lambda least: lambda value: not _is_number(value) or value > least,
    "minLength": lambda least: lambda value: not isinstance(value, str) or len(value) >= least,
    "maxLength": lambda most: lambda value: not isinstance(value, str) or len(value) <= most,
    "minItems": lambda least: lambda value: not isinstance(value, list) or len(value) >= least,
    "maxItems": lambda most: lambda value: not isinstance(value, list) or len(value) <= most,
    "minProperties": lambda least: lambda value: not isinstance(value, dict) or len(value) >= least,
    "maxProperties": lambda most: lambda value: not isinstance(value, dict) or len(value) <= most,
}

_OF_SCHEMAS: Mapping[str, Callable[[list[Predicate]], Predicate]] = {
    "allOf": _all,
    "anyOf": _any,
    "oneOf": _exactly_one,
}
