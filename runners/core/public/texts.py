"""Texts that are the same in every process: signatures, defaults, errors."""

from __future__ import annotations

import enum
import inspect
import os
import re
import site
import sys
import tempfile
from typing import Any

_LONGEST_DEFAULT = 120
_LONGEST_REASON = 300
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_FIRST_LINE = re.compile(r"\s*(?:[\w.]+\.)?(\w+)(\(.*?\))\s*(?:->.*|[:.].*)?")


def settled(text: str, longest: int) -> str:
    """The text on one line, without parts that differ between processes or machines: addresses, and the folders of
    packages, of the process and of the user. Cut at ``longest`` characters."""
    for folder, name in _folders():
        text = text.replace(folder, name)
    text = " ".join(_ADDRESS.sub("0x…", text).split())
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _folders() -> list[tuple[str, str]]:
    packages = [folder for folder in (*site.getsitepackages(), *sys.path) if len(folder) > 1]
    found = [(folder, "<packages>") for folder in packages]
    found += [(folder, "<prefix>") for folder in (sys.prefix, sys.base_prefix)]
    found += [(tempfile.gettempdir(), "<scratch>"), (os.path.expanduser("~"), "<home>")]  # noqa: PTH111 - as text
    return sorted(found, key=lambda pair: -len(pair[0]))


def reason_of(error: BaseException) -> str:
    """An exception's type and the first line of its message."""
    try:
        message = str(error)
    except Exception:
        message = ""
    first = message.strip().split("\n")[0]
    return settled(f"{type(error).__name__}: {first}" if first else type(error).__name__, _LONGEST_REASON)


def signature(value: Any) -> tuple[str | None, str | None]:
    """Parameters and their defaults without annotations, and the source: inspect or documentation; (None, None) if
    unknown. Enumerations have none: theirs is internal to Python."""
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        return None, None
    try:
        return _inspected(value), "inspect"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
    found = _documented(value)
    return (found, "documentation") if found else (None, None)


def _inspected(value: Any) -> str:
    found = inspect.signature(value)
    parameters = []
    for parameter in found.parameters.values():
        default = parameter.default
        if default is not parameter.empty:
            default = _Text(_default(default))
        parameters.append(parameter.replace(annotation=parameter.empty, default=default))
    return str(found.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


class _Text:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _default(value: Any) -> str:
    if inspect.isroutine(value) or inspect.isclass(value):
        # The name, because the representation of a wrapped function differs between versions of Python.
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if isinstance(name, str):
            return settled(f"<{name}>", _LONGEST_DEFAULT)
    if isinstance(value, (set, frozenset)):
        items = ", ".join(sorted(_default(item) for item in value))
        return settled(f"{type(value).__name__}({{{items}}})", _LONGEST_DEFAULT)
    try:
        return settled(repr(value), _LONGEST_DEFAULT)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"<{type(value).__name__}>"


def _documented(value: Any) -> str | None:
    text = getattr(value, "__doc__", None)
    first = text.strip().split("\n")[0] if isinstance(text, str) and text.strip() else ""
    found = _FIRST_LINE.fullmatch(first)
    if found and found[1] == getattr(value, "__name__", None):
        return settled(found[2], 1000)
    return None
