"""The formats of ``schema/``: finds the format of a document and checks the document against it.

Each file names its format in ``schema`` and the version in ``schema_version``. The schemas are read from the clone.
They are all that the host shares with the runners. jsonschema-rs decides whether a document is valid, about two hundred
times as fast as jsonschema. jsonschema runs only on invalid documents, to describe what is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from portbench.errors import BadInput
from portbench.formats.schema_errors import Violation, explain
from portbench.util.repository import find_checkout
from portbench.util.strict_json import FIX
from portbench.util.text import escape_control, shortened

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

# The versions after which a format changed so that older documents need a schema of their own, in schema/older/.
_OLDER = {"run": (3,), "study": (4,), "comparison": (1,)}

# The newest version of each format that this portbench reads. schema/README.md says what each version changed.
VERSIONS = {
    "manifest": 7,
    "run": 7,
    "study": 5,
    "survivors": 3,
    "expected": 1,
    "annotations": 1,
    "comparison": 2,
    "functions": 1,
    "counts": 1,
    "exclusions": 1,
    "kernels": 1,
    "mapping": 1,
    "site": 1,
    "verdict": 1,
}


def kind_of(data: Any) -> str:
    """The format of a parsed document: a key of VERSIONS.

    Raises BadInput for an unknown format, and for a version that this portbench does not read. The message names the
    place in the document, not the file.
    """
    name = data.get("schema") if isinstance(data, dict) else None
    kind = name.removeprefix("portbench/") if isinstance(name, str) else ""
    if name != f"portbench/{kind}" or kind not in VERSIONS:
        known = ", ".join(f'"portbench/{kind}"' for kind in VERSIONS)
        found = "is missing" if name is None else f"found {escape_control(shortened(json.dumps(name), 60))}"
        raise BadInput(
            f"this is not a portbench file: $.schema: {found}, expected one of {known}",
            "Give a manifest, a mapping, a run file, a study.json or a comparison.",
        )
    _check_version(kind, data.get("schema_version"))
    return kind


def schema_path(kind: str, data: Any) -> str:
    """The path, below the clone, of the schema that a document of its version must fit."""
    version = data.get("schema_version") if isinstance(data, dict) else None
    newest = None
    if isinstance(version, int):
        newest = next((last for last in _OLDER.get(kind, ()) if version <= last), None)
    return f"schema/older/{kind}-{newest}.schema.json" if newest else f"schema/{kind}.schema.json"


def _check_version(kind: str, version: Any) -> None:
    newest = VERSIONS[kind]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        found = escape_control(shortened(json.dumps(version), 60))
        raise BadInput(f"$.schema_version: found {found}, expected a whole number up to {newest}", FIX)
    if version > newest:
        raise BadInput(
            f"$.schema_version: written by a newer portbench: version {version} of the {kind} format, "
            f"this one reads up to version {newest}",
            "Upgrade portbench.",
        )


def violations(kind: str, data: Any) -> list[Violation]:
    """What is wrong with a document according to its schema, the most helpful first; empty for a valid document.

    Raises BadInput where the document is nested too deeply to be checked.
    """
    if fits(kind, data):
        return []
    checker = validator(kind, data)
    try:
        errors = list(checker.iter_errors(data))
        return explain(errors, checker.schema)
    except RecursionError:
        raise BadInput("objects and lists are nested too deeply", FIX) from None


def fits(kind: str, data: Any) -> bool:
    """Whether a document is valid according to its schema. False where it is nested too deeply."""
    try:
        return bool(_fast_validator(schema_path(kind, data)).is_valid(data))
    except ValueError:
        return False


def validator(kind: str, data: Any) -> Any:
    """A jsonschema validator for documents of the version of ``data``, which lists all errors."""
    return _validator(schema_path(kind, data))


def values_of(kind: str, *path: str) -> list[Any]:
    """The values that the present schema allows for the property at ``path``: its ``enum``."""
    place = _schema(f"schema/{kind}.schema.json")
    for name in path:
        place = place["properties"][name]
    return list(place["enum"])


@cache
def _validator(path: str) -> Any:
    return _explaining_validator()(_schema(path))


@cache
def _fast_validator(path: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(_schema(path))


@cache
def _schema(path: str) -> Any:
    return json.loads((find_checkout().root / path).read_text("utf-8"))


@cache
def _explaining_validator() -> Any:
    # Imported here: it takes a sixth of a second, and only a document that does not fit needs it.
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    return extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]


def _pattern(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    # Python's "$" also matches before a last line feed, JSON Schema's does not.
    if isinstance(instance, str) and not re.search(re.sub(r"(?<!\\)\$$", r"\\Z", pattern), instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")
