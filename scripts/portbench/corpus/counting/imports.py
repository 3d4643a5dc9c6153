"""The names that an import statement binds, and what each refers to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

STATEMENTS = frozenset({"import_statement", "import_from_statement", "future_import_statement"})


@dataclass(frozen=True)
class Imported:
    """``name`` refers to ``path``, such as ``torch.nn``, or with None to something in the file's own package.

    ``name`` is ``*`` if the statement binds all names of the module ``path``.
    """

    name: bytes
    path: bytes | None


def imported(statement: Node) -> Iterator[Imported]:
    """The names that an import statement binds, in its order."""
    module: bytes | None = b""
    if statement.type != "import_statement":
        source = statement.child_by_field_name("module_name")
        module = None if source is None or source.type == "relative_import" else dotted(source)
        if any(child.type == "wildcard_import" for child in statement.children):
            yield Imported(b"*", module)
    for node in statement.children_by_field_name("name"):
        alias = node.child_by_field_name("alias") if node.type == "aliased_import" else None
        named = node.child_by_field_name("name") if alias is not None else node
        if named is None:
            continue
        path = dotted(named)
        if statement.type != "import_statement":
            yield Imported(path if alias is None else dotted(alias), None if module is None else module + b"." + path)
        elif alias is not None:
            yield Imported(dotted(alias), path)
        else:
            # "import torch.nn" binds torch.
            yield Imported(path.partition(b".")[0], path.partition(b".")[0])


def dotted(node: Node) -> bytes:
    """``torch.nn`` of a dotted name, an attribute chain or an identifier, without blanks between its parts."""
    text = node.text or b""
    return text if text.replace(b".", b"").replace(b"_", b"").isalnum() else b"".join(text.replace(b"\\", b"").split())
