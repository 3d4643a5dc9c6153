"""Imports of the runner's core go one way: a package imports only packages before it, and there is no cycle."""

from __future__ import annotations

import ast

from tests.paths import ROOT

CORE = ROOT / "runners" / "core"
ORDER = (
    *("errors", "result", "documents", "environment", "devices", "failure", "adapter"),
    *("manifest_grids", "manifest", "testing", "triage", "prediction", "process", "enumeration", "cli"),
)


def modules():
    """Each module's name below runners.core, and those that it imports."""
    for path in sorted(CORE.rglob("*.py")):
        parts = path.relative_to(CORE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            yield name, set(imported(ast.parse(path.read_text("utf-8"))))


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("runners.core"):
            package = node.module[len("runners.core") :].lstrip(".")
            for alias in node.names:
                full = f"{package}.{alias.name}" if package else alias.name
                is_module = (CORE / (full.replace(".", "/") + ".py")).exists()
                yield full if is_module else package


def is_for_types_only(name, other):
    """Annotations alone, below TYPE_CHECKING."""
    return (name, other) == ("devices", "adapter")


def test_packages_import_only_packages_before_them():
    for name, others in modules():
        for other in others:
            first, second = (ORDER.index(each.split(".")[0]) for each in (name, other))
            assert second <= first or is_for_types_only(name, other), f"{name} imports {other}"


def test_no_modules_import_each_other():
    graph = {name: {other for other in others if not is_for_types_only(name, other)} for name, others in modules()}
    while graph:
        free = [name for name, others in graph.items() if not others & set(graph)]
        assert free, f"a cycle among {sorted(graph)}"
        for name in free:
            del graph[name]
