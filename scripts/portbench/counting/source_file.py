"""Counts the calls in one file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from tree_sitter import Node, Parser

from portbench.counting import identifiers, lexer
from portbench.counting.function_list import FunctionList
from portbench.counting.grammar import LANGUAGE
from portbench.counting.import_filter import imports
from portbench.counting.resolver import Resolved, resolve, words

# What Python 3 refuses and was usual in Python 2; the parser reads some of it.
_PYTHON_2 = re.compile(
    rb"""(?:^|[;:])[ \t]*(?:
      (?:print|exec)[ \t]+(?!(?:if|in|is|and|or|not|else|for|as|import)\b)(?:\w|''|\"\")
    | print[ \t]*>>
    | raise[ \t]+[\w.]+[ \t]*,
    | except[ \t]+[\w.]+[ \t]*,[ \t]*\w+[ \t]*:
    )""",
    re.MULTILINE | re.VERBOSE,
)


class State(StrEnum):
    """What became of a file that imports a framework."""

    COUNTED = "counted"
    PYTHON_2 = "python_2"
    BROKEN = "broken"


@dataclass
class Calls:
    """The calls of one framework in one file: by the last word of a name, and resolved."""

    state: State
    identifiers: Counter[bytes] = field(default_factory=Counter)
    resolved: Resolved = field(default_factory=Resolved)


def count_calls(source: bytes, lists: Sequence[FunctionList]) -> dict[int, Calls]:
    """The calls in a file, for each list (by its place) whose framework the file imports.

    A file that is no valid Python 3 counts as broken, or as Python 2 where it looks like that; nothing is raised.
    """
    kept = {place: functions for place, functions in enumerate(lists) if imports(source, functions.root)}
    if not kept:
        return {}
    source = source.removeprefix(b"\xef\xbb\xbf")
    text = lexer.bare(source)
    if _PYTHON_2.search(text):
        return {place: Calls(State.PYTHON_2) for place in kept}
    bare_root = _parsed(text)
    root = _parsed(source) if bare_root.has_error else None
    if root is not None and root.has_error:
        return {place: Calls(State.BROKEN) for place in kept}
    found = {}
    for place, functions in kept.items():
        if root is not None:
            called, resolved = identifiers.called_in_tree(root, functions.words), resolve(source, root, functions, True)
        else:
            called, resolved = identifiers.called(text, functions.words), resolve(text, bare_root, functions, False)
            if resolved.names and lexer.may_format(source, words(resolved.names)):
                resolved = resolve(source, _parsed(source), functions, True)
        found[place] = Calls(State.COUNTED, called, resolved)
    return found


@cache
def _parser() -> Parser:
    return Parser(LANGUAGE)


def _parsed(source: bytes) -> Node:
    return _parser().parse(source).root_node
