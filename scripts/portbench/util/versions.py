"""Version numbers of frameworks, and as programs print them: 20.10.24+dfsg1, v2.26.1-4, 535.161.07."""

from __future__ import annotations

import re

from packaging import version


class Version(version.Version):
    """A version that is shown exactly as it was printed: 535.161.07."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._text = text

    def __str__(self) -> str:
        return self._text


def version_in(text: str) -> Version | None:
    """The first version number in a text, such as 20.10.24 in "20.10.24+dfsg1", or None."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return Version(found[0]) if found else None


def parse_version(text: str) -> Version | None:
    """A framework's version, such as 2.10.0rc1.

    None where ``text`` is not a version in normal form (PEP 440), or has an epoch or a local part.
    """
    try:
        parsed = version.Version(text)
    except version.InvalidVersion:
        return None
    return Version(text) if str(parsed) == text and not parsed.epoch and parsed.local is None else None
