"""Makes text that others wrote safe to show: names, messages and paths out of run files are not trusted."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """``text`` on one line, with everything that could steer a terminal written as an escape.

    Control characters, direction marks, line separators and lone surrogates become ``\\x1b``, ``\\u202e`` and so on.
    """
    return "".join(_shown(character) for character in text)


def first_line(text: str, limit: int) -> str:
    """The first line of ``text`` that is not blank, printable, of at most ``limit`` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return shortened(printable(line[: limit + 1]), limit)


def shortened(text: str, limit: int) -> str:
    """``text``, or its beginning and an ellipsis where it is longer than ``limit`` characters."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _shown(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character.encode("unicode_escape").decode("ascii")
    return character
