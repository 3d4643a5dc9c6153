"""Inputs that nobody would write: documents made from the schemas, and valid files that were mutated.

Hypothesis draws them, so that a seed names them all. What is made from a schema mostly fits it, but not always: where
conditions and alternatives meet, keys are left to chance.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.paths import ROOT

Draw = Callable[..., Any]
Schema = dict[str, Any]


HOSTILE = (
    "",
    " ",
    "\x1b[2J\x1b]0;title\x07",
    "a\nb\r\u2028c",
    "\u202ereversed",
    "<script>alert(1)</script>",
    "|`*_[x](http://x)",
    "$HOME",
    "${PATH}",
    "$(id)",
    "/etc/passwd",
    "../../outside",
    "~/outside",
    "os:system",
    "fake.behaviours:_start_child",
    "fake.library:identity",
    "fake.identity.__globals__",
    "fake.random.random",
    "fake.identity",
    "portbench/run",
    "portbench/manifest",
    "x" * 5000,
    "%s{0}[bold]",
    "\x00",
    "😀",
)
_NUMBERS = (0, -1, 1, 1.5, -0.0, 1e308, 5e-324, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30)
ODD = st.one_of(
    st.sampled_from(HOSTILE),
    st.sampled_from(_NUMBERS),
    st.sampled_from((None, True, False)),
    st.builds(list),
    st.builds(dict),
    st.text(max_size=8),
    st.lists(st.integers(-3, 3), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
TEXT = st.one_of(st.text(min_size=1, max_size=12), st.sampled_from(HOSTILE))
_BYTES = (
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"NaN",
    b"1e999",
    b"-Infinity",
    b'"\\ud800"',
    b"{",
    b"]",
    b",",
    b'"',
    b"//",
)
_DEEP = 20_000
_TEXTS = (
    "function",
    "test",
    "message",
    "type",
    "machine",
    "reason",
    "text",
    "traceback",
    "description",
    "kernel",
    "name",
)
_CHANGES = ("remove", "replace", "replace", "double", "rename", "nest")


@st.composite
def documents(draw: Draw, kind: str) -> bytes:
    """A file of a format, valid or not, as bytes: one in four damaged, most mutated before."""
    schema, written = _known(kind)
    made = draw(st.integers(0, 2)) == 0
    document = _for_fake(_value(draw, schema, schema, 0), kind) if made else draw(st.sampled_from(written))
    if not made or draw(st.booleans()):
        document = mutated(draw, document)
    whole = json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return whole if draw(st.integers(0, 3)) else damaged(draw, whole)


@cache
def _known(kind: str) -> tuple[Any, list[Any]]:
    schema = json.loads((ROOT / "schema" / f"{kind}.schema.json").read_text("utf-8"))
    return schema, _written(kind)


def _written(kind: str) -> list[Any]:
    """Valid files of the project; of a large manifest some functions."""
    files = sorted((ROOT / "tests" / "examples" / kind / "valid").glob("*.json"))
    found = [json.loads(file.read_text("utf-8")) for file in files]
    if kind == "manifest":
        found.append(json.loads((ROOT / "manifests" / "placement" / "fake.json").read_text("utf-8")))
        for file in sorted((ROOT / "manifests" / "study").glob("*.json")):
            document = json.loads(file.read_text("utf-8"))
            found += [{**document, "functions": document["functions"][start : start + 2]} for start in (0, 20, 40)]
    return [_for_fake(document, kind) for document in found]


def _for_fake(document: Any, kind: str) -> Any:
    """A manifest for the one framework that the runner can run here, and with cases that end."""
    if kind != "manifest":
        return document
    functions = [
        {
            **entry,
            "function": "fake." + ("scale", "identity", "quotient")[place % 3] if place < 3 else entry["function"],
            "tests": [
                {**test, "case": test["case"] if test["case"] == "call" else "fake.behaviours:passes"}
                for test in entry["tests"]
            ],
        }
        for place, entry in enumerate(document["functions"])
    ]
    return {**document, "framework": "fake", "functions": functions}


def _value(draw: Draw, schema: Any, root: Schema, depth: int) -> Any:
    """A value of a schema: of what the formats use of JSON Schema 2020-12, no more."""
    if schema is True:
        return draw(ODD)
    plain = _decided(draw, schema, root)
    if "const" in plain:
        return plain["const"]
    if "enum" in plain:
        return draw(st.sampled_from(plain["enum"]))
    types = plain.get("type", "object" if "properties" in plain else "string")
    return _of_type(draw, draw(st.sampled_from(types)) if isinstance(types, list) else types, plain, root, depth)


def _decided(draw: Draw, schema: Schema, root: Schema) -> Schema:
    """The schema with each reference, alternative and condition decided."""
    left: list[Any] = [schema]
    plain: Schema = {}
    while left:
        part = dict(left.pop(0))
        if "$ref" in part:
            left.append(_referred(part.pop("$ref"), root))
        for key in ("anyOf", "oneOf"):
            if key in part:
                left.append(draw(st.sampled_from(part.pop(key))))
        left += part.pop("allOf", [])
        if "if" in part:
            condition, then, otherwise = part.pop("if"), part.pop("then", {}), part.pop("else", {})
            left += [condition, then] if draw(st.booleans()) else [otherwise]
        plain = _merged(plain, part)
    return plain


def _referred(reference: str, root: Schema) -> Any:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return found


def _merged(one: Schema, other: Schema) -> Schema:
    both = {**one, **other}
    if "properties" in one and "properties" in other:
        shared = {
            key: _merged(one["properties"].get(key, {}), rule)
            for key, rule in other["properties"].items()
            if rule is not True
        }
        both["properties"] = {**one["properties"], **shared}
    both["required"] = [*one.get("required", []), *other.get("required", [])]
    return both


def _of_type(draw: Draw, name: str, schema: Schema, root: Schema, depth: int) -> Any:
    if name == "object":
        return _object(draw, schema, root, depth)
    if name == "array":
        fewest = schema.get("minItems", 0)
        most = min(schema.get("maxItems", 3), fewest + max(0, 2 - depth // 2))
        return [
            _value(draw, schema.get("items", True), root, depth + 1) for _ in range(draw(st.integers(fewest, most)))
        ]
    if name == "string":
        return draw(_pattern(schema["pattern"]) if "pattern" in schema else TEXT)
    if name == "integer":
        lowest = schema.get("minimum", -5)
        return draw(st.integers(lowest, schema.get("maximum", lowest + 9)))
    if name == "number":
        return draw(st.floats(schema.get("minimum", schema.get("exclusiveMinimum", -9)), 99, allow_nan=False))
    return draw(st.booleans()) if name == "boolean" else None


@cache
def _pattern(pattern: str) -> st.SearchStrategy[str]:
    # The standard's "$" is the very end, Python's also the place before a line feed.
    return st.from_regex(re.sub(r"\$$", r"\\Z", pattern))


def _object(draw: Draw, schema: Schema, root: Schema, depth: int) -> dict[str, Any]:
    made = {}
    chance = st.integers(0, 2 + depth)
    for key, rule in schema.get("properties", {}).items():
        if key in schema.get("required", ()) or draw(chance) == 0:
            made[key] = _value(draw, rule, root, depth + 1)
    more = schema.get("additionalProperties", True)
    if more is not False and (draw(chance) == 0 or len(made) < schema.get("minProperties", 0)):
        key = _value(draw, {"type": "string", **schema.get("propertyNames", {})}, root, depth + 1)
        made[key] = _value(draw, more, root, depth + 1)
    return made


def mutated(draw: Draw, document: Any) -> Any:
    """A copy with some values taken out, replaced, doubled, or put under another key; or only with other names and
    messages in it, which mostly is accepted and shown."""
    copy = json.loads(json.dumps(document))
    if draw(st.booleans()):
        texts = [(holder, key) for holder, key in _places(copy) if key in _TEXTS and isinstance(holder[key], str)]
        for _ in range(draw(st.integers(1, 4)) if texts else 0):
            holder, key = draw(st.sampled_from(texts))
            holder[key] = draw(TEXT)
        return copy
    for _ in range(draw(st.integers(0, 3))):
        places = _places(copy)
        if places:
            holder, key = draw(st.sampled_from(places))
            _change(draw, holder, key, draw(st.sampled_from(_CHANGES)))
    return copy


def _places(value: Any) -> list[tuple[Any, Any]]:
    found = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        found += [(value, key), *_places(item)]
    return found


def _change(draw: Draw, holder: Any, key: Any, how: str) -> None:
    if how == "remove":
        del holder[key]
    elif how == "double" and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif how == "rename" and isinstance(holder, dict):
        holder[draw(st.sampled_from(HOSTILE))] = holder.pop(key)
    elif how == "nest":
        holder[key] = [holder[key]]
    else:
        holder[key] = draw(ODD)


def damaged(draw: Draw, whole: bytes) -> bytes:
    place = draw(st.integers(0, len(whole)))
    how = draw(st.sampled_from(("cut", "insert", "insert", "deep", "digits", "utf-16")))
    if how == "cut":
        return whole[:place]
    if how == "insert":
        return whole[:place] + draw(st.sampled_from(_BYTES)) + whole[place:]
    if how == "utf-16":
        return whole.decode("utf-8", "replace").encode("utf-16")
    inner = b"[" * _DEEP + b"]" * _DEEP if how == "deep" else b"9" * _DEEP
    return whole[:-1] + b', "odd": ' + inner + b"}"
