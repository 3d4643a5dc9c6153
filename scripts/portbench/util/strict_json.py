"""Reads JSON files strictly, so that every later reader sees the same values.

Python's parser accepts what other parsers reject: NaN, duplicate keys, numbers of any size and lone surrogates. This
module rejects each of them and names its place in the document. orjson parses files that are certain to hold none of
them, many times faster. All other files go through the slow parser, which writes the error messages.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from portbench.errors import BadInput, StorageFailed
from portbench.util.text import escape_control, shortened

FIX = "Fix the file, or create it again."
_LARGEST = 2**63 - 1
# The kernel's files have no end, or wait for something.
_KERNEL = ("/proc/", "/sys/", "/dev/")
_MOST_UNPACKED_BYTES = 2**30
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
HIDDEN_COLON = b"\\u003"
"""How an escaped colon begins in JSON."""
_NINES = bytes.maketrans(b"012345678", b"9" * 9)
_LONG = b"9" * 19
# The characters before the first digit of a number. The empty one is for a file that begins with a number.
_BEFORE_NUMBER = (b"", b"-", b":", b",", b"[", b" ", b"\t", b"\n", b"\r")


@dataclass(frozen=True)
class JsonFile:
    """A parsed file; ``sha256`` and ``size_bytes`` are of its JSON text, unpacked."""

    path: Path
    sha256: str
    size_bytes: int
    data: Any


def read_json(path: Path, name: str = "") -> JsonFile:
    """Reads and parses ``path``, unpacked first if its name ends in .gz. Messages about its content call it ``name``
    (default: its path).

    Raises BadInput where the file is not strict JSON, StorageFailed where it cannot be read.
    """
    content = _unpacked(path, bytes_of(path)) if path.suffix == ".gz" else bytes_of(path)
    data = _parse_fast(content)
    if data is None:
        data = _parse_strictly(escape_control(name or str(path)), content)
    return JsonFile(path, hashlib.sha256(content).hexdigest(), len(content), data)


def shown(path: Path) -> str:
    """The path with control characters escaped, for messages."""
    return escape_control(str(path))


def quoted(text: str) -> str:
    """The text as JSON writes it, with control characters escaped, for messages."""
    return escape_control(json.dumps(text, ensure_ascii=False))


def json_path(parts: Sequence[str | int]) -> str:
    """``["functions", 3, "a b"]`` as ``$.functions[3]["a b"]``."""
    return "$" + "".join(_step(part) for part in parts)


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{,59}", part):
        return f".{part}"
    return f"[{quoted(shortened(part, 60))}]"


def bytes_of(path: Path) -> bytes:
    """The bytes of a regular file. Raises BadInput for anything else, StorageFailed where it cannot be read."""
    with open_file(path) as file, _reading(path):
        return file.read()


def open_file(path: Path) -> io.BufferedReader:
    """Opens a regular file. Raises BadInput for anything else, StorageFailed where it cannot be opened."""
    with _reading(path):
        if path.is_dir():
            raise BadInput(f"{shown(path)} is a folder, not a file", "Give the path of a file in it.")
        if path.exists() and (not path.is_file() or str(path.resolve()).startswith(_KERNEL)):
            raise BadInput(f"{shown(path)} is not a regular file", "Give the path of a JSON file.")
        return path.open("rb")


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise BadInput(f"{shown(path)} does not exist", "Check the path.") from None
    except OSError as error:
        raise StorageFailed(f"{shown(path)} cannot be read: {error.strerror}", "Check its permissions.") from error


def _unpacked(path: Path, content: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            unpacked = file.read(_MOST_UNPACKED_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{shown(path)}: not a gzip file: {escape_control(str(error))}", FIX) from None
    if len(unpacked) > _MOST_UNPACKED_BYTES:
        raise BadInput(f"{shown(path)}: unpacks to more than {_MOST_UNPACKED_BYTES:,} bytes", FIX)
    return unpacked


class _Defect(str):
    """A rejected value in the parsed document; the text says what is wrong with it."""


def _parse_fast(content: bytes) -> Any:
    """The parsed document, or None where the slow parser has to decide.

    orjson itself rejects NaN, infinite numbers and lone surrogates. It accepts integers beyond 64 bits, which have at
    least 19 digits, and duplicate keys: with these, the parsed document has fewer colons than the file.
    """
    if not has_countable_keys(content):
        return None
    try:
        data = orjson.loads(content)
        return data if orjson.dumps(data).count(b":") == content.count(b":") else None
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # JSONEncodeError: nested too deeply.
        return None


def has_countable_keys(content: bytes) -> bool:
    """Whether a JSON text has neither integers beyond 64 bits nor escaped colons.

    Then a parser that keeps one of several duplicate keys shows them: its values have fewer colons than the text.
    """
    return HIDDEN_COLON not in content and not _has_long_integer(content)


def _has_long_integer(content: bytes) -> bool:
    """Whether a number begins with at least 19 digits. Digits after a decimal point or within a text do not count."""
    digits = content.translate(_NINES)
    place = digits.find(_LONG)
    while place >= 0:
        rest = digits[place : place + 400].lstrip(b"9")
        if digits[place - 1 : place] in _BEFORE_NUMBER or not rest:
            return True
        place = digits.find(_LONG, digits.index(rest[:1], place))
    return False


def _parse_strictly(place: str, content: bytes) -> Any:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{place}: not JSON: byte {error.start} is not UTF-8", FIX) from None
    suspicious = bool(_SURROGATE.search(text))

    def defect(message: str) -> _Defect:
        nonlocal suspicious
        suspicious = True
        return _Defect(message)

    def parse_int(literal: str) -> int | _Defect:
        if len(literal) > 20 or not -_LARGEST - 1 <= int(literal) <= _LARGEST:
            return defect(f"found {shortened(literal, 24)}, expected a number that fits into 64 bits")
        return int(literal)

    def parse_float(literal: str) -> float | _Defect:
        value = float(literal)
        return value if math.isfinite(value) else defect(f"found {shortened(literal, 24)}, which is too large a number")

    def parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Defect:
        parsed = dict(pairs)
        if len(parsed) == len(pairs):
            return parsed
        duplicate = Counter(key for key, _ in pairs).most_common(1)[0][0]
        return defect(f"the key {quoted(duplicate)} is duplicated in one object")

    def parse_constant(name: str) -> _Defect:
        return defect(f"found {name}, which is not JSON, expected a finite number or null")

    try:
        data = json.loads(
            text,
            object_pairs_hook=parse_object,
            parse_constant=parse_constant,
            parse_int=parse_int,
            parse_float=parse_float,
        )
        found = next(_defects(data, ()), None) if suspicious else None
    except json.JSONDecodeError as error:
        raise BadInput(f"{place}: {_syntax(error)}", FIX) from None
    except RecursionError:
        raise BadInput(f"{place}: objects and lists are nested too deeply", FIX) from None
    if found:
        raise BadInput(f"{place}: {found}", FIX)
    return data


def _syntax(error: json.JSONDecodeError) -> str:
    if not error.doc.strip():
        return "the file is empty, expected JSON"
    place = f"line {error.lineno}, column {error.colno}: not JSON"
    if error.msg.startswith("Unterminated"):
        return f"{place}: the text that begins there is not closed; is the file truncated?"
    if error.pos >= len(error.doc.rstrip()):
        return f"{place}: the file ends there, {error.msg.lower()}; is it truncated?"
    return f"{place}: {error.msg[0].lower()}{error.msg[1:]}"


def _defects(value: Any, parts: tuple[str | int, ...]) -> Iterator[str]:
    if isinstance(value, _Defect):
        yield f"{json_path(parts)}: {value}"
    elif isinstance(value, str):
        if not _encodable(value):
            yield f"{json_path(parts)}: found a lone surrogate ({escape_control(shortened(value, 24))})"
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _defects(item, (*parts, position))
    elif isinstance(value, dict):
        for key, item in value.items():
            if not _encodable(key):
                yield f"{json_path(parts)}: the key {escape_control(key)} holds a lone surrogate"
            yield from _defects(item, (*parts, key))


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
