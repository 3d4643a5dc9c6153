"""Which binding of a name is visible at a place in a file, by Python's scopes and simple control flow.

Inside one scope, the last binding before the place counts. If that binding is in a branch, a loop or a try that the
place is not part of, the bindings before it count too. A function's body runs later: it sees the last bindings of the
scopes around it. The body of a class is not visible in its methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

_COMPREHENSIONS = frozenset(
    {"list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"}
)
_BODIES = frozenset({"function_definition", "lambda", "class_definition"})
_DEFERRED = frozenset({"function_definition", "lambda"})
_BRANCHES = frozenset(
    {
        "if_statement",
        "elif_clause",
        "else_clause",
        "try_statement",
        "except_clause",
        "except_group_clause",
        "for_statement",
        "while_statement",
        "case_clause",
    }
)


@dataclass(frozen=True)
class Binding:
    """A place where a name gets a value: a dotted ``path``, the value of the expression ``value``, or unknown."""

    start: int
    branch: int | None
    """The enclosing block that may not run; None if there is none."""
    path: bytes | None = None
    value: Node | None = None


@dataclass(frozen=True)
class _Place:
    scopes: tuple[tuple[int, str], ...]
    """The id and type of each scope's node, innermost first."""
    blocks: tuple[int, ...]
    """The ids of the blocks of branches around the place, innermost first."""


class Scopes:
    """The bindings of one file, by scope and name."""

    def __init__(self) -> None:
        self._bound: dict[tuple[int, bytes], list[Binding]] = {}
        self._declared: dict[tuple[int, bytes], str] = {}
        self._simple: dict[bytes, bytes | None] = {}

    def bind(self, name: bytes, at: Node, path: bytes | None = None, value: Node | None = None) -> None:
        """Records that ``name`` is bound at ``at`` in the scope around it."""
        place = _place(at)
        self._note(name, at, place, place.scopes[0], path, value)

    def bind_parameter(self, name: bytes, at: Node, function: Node) -> None:
        """Records a parameter of a function or lambda."""
        self._file(name, function.id, Binding(at.start_byte, None))

    def bind_outside_comprehensions(self, name: bytes, at: Node, value: Node | None) -> None:
        """Records ``(name := value)``, which binds in the scope around all comprehensions."""
        place = _place(at)
        scope = next(scope for scope in place.scopes if scope[1] not in _COMPREHENSIONS)
        self._note(name, at, place, scope, None, value)

    def declare(self, name: bytes, at: Node, how: str) -> None:
        """Records ``global name`` or ``nonlocal name``. Call it before the bindings that it affects."""
        self._declared[_place(at).scopes[0][0], name] = how

    def simple_path(self, name: bytes) -> bytes | None:
        """The path of a name that the file binds only in the module and only to that path."""
        return self._simple.get(name)

    def visible(self, name: bytes, at: Node) -> list[Binding]:
        """The bindings that a use of ``name`` at ``at`` may see, the latest first; none if it is not bound."""
        place = _place(at)
        deferred = False
        for depth, (scope, kind) in enumerate(place.scopes):
            how = self._declared.get((scope, name))
            if how == "global":
                return _last(self._bound.get((place.scopes[-1][0], name), []))
            bindings = self._bound.get((scope, name), [])
            seen = bindings if deferred else [binding for binding in bindings if binding.start < at.start_byte]
            if how is None and not (kind == "class_definition" and depth) and bindings:
                if seen:
                    return _last(seen, () if deferred else place.blocks)
                if kind != "class_definition":  # in a loop, or by := in a comprehension: a later binding may be visible
                    return _last(bindings)
            deferred = deferred or kind in _DEFERRED
        return []

    def _note(
        self,
        name: bytes,
        at: Node,
        place: _Place,
        scope: tuple[int, str],
        path: bytes | None,
        value: Node | None,
    ) -> None:
        how = self._declared.get((scope[0], name))
        home, branch = scope[0], _branch(place, at)
        if how:
            outer = [outer for outer, kind in place.scopes[1:] if kind == "function_definition"]
            home = place.scopes[-1][0] if how == "global" or not outer else outer[0]
            branch = -1
        self._file(name, home, Binding(at.start_byte, branch, path, value))
        whole = home == place.scopes[-1][0] and path is not None and self._simple.get(name, path) == path
        self._simple[name] = path if whole else None

    def _file(self, name: bytes, scope: int, binding: Binding) -> None:
        self._bound.setdefault((scope, name), []).append(binding)
        if binding.path is None:
            self._simple[name] = None


def _branch(place: _Place, at: Node) -> int | None:
    for child, parent in _climb(at):
        if child.type == "block" and parent.type in _BRANCHES:
            return child.id
        if child.type == "block" and parent.type in _BODIES:
            return None
    return None


def _last(bindings: list[Binding], blocks: tuple[int, ...] = ()) -> list[Binding]:
    found = []
    for binding in sorted(bindings, key=lambda binding: -binding.start):
        found.append(binding)
        if binding.branch is None or binding.branch in blocks:
            break
    return found


def _place(node: Node) -> _Place:
    scopes, blocks = [], []
    for child, parent in _climb(node):
        if parent.type in _BODIES:
            if parent.child_by_field_name("body") == child:
                scopes.append((parent.id, parent.type))
        elif parent.type in _COMPREHENSIONS or parent.type == "module":
            scopes.append((parent.id, parent.type))
        elif child.type == "block" and parent.type in _BRANCHES:
            blocks.append(child.id)
    return _Place(tuple(scopes), tuple(blocks))


def _climb(node: Node) -> Iterator[tuple[Node, Node]]:
    while parent := node.parent:
        yield node, parent
        node = parent
