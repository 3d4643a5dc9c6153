"""Python's grammar for tree-sitter, and questions about a node of a file's tree."""

from __future__ import annotations

import tree_sitter_python
from tree_sitter import Language, Node

LANGUAGE = Language(tree_sitter_python.language())

_PARAMETERS = frozenset({"parameters", "lambda_parameters"})
_NAMED_PARAMETERS = frozenset({"default_parameter", "typed_default_parameter"})
_SPLATS = frozenset({"list_splat_pattern", "dictionary_splat_pattern"})
_PATTERNS = frozenset({"pattern_list", "tuple_pattern", "list_pattern"})
_LOOPS = frozenset({"for_statement", "for_in_clause"})


def chain_of(node: Node) -> Node:
    """The longest attribute chain that begins with ``node``: of ``torch`` in ``torch.nn.ReLU``, all of it."""
    while (parent := node.parent) and parent.type == "attribute" and parent.child_by_field_name("object") == node:
        node = parent
    return node


def is_chain(node: Node) -> bool:
    """Whether ``node`` is an identifier, or an attribute chain that begins with one."""
    while node.type == "attribute":
        node = node.children[0]
    return node.type == "identifier"


def is_target(node: Node) -> bool:
    """Whether ``node`` is bound or deleted: the target of a loop, a pattern, ``as`` or ``del``."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type in _LOOPS:
        return parent.child_by_field_name("left") == node
    if parent.type == "expression_list":
        return parent.parent is not None and parent.parent.type == "delete_statement"
    return parent.type in _PATTERNS or parent.type in ("as_pattern_target", "delete_statement")


def is_splat_target(node: Node) -> bool:
    """Whether ``node`` is a starred target of a pattern: ``*rest`` in ``first, *rest = values``."""
    return node.type in _SPLATS and node.parent is not None and node.parent.type in _PATTERNS


def parameter_of(node: Node) -> Node | None:
    """The function or lambda that ``node`` is a parameter of, or None."""
    parent = node.parent
    if parent and parent.type in _NAMED_PARAMETERS:
        if parent.child_by_field_name("name") != node:
            return None
        parent = parent.parent
    else:
        while parent and (parent.type in _SPLATS or parent.type == "typed_parameter"):
            parent = parent.parent
    return parent.parent if parent and parent.type in _PARAMETERS else None


def in_string(node: Node) -> bool:
    """Whether ``node`` is inside a string."""
    above: Node | None = node
    while above:
        if above.type == "string":
            return True
        above = above.parent
    return False
