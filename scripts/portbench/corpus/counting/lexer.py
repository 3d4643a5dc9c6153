"""Removes comments and the contents of strings from source: less to parse, and every word left is code.

In a valid Python file, a quote or ``#`` outside of strings and comments begins one. One regular expression can
therefore find them all, from the start on. The exception is an f-string that holds its own quotes (Python 3.12): the
rest of it is no valid Python, which the parser reports.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_STRINGS_AND_COMMENTS = re.compile(
    rb"""\#[^\n]*+
    | (\"\"\"|'''|["']) (?:
        (?<=\"\"\") [^"\\]*+ (?: (?: \\. | "(?!"") ) [^"\\]*+ )*+ \"\"\"
      | (?<=''') [^'\\]*+ (?: (?: \\. | '(?!'') ) [^'\\]*+ )*+ '''
      | (?<=") [^"\\\n]*+ (?: \\. [^"\\\n]*+ )*+ "
      | (?<=') [^'\\\n]*+ (?: \\. [^'\\\n]*+ )*+ '
      )
    """,
    re.DOTALL | re.VERBOSE,
)
_FORMATTED = (b"f", b"F", b"t", b"T", b"fr", b"fR", b"Fr", b"FR", b"tr", b"tR", b"Tr", b"TR")


@dataclass(frozen=True)
class Bare:
    """A source without comments, each string replaced by an empty one."""

    text: bytes
    formatted: bool
    """Whether the source has f-strings. ``long_formatted``: f-strings in three quotes."""
    long_formatted: bool

    def may_format(self, source: bytes, names: set[bytes]) -> bool:
        """Whether a name may be in the braces of an f-string of the source. False only if it certainly is not."""
        if not self.formatted or not names:
            return False
        return self.long_formatted or bool(_in_braces(frozenset(names)).search(source))


def bare(source: bytes) -> Bare:
    """Removes comments and the contents of strings from a source."""
    parts = _STRINGS_AND_COMMENTS.split(source)
    quotes = parts[1::2]
    formatted = {
        len(quote) for before, quote in zip(parts[::2], quotes, strict=False) if quote and before.endswith(_FORMATTED)
    }
    parts[1::2] = [b'""' if quote else b"" for quote in quotes]
    return Bare(b"".join(parts), bool(formatted), 3 in formatted)


@lru_cache(maxsize=1000)
def _in_braces(names: frozenset[bytes]) -> re.Pattern[bytes]:
    return re.compile(rb"\{[^\n]*?(?<![\w.])(?:" + b"|".join(sorted(names)) + rb")(?!\w)")
