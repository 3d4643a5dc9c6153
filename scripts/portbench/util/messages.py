"""Messages of frameworks: which of their lines says what is wrong."""

from __future__ import annotations

import re

LONGEST = 16_000
"""Of a longer message, so many characters are read, which bounds the time that it can take. The format allows longer
ones only in what others than a runner wrote."""

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
"""The codes by which text has colours in a terminal."""

_HEADINGS = re.compile(
    r"Graph execution error:\s*(?:Detected at node.*?(?=^Node: )^Node: [^\n]*\n)?"
    r"|(?<!\d)\d++ root error\(s\) found\.\s*(?:\(0\) )?"
    r"|in user code:.*^\s*(?=[\w.]+(?:Error|Exception): )",
    re.DOTALL | re.MULTILINE,
)


def first_line(message: str) -> str:
    """The first line of a message that says something: TensorFlow's headings of other messages do not."""
    text = ANSI.sub("", message[:LONGEST]).strip()
    return _HEADINGS.sub("", text, count=1).strip().split("\n", 1)[0]
