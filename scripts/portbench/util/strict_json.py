"""Reads a JSON file strictly, so that whatever reads it later sees the same values.

Python's parser is lenient where others are not: it takes NaN, a key that stands twice, numbers of any size and half of
a surrogate pair. Each is refused here, with its place in the document. orjson reads what is free of all that, many
times faster; only where that is not sure does the slow parser decide, which finds the words for what is wrong.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from portbench.errors import BadInput, StorageFailed
from portbench.util.text import escape_control, shortened

MEND = "Mend the file, or make it anew."
_LARGEST = 2**63 - 1
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NINES = bytes.maketrans(b"012345678", b"9" * 9)
_LONG = b"9" * 19
# What can stand before the first digit of a number; nothing, where a file begins with one.
_BEFORE_NUMBER = (b"", b"-", b":", b",", b"[", b" ", b"\t", b"\n", b"\r")


@dataclass(frozen=True)
class JsonFile:
    """A parsed file; ``sha256`` is that of its bytes, as sha256sum prints it."""

    path: Path
    sha256: str
    size_bytes: int
    data: Any


def read_json(path: Path, name: str = "") -> JsonFile:
    """Reads and parses ``path``, which messages about what it holds call ``name``, if not by its path.

    Raises BadInput where it is no strict JSON, StorageFailed where it cannot be read."""
    content = bytes_of(path)
    data = _plain(content)
    if data is None:
        data = _strict(escape_control(name or str(path)), content)
    return JsonFile(path, hashlib.sha256(content).hexdigest(), len(content), data)


def shown(path: Path) -> str:
    """The path as a message shows it."""
    return escape_control(str(path))


def json_path(parts: Sequence[str | int]) -> str:
    """``["functions", 3, "a b"]`` as ``$.functions[3]["a b"]``."""
    return "$" + "".join(_step(part) for part in parts)


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", part):
        return f".{part}"
    return f"[{escape_control(json.dumps(shortened(part, 60), ensure_ascii=False))}]"


def bytes_of(path: Path) -> bytes:
    """The bytes of an ordinary file. Raises BadInput where it is none, StorageFailed where it cannot be read."""
    try:
        if path.is_dir():
            raise BadInput(f"{shown(path)} is a folder, not a file", "Give the path of a file in it.")
        if path.exists() and not path.is_file():
            raise BadInput(f"{shown(path)} is no ordinary file", "Give the path of a JSON file.")
        return path.read_bytes()
    except FileNotFoundError:
        raise BadInput(f"{shown(path)} does not exist", "Check the path.") from None
    except OSError as error:
        raise StorageFailed(f"{shown(path)} cannot be read: {error.strerror}", "Check its permissions.") from error


class _Defect(str):
    """Stands in the parsed document where something is refused, and says what."""


def _plain(content: bytes) -> Any:
    """What plain JSON holds; None where something may be wrong with it, or is written in a roundabout way.

    orjson refuses NaN, infinite numbers and halves of surrogate pairs by itself. It takes whole numbers beyond 64 bits,
    which have 19 digits or more, and keys that stand twice: then what it read has fewer colons than the file.
    """
    if b"\\u003" in content or _has_long_integer(content):
        return None
    try:
        data = orjson.loads(content)
        return data if orjson.dumps(data).count(b":") == content.count(b":") else None
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # The second where it is nested too deeply to be written.
        return None


def _has_long_integer(content: bytes) -> bool:
    """Whether 19 digits or more stand in a row where a number begins: not behind a point, nor within a digest."""
    digits = content.translate(_NINES)
    place = digits.find(_LONG)
    while place >= 0:
        behind = digits[place : place + 400].lstrip(b"9")
        if digits[place - 1 : place] in _BEFORE_NUMBER or not behind:
            return True
        place = digits.find(_LONG, digits.index(behind[:1], place))
    return False


def _strict(place: str, content: bytes) -> Any:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{place}: not JSON: byte {error.start} is not UTF-8", MEND) from None
    suspicious = bool(_SURROGATE.search(text))

    def defect(message: str) -> _Defect:
        nonlocal suspicious
        suspicious = True
        return _Defect(message)

    def whole(literal: str) -> int | _Defect:
        if len(literal) > 20 or not -_LARGEST - 1 <= int(literal) <= _LARGEST:
            return defect(f"found {shortened(literal, 24)}, expected a number that fits into 64 bits")
        return int(literal)

    def real(literal: str) -> float | _Defect:
        value = float(literal)
        return value if math.isfinite(value) else defect(f"found {shortened(literal, 24)}, which is too large a number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Defect:
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        return defect(f"the key {escape_control(json.dumps(twice, ensure_ascii=False))} stands twice in one object")

    def constant(name: str) -> _Defect:
        return defect(f"found {name}, which JSON does not have, expected a finite number or null")

    try:
        data = json.loads(text, object_pairs_hook=unique, parse_constant=constant, parse_int=whole, parse_float=real)
        found = next(_defects(data, ()), None) if suspicious else None
    except json.JSONDecodeError as error:
        raise BadInput(f"{place}: {_syntax(error)}", MEND) from None
    except RecursionError:
        raise BadInput(f"{place}: objects and lists are nested too deeply", MEND) from None
    if found:
        raise BadInput(f"{place}: {found}", MEND)
    return data


def _syntax(error: json.JSONDecodeError) -> str:
    if not error.doc.strip():
        return "the file is empty, expected JSON"
    place = f"line {error.lineno}, column {error.colno}: not JSON"
    if error.msg.startswith("Unterminated"):
        return f"{place}: the text that begins there has no end; was the file truncated?"
    if error.pos >= len(error.doc.rstrip()):
        return f"{place}: the file ends there, {error.msg.lower()}; was it truncated?"
    return f"{place}: {error.msg[0].lower()}{error.msg[1:]}"


def _defects(value: Any, parts: tuple[str | int, ...]) -> Iterator[str]:
    if isinstance(value, _Defect):
        yield f"{json_path(parts)}: {value}"
    elif isinstance(value, str):
        if not _encodable(value):
            yield f"{json_path(parts)}: found half of a surrogate pair ({escape_control(shortened(value, 24))})"
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _defects(item, (*parts, position))
    elif isinstance(value, dict):
        for key, item in value.items():
            if not _encodable(key):
                yield f"{json_path(parts)}: the key {escape_control(key)} holds half of a surrogate pair"
            yield from _defects(item, (*parts, key))


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
