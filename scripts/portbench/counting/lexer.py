"""Source without its comments and without what stands in its strings: less to parse, and words that are code.

In a valid Python file quotes and ``#`` outside of strings and comments begin one, so one regular expression finds
them all from the start on. The exception are f-strings that hold their own quotes (Python 3.12): what is left of
those is no valid Python, which the parser tells.
"""

from __future__ import annotations

import re

_STRINGS_AND_COMMENTS = re.compile(
    rb"""\#[^\n]*+
    | (") (?: ""[^"\\]*+ (?: (?: \\. | "(?!"") ) [^"\\]*+ )*+ \"\"\" | [^"\\\n]*+ (?: \\. [^"\\\n]*+ )*+ " )
    | (') (?: ''[^'\\]*+ (?: (?: \\. | '(?!'') ) [^'\\]*+ )*+ ''' | [^'\\\n]*+ (?: \\. [^'\\\n]*+ )*+ ' )
    """,
    re.DOTALL | re.VERBOSE,
)
_FORMATTED = re.compile(rb"\b(?:[fFtT][rR]?|[rR][fFtT])(?P<quote>[\"'])")
_LONG = re.compile(rb"\b(?:[fFtT][rR]?|[rR][fFtT])(?:\"\"\"|''')")


def bare(source: bytes) -> bytes:
    """The source without comments, each string replaced by an empty one."""
    return _STRINGS_AND_COMMENTS.sub(rb"\1\1\2\2", source)


def may_format(source: bytes, words: re.Pattern[bytes]) -> bool:
    """Whether one of the ``words`` may stand in the braces of an f-string: False only where it surely does not."""
    if not _FORMATTED.search(source):
        return False
    if _LONG.search(source):
        return True
    return any(
        source.find(b"{", source.rfind(b"\n", 0, found.start()) + 1, found.start()) >= 0
        for found in words.finditer(source)
    )
