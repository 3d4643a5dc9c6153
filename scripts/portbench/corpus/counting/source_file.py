"""Counts the calls in one file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from tree_sitter import Node, Parser

from portbench.corpus.counting import identifiers, lexer
from portbench.corpus.counting.function_list import FunctionList
from portbench.corpus.counting.import_filter import imports
from portbench.corpus.counting.resolver import Resolved, resolve
from portbench.corpus.counting.syntax import LANGUAGE

# Usual in Python 2 and invalid in Python 3, although the parser accepts some of it. Each pattern begins with letters,
# because the engine finds them fast. What precedes a match is checked afterwards.
_PYTHON_2 = tuple(
    map(
        re.compile,
        (
            rb"print[ \t]+(?!(?:if|in|is|and|or|not|else|for|as|import)\b)(?:\w|\"\"|>>)",
            rb"print>>",
            rb"exec[ \t]+(?!(?:if|in|is|and|or|not|else|for|as|import)\b)(?:\w|\"\")",
            rb"raise[ \t]+[\w.]+[ \t]*,",
            rb"except[ \t]+[\w.]+[ \t]*,[ \t]*\w+[ \t]*:",
        ),
    )
)
_STATEMENT = re.compile(rb"(?:^|[\n;:])[ \t]*$")


class State(StrEnum):
    """How a file that imports a framework was counted."""

    COUNTED = "counted"
    PYTHON_2 = "python_2"
    BROKEN = "broken"


@dataclass
class Calls:
    """The calls of one framework in one file: by the last part of a name, and resolved."""

    state: State
    identifiers: Counter[bytes] = field(default_factory=Counter)
    resolved: Resolved = field(default_factory=Resolved)


def count_calls(source: bytes, lists: Sequence[FunctionList]) -> dict[int, Calls]:
    """The calls in a file, for each list (by position) whose framework the file imports.

    A file that is no valid Python 3 counts as Python 2 if it looks like it, else as broken. Raises nothing.
    """
    kept = {place: functions for place, functions in enumerate(lists) if imports(source, functions.root)}
    if not kept:
        return {}
    source = source.removeprefix(b"\xef\xbb\xbf")
    stripped = lexer.bare(source)
    text = stripped.text
    if _is_python_2(text):
        return {place: Calls(State.PYTHON_2) for place in kept}
    bare_root = parsed(text)
    root = parsed(source) if bare_root.has_error else None
    if root is not None and root.has_error:
        return {place: Calls(State.BROKEN) for place in kept}
    found = {}
    for place, functions in kept.items():
        if root is not None:
            called, resolved = identifiers.called_in_tree(root, functions.words), resolve(source, root, functions, True)
        else:
            called, resolved = identifiers.called(text, functions.words), resolve(text, bare_root, functions, False)
            if stripped.may_format(source, resolved.names):
                resolved = resolve(source, parsed(source), functions, True)
        found[place] = Calls(State.COUNTED, called, resolved)
    return found


@cache
def _parser() -> Parser:
    return Parser(LANGUAGE)


def parsed(source: bytes) -> Node:
    """The root of the source's tree. It ``has_error`` if the source is no valid Python."""
    return _parser().parse(source).root_node


def _is_python_2(text: bytes) -> bool:
    return any(
        _STATEMENT.search(text[max(0, text.rfind(b"\n", 0, found.start())) : found.start()])
        for pattern in _PYTHON_2
        for found in pattern.finditer(text)
    )
