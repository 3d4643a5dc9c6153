"""Calls as Python looks them up: through imports, aliases, attributes of modules, and scopes.

After ``import torch.nn.functional as F``, ``F.relu(x)`` is a call of torch.nn.functional.relu. ``values.append(x)`` is
no call of a framework if ``values`` is bound to something else. Calls that need types are not resolved: methods of
tensors, ``self.relu(x)``. If a name may be bound to several things (branches, ``try``), one binding to the framework is
enough. A decorator without parentheses is a call. A function that is passed on, as in ``partial(F.relu)``, is not.

Regular expressions find the words, and the parser says what each is. Only names that may refer to something in the
framework are examined: those that its imports bind, and those that are assigned from such a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from tree_sitter import Node

from portbench.corpus.counting import syntax
from portbench.corpus.counting.imports import STATEMENTS, dotted, imported
from portbench.corpus.counting.scopes import Scopes

_WORD = re.compile(rb"[A-Za-z_]\w*")
_DECLARED = re.compile(rb"(global|nonlocal)[ \t]+([\w, \t]+)")
_DEFINED = re.compile(rb"\b(?:def|class)[ \t]+$")
_LONGEST_ALIAS_CHAIN = 8
_ASSIGNMENTS = frozenset({"assignment", "augmented_assignment"})
_DEFINITIONS = frozenset({"function_definition", "class_definition"})
_DECLARATIONS = frozenset({"global_statement", "nonlocal_statement"})


@dataclass
class Resolved:
    """The calls of each function, by its position in the list. ``by_word``: calls that the identifier count has too."""

    calls: Counter[int] = field(default_factory=Counter)
    by_word: int = 0
    names: set[bytes] = field(default_factory=set)
    """All names that refer to something in the framework anywhere in the file."""
    starts: list[tuple[int, int]] = field(default_factory=list)
    """For each call, the function's position in the list and the place in the source, in bytes."""


class Paths(Protocol):
    """The position of each dotted path that is a function."""

    def get(self, path: bytes, /) -> int | None:
        """The position; None for what is no function."""


class Functions(Protocol):
    """What the resolver needs of a FunctionList."""

    @property
    def root(self) -> bytes:
        """The module that a file must import."""

    @property
    def paths(self) -> Paths:
        """The functions by their dotted paths."""

    @property
    def modules(self) -> Mapping[bytes, frozenset[bytes]]:
        """The names in each module or class."""

    @property
    def words(self) -> frozenset[bytes]:
        """The last parts of all canonical names."""


class _Use(NamedTuple):
    name: bytes
    chain: bytes
    start: int
    by_word: bool


def resolve(source: bytes, root: Node, functions: Functions, has_strings: bool) -> Resolved:
    """Counts the calls in a file whose tree has no error.

    ``has_strings``: ``lexer.bare`` did not strip the source, so a word may be in a string or comment.
    """
    file = _File(source, root, functions, has_strings)
    file.find_imports()
    file.find_uses()
    return file.count()


class _File:
    def __init__(self, source: bytes, root: Node, functions: Functions, has_strings: bool) -> None:
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
        """The line at ``at``, with the lines that a backslash joins to it."""
        start, end = self.source.rfind(b"\n", 0, at), self.source.find(b"\n", at)
        while start > 0 and self.source[max(0, start - 2) : start].endswith((b"\\", b"\\\r")):
            start = self.source.rfind(b"\n", 0, start)
        while end > 0 and self.source[at:end].endswith((b"\\", b"\\\r")):
            end = self.source.find(b"\n", end + 1)
        return self.source[start + 1 : end if end >= 0 else len(self.source)]

    def find_uses(self) -> None:
        """Examines every occurrence of the names, until no new name is assigned from a known one."""
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
                quoted = node is not None and self.has_strings and syntax.in_string(node)
            place = self.functions.paths.get(path + use.chain) if path is not None else None
            if place is not None:
                resolved.calls[place] += 1
                resolved.starts.append((place, use.start))
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
        whole = syntax.chain_of(node)
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
        # A "global" statement holds for the whole function, so it must be known before the bindings there.
        for statement in _DECLARED.finditer(self.source):
            for found in _WORD.finditer(self.source, *statement.span(2)):
                node = self._identifier(found.start(), found[0])
                if node and node.parent and node.parent.type in _DECLARATIONS:
                    self.scopes.declare(found[0], node, statement[1].decode())

    def _binding(self, node: Node, name: bytes) -> None:
        """Records a binding of a name that is no part of a chain."""
        parent = node.parent
        if parent is None:
            return
        kind = parent.type
        if kind in _ASSIGNMENTS and parent.child_by_field_name("left") == node:
            value = parent.child_by_field_name("right")
            if value is not None:
                self.scopes.bind(name, node, value=value if kind == "assignment" and syntax.is_chain(value) else None)
        elif kind == "named_expression" and parent.child_by_field_name("name") == node:
            value = parent.child_by_field_name("value")
            self.scopes.bind_outside_comprehensions(name, node, value if value and syntax.is_chain(value) else None)
        elif kind == "dotted_name" or kind == "aliased_import":
            self._dotted_or_import(node, name)
        elif kind in _DEFINITIONS and parent.child_by_field_name("name") == node:
            self.scopes.bind(name, parent)
        elif function := syntax.parameter_of(node):
            self.scopes.bind_parameter(name, node, function)
        elif syntax.is_target(node) or syntax.is_splat_target(parent):
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
    # Letters first, then the look-behind: the engine then knows the first letters of a match.
    alone = b"|".join(name + rb"(?<![\w.]" + name + rb")" for name in sorted(names))
    blank = rb"[ \t]*+(?:\\\r?\n[ \t]*+)?+"
    return re.compile(rb"(" + alone + rb")(?!\w)((?:[\s\\]*+\.[\s\\]*+[A-Za-z_]\w*+)*+)" + blank + rb"(\(?)")


def _tight(chain: bytes) -> bytes:
    return chain.translate(None, b" \t\f\r\n\\")
