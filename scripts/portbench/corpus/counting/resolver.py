"""Calls as Python would look them up: through imports, aliases, attributes of modules, and scopes.

``import torch.nn.functional as F`` and then ``F.relu(x)`` is a call of torch.nn.functional.relu; ``values.append(x)``
is none of a framework, since ``values`` is bound to something else. What needs types is not resolved: methods of
tensors, ``self.relu(x)``. Of what may be bound to several things (branches, ``try``) it is enough that one is the
framework's. A decorator without parentheses is a call; a function that is handed on, as in ``partial(F.relu)``, is not.

The words are found by regular expressions; what each is in the file, the parser says. Only names that may stand for
something of the framework are looked at at all: those bound by its imports, and by assignment from such a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tree_sitter import Node

from portbench.corpus.counting.function_list import FunctionList
from portbench.corpus.counting.imports import STATEMENTS, dotted, imported
from portbench.corpus.counting.scopes import Scopes

_WORD = re.compile(rb"[A-Za-z_]\w*")
_DECLARED = re.compile(rb"(global|nonlocal)[ \t]+([\w, \t]+)")
_DEFINED = re.compile(rb"\b(?:def|class)[ \t]+$")
_LONGEST_ALIAS_CHAIN = 8
_PARAMETERS = frozenset({"parameters", "lambda_parameters"})
_NAMED_PARAMETERS = frozenset({"default_parameter", "typed_default_parameter"})
_SPLATS = frozenset({"list_splat_pattern", "dictionary_splat_pattern"})
_PATTERNS = frozenset({"pattern_list", "tuple_pattern", "list_pattern"})
_ASSIGNMENTS = frozenset({"assignment", "augmented_assignment"})
_DEFINITIONS = frozenset({"function_definition", "class_definition"})
_LOOPS = frozenset({"for_statement", "for_in_clause"})
_DECLARATIONS = frozenset({"global_statement", "nonlocal_statement"})


@dataclass
class Resolved:
    """How often each function is called, by its place in the list; ``by_word`` of them the identifier count has too."""

    calls: Counter[int] = field(default_factory=Counter)
    by_word: int = 0
    names: set[bytes] = field(default_factory=set)
    """All that stands for something of the framework somewhere in the file."""


class _Use(NamedTuple):
    name: bytes
    chain: bytes
    start: int
    by_word: bool


def resolve(source: bytes, root: Node, functions: FunctionList, has_strings: bool) -> Resolved:
    """Counts the calls in a file whose tree has no error.

    ``has_strings``: the source was not stripped by ``lexer.bare``, so a word may stand in a string or comment.
    """
    file = _File(source, root, functions, has_strings)
    file.find_imports()
    file.find_uses()
    return file.count()


class _File:
    def __init__(self, source: bytes, root: Node, functions: FunctionList, has_strings: bool) -> None:
        self.source, self.root, self.functions, self.has_strings = source, root, functions, has_strings
        self.scopes = Scopes()
        self.names: set[bytes] = set()
        self.pending: set[bytes] = set()
        self.statements: set[int] = set()
        self.uses: list[_Use] = []

    def find_imports(self) -> None:
        if b"global" in self.source or b"nonlocal" in self.source:
            self._declare()
        root, at = self.functions.root, -1
        while (at := self.source.find(b"import", at + 1)) >= 0:
            if root in self._line(at):
                node = self._at(at, at + 1)
                if node and node.parent and node.parent.type in STATEMENTS:
                    self._import(node.parent)

    def _line(self, at: int) -> bytes:
        """The line there, with those that a backslash joins to it."""
        start, end = self.source.rfind(b"\n", 0, at), self.source.find(b"\n", at)
        while start > 0 and self.source[max(0, start - 2) : start].endswith((b"\\", b"\\\r")):
            start = self.source.rfind(b"\n", 0, start)
        while end > 0 and self.source[at:end].endswith((b"\\", b"\\\r")):
            end = self.source.find(b"\n", end + 1)
        return self.source[start + 1 : end if end >= 0 else len(self.source)]

    def find_uses(self) -> None:
        """Looks at all that stands at each name, until no further name was made from those known."""
        while self.pending:
            names, self.pending = self.pending, set()
            self.names |= names
            for match in _occurrences(names).finditer(self.source):
                self._use(match)

    def count(self) -> Resolved:
        resolved = Resolved(names=self.names)
        for use in self.uses:
            path = self.scopes.simple_path(use.name)
            quoted = False
            if path is None or self.has_strings:
                node = self._identifier(use.start, use.name)
                path = self._path_of_name(use.name, node, 0) if node else None
                quoted = node is not None and self.has_strings and _in_string(node)
            place = self.functions.paths.get(path + use.chain) if path is not None else None
            if place is not None:
                resolved.calls[place] += 1
                word = use.chain.rpartition(b".")[2] or use.name
                resolved.by_word += use.by_word and not quoted and word in self.functions.words
        return resolved

    def _import(self, statement: Node) -> None:
        if statement.id in self.statements:
            return
        self.statements.add(statement.id)
        for name, path in self._bound_by(statement):
            self.scopes.bind(name, statement, path)
            if path is not None and name not in self.names:
                self.pending.add(name)

    def _bound_by(self, statement: Node) -> Iterator[tuple[bytes, bytes | None]]:
        for item in imported(statement):
            ours = item.path is not None and item.path.partition(b".")[0] == self.functions.root
            if item.name != b"*":
                yield item.name, item.path if ours else None
            elif ours and item.path is not None:
                members = self.functions.modules.get(item.path, frozenset())
                for name in sorted(members.intersection(_WORD.findall(self.source))):
                    yield name, item.path + b"." + name

    def _use(self, match: re.Match[bytes]) -> None:
        name, chain, start = match[1], match[2], match.start()
        if match[3] and (chain or not _DEFINED.search(self.source, max(0, start - 20), start)):
            self.uses.append(_Use(name, _tight(chain), start, by_word=True))
            return
        before = self.source[max(0, start - 2) : start].rstrip(b" \t\\(")[-1:]
        if chain and before not in (b"=", b"@", b""):
            return
        node = self._identifier(start, name)
        if node is None:
            return
        whole = _chain_of(node)
        self._alias_or_decorator(whole, name, chain, start)
        if whole == node:
            self._binding(node, name)

    def _alias_or_decorator(self, whole: Node, name: bytes, chain: bytes, start: int) -> None:
        parent = whole.parent
        if parent is None:
            return
        if parent.type == "decorator":
            self.uses.append(_Use(name, _tight(chain), start, by_word=False))
            return
        made = None
        if parent.type == "assignment" and parent.child_by_field_name("right") == whole:
            made = parent.child_by_field_name("left")
        elif parent.type == "named_expression" and parent.child_by_field_name("value") == whole:
            made = parent.child_by_field_name("name")
        if made is not None and made.type == "identifier" and made.text and made.text not in self.names:
            self.pending.add(made.text)

    def _declare(self) -> None:
        # What "global" says holds for the whole function, so it is to be known before what is bound there.
        for statement in _DECLARED.finditer(self.source):
            for found in _WORD.finditer(self.source, *statement.span(2)):
                node = self._identifier(found.start(), found[0])
                if node and node.parent and node.parent.type in _DECLARATIONS:
                    self.scopes.declare(found[0], node, statement[1].decode())

    def _binding(self, node: Node, name: bytes) -> None:
        """Notes what is bound where the name stands alone."""
        parent = node.parent
        if parent is None:
            return
        kind, holder = parent.type, parent.parent
        if kind in _ASSIGNMENTS and parent.child_by_field_name("left") == node:
            value = parent.child_by_field_name("right")
            if value is not None:
                self.scopes.bind(name, node, value=value if kind == "assignment" and _is_chain(value) else None)
        elif kind == "named_expression" and parent.child_by_field_name("name") == node:
            value = parent.child_by_field_name("value")
            self.scopes.bind_outside_comprehensions(name, node, value if value and _is_chain(value) else None)
        elif kind == "dotted_name" or kind == "aliased_import":
            self._dotted_or_import(node, name)
        elif kind in _DEFINITIONS and parent.child_by_field_name("name") == node:
            self.scopes.bind(name, parent)
        elif function := _parameter_of(node):
            self.scopes.bind_parameter(name, node, function)
        elif _is_target(node) or (kind in _SPLATS and holder and holder.type in _PATTERNS):
            self.scopes.bind(name, node)

    def _dotted_or_import(self, node: Node, name: bytes) -> None:
        above = node.parent
        while above and above.type not in STATEMENTS and above.type in ("dotted_name", "aliased_import"):
            above = above.parent
        if above and above.type in STATEMENTS:
            self._import(above)
        elif above and above.type == "case_pattern":
            self.scopes.bind(name, node)

    def _path_of_name(self, name: bytes, at: Node, depth: int) -> bytes | None:
        for binding in self.scopes.visible(name, at):
            path = binding.path
            if binding.value is not None and depth < _LONGEST_ALIAS_CHAIN:
                path = self._path_of(binding.value, depth + 1)
            if path is not None:
                return path
        return None

    def _path_of(self, chain: Node, depth: int) -> bytes | None:
        name, dot, rest = dotted(chain).partition(b".")
        first = chain
        while first.type == "attribute":
            first = first.children[0]
        path = self._path_of_name(name, first, depth)
        return None if path is None else path + dot + rest

    def _identifier(self, start: int, name: bytes) -> Node | None:
        node = self._at(start, start + len(name))
        return node if node and node.type == "identifier" and node.start_byte == start else None

    def _at(self, start: int, end: int) -> Node | None:
        return self.root.descendant_for_byte_range(start, end)


def _occurrences(names: set[bytes]) -> re.Pattern[bytes]:
    # Letters first and what stands before them after: then the engine knows with which letters a match begins.
    alone = b"|".join(name + rb"(?<![\w.]" + name + rb")" for name in sorted(names))
    blank = rb"[ \t]*+(?:\\\r?\n[ \t]*+)?+"
    return re.compile(rb"(" + alone + rb")(?!\w)((?:[\s\\]*+\.[\s\\]*+[A-Za-z_]\w*+)*+)" + blank + rb"(\(?)")


def _tight(chain: bytes) -> bytes:
    return chain.translate(None, b" \t\f\r\n\\")


def _chain_of(node: Node) -> Node:
    while (parent := node.parent) and parent.type == "attribute" and parent.child_by_field_name("object") == node:
        node = parent
    return node


def _is_chain(node: Node) -> bool:
    while node.type == "attribute":
        node = node.children[0]
    return node.type == "identifier"


def _is_target(node: Node) -> bool:
    parent = node.parent
    if parent is None:
        return False
    if parent.type in _LOOPS:
        return parent.child_by_field_name("left") == node
    if parent.type == "expression_list":
        return parent.parent is not None and parent.parent.type == "delete_statement"
    return parent.type in _PATTERNS or parent.type in ("as_pattern_target", "delete_statement")


def _parameter_of(node: Node) -> Node | None:
    """The function or lambda whose parameter the name is."""
    parent = node.parent
    if parent and parent.type in _NAMED_PARAMETERS:
        if parent.child_by_field_name("name") != node:
            return None
        parent = parent.parent
    else:
        while parent and (parent.type in _SPLATS or parent.type == "typed_parameter"):
            parent = parent.parent
    return parent.parent if parent and parent.type in _PARAMETERS else None


def _in_string(node: Node) -> bool:
    above: Node | None = node
    while above:
        if above.type == "string":
            return True
        above = above.parent
    return False
