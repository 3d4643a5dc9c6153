"""Source without its comments and without what stands in its strings: less to parse, and words that are code.

In a valid Python file quotes and ``#`` outside of strings and comments begin one, so one regular expression finds
them all from the start on. The exception are f-strings that hold their own quotes (Python 3.12): what is left of
those is no valid Python, which the parser tells.
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
    """Whether it held f-strings; ``long_formatted``: in three quotes."""
    long_formatted: bool

    def may_format(self, source: bytes, names: set[bytes]) -> bool:
        """Whether a name may stand in the braces of an f-string of the source: False only where it surely does not."""
        if not self.formatted or not names:
            return False
        return self.long_formatted or bool(_in_braces(frozenset(names)).search(source))


def bare(source: bytes) -> Bare:
    """Takes comments and what stands in strings out of a source."""
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
