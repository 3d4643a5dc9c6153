"""Version numbers as others print them: 20.10.24+dfsg1, v2.26.1-4, 535.161.07."""

from __future__ import annotations

import re

Version = tuple[int, ...]


def version_in(text: str) -> Version | None:
    """The first version number in a text, or None."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in found[0].split(".")) if found else None


def shown(version: Version) -> str:
    """As people write it."""
    return ".".join(map(str, version))
