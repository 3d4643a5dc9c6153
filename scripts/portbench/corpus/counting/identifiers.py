"""Calls as the paper of 2023 counted them: the last part of a function's name, followed by ``(``.

The paper's rule, in tokens: an identifier out of the set of names, where the next token is ``(`` and the previous token
is not ``def``. So ``values.append(x)`` counts if a framework has an ``append``, and so does ``class Linear(Module)``.
Text in strings, f-strings and comments does not count. (Source: ``get_name_frequencies`` of src/main.py in the paper's
published code.)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from functools import cache

from tree_sitter import Node, Query, QueryCursor

from portbench.corpus.counting.syntax import LANGUAGE

# Word characters and "(" stay, blanks become " ", all else (also line ends) becomes ";": a "(" follows a called word.
_CLASSES = bytes(
    code if code >= 128 or chr(code).isalnum() or chr(code) in "_(" else ord(" " if chr(code) in " \t\f" else ";")
    for code in range(256)
)
_CONTINUED = re.compile(rb"\\\r?\n")


def called(source: bytes, names: Collection[bytes]) -> Counter[bytes]:
    """Counts the calls of each name in source without comments and strings (see ``lexer.bare``)."""
    counts: Counter[bytes] = Counter()
    if b"\\" in source:
        source = _CONTINUED.sub(b" ", source)
    for piece in source.translate(_CLASSES).split(b"(")[:-1]:
        words = piece[piece.rfind(b";") + 1 :].split()
        if words and words[-1] in names and words[-2:-1] != [b"def"]:
            counts[words[-1]] += 1
    return counts


def called_in_tree(root: Node, names: Collection[bytes]) -> Counter[bytes]:
    """Counts the same in a parsed file: slower, and correct for strings that hold their own quotes."""
    nodes = QueryCursor(_identifiers()).captures(root).get("word", ())
    return Counter(node.text for node in nodes if node.text and node.text in names and _is_called(node))


@cache
def _identifiers() -> Query:
    return Query(LANGUAGE, "(identifier) @word")


def _is_called(node: Node) -> bool:
    above: Node | None = node
    after = before = None
    while above:
        if above.type == "string":
            return False
        after, before = after or above.next_sibling, before or above.prev_sibling
        above = above.parent
    while after and after.child_count:
        after = after.children[0]
    return after is not None and after.type == "(" and (before is None or before.type != "def")
