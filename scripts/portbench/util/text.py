"""Makes text that others wrote safe to show: names, messages and paths out of run files are not trusted."""

from __future__ import annotations


def escape_control(text: str) -> str:
    """``text`` on one line, with everything that could steer a terminal written as an escape.

    Control characters, direction marks, line separators, lone surrogates and what has no shape become ``\\x1b``,
    ``\\u202e`` and so on.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def shortened(text: str, limit: int) -> str:
    """``text``, or its beginning and an ellipsis where it is longer than ``limit`` characters."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def pluralize(count: int, noun: str) -> str:
    """``1 test``, ``1,234 tests``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
