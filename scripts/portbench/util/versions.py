"""Version numbers as others print them: 20.10.24+dfsg1, v2.26.1-4, 535.161.07."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Version:
    """Compares by its numbers; shows itself as it was printed."""

    numbers: tuple[int, ...]
    text: str = field(compare=False)

    def __str__(self) -> str:
        return self.text


def version_in(text: str) -> Version | None:
    """The first version number in a text, or None."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return Version(tuple(int(part) for part in found[0].split(".")), found[0]) if found else None
