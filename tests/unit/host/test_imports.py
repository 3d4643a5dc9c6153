"""Imports go one way, on both sides, and nothing grows beyond the size that reads well.

A package imports only packages to its left in ``HOST`` or ``RUNNER``. Every import statement counts, wherever it is
written: at the top of a module, inside a function, and under ``TYPE_CHECKING``. An import that only the type checker
sees is a dependency of the reader all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.paths import ROOT

LONGEST_FUNCTION = 60
MOST_ROOT_MODULES = 6


@dataclass(frozen=True)
class Side:
    """The host's package or the runner's core: its packages (or root modules) in the order of their imports."""

    root: str
    """The name of the package."""
    folder: Path
    order: tuple[str, ...]

    def package_of(self, module: str) -> str:
        """``study`` of ``portbench.study.merge``; empty for modules outside, and for the root package itself."""
        return module.removeprefix(f"{self.root}.").partition(".")[0] if module.startswith(f"{self.root}.") else ""


@dataclass(frozen=True)
class Import:
    """One import statement. ``module`` imports ``imported``, both by their full names."""

    module: str
    imported: str
    place: str
    """File and line."""


HOST = Side(
    "portbench",
    ROOT / "scripts" / "portbench",
    (
        *("errors", "devices", "util", "formats", "published", "targets", "backends", "doctor", "run", "corpus"),
        *(
            "launch",
            "study",
            "analysis",
            "explain",
            "tables",
            "figures",
            "scaling",
            "compare",
            "history",
            "page",
            "record",
            "report",
            "site",
            "cli",
            "__main__",
        ),
    ),
)
RUNNER = Side(
    "runners.core",
    ROOT / "runners" / "core",
    (
        *(
            "errors",
            "result",
            "schema_predicate",
            "schema_mistakes",
            "documents",
            "run_check",
            "installation",
            "environment",
            "devices",
        ),
        *("vendors", "failure", "adapter"),
        *(
            "selection",
            "manifest_grids",
            "programs",
            "manifest",
            "public",
            "testing",
            "mutants",
            "triage",
            "prediction",
        ),
        *("process", "enumeration", "collection", "cli"),
    ),
)
BOTH = pytest.mark.parametrize("side", (HOST, RUNNER), ids=("host", "runner"))


@BOTH
def test_the_order_names_every_package(side: Side) -> None:
    found = {path.stem for path in side.folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    missing = found - {"__init__"} - set(side.order)
    assert not missing, f"give them a place in the order of {side.root}: {', '.join(sorted(missing))}"


@BOTH
def test_a_package_imports_only_packages_to_its_left(side: Side) -> None:
    wrong = []
    for each in _imports(side):
        importer, imported = side.package_of(each.module), side.package_of(each.imported)
        if {importer, imported} <= set(side.order) and side.order.index(imported) > side.order.index(importer):
            wrong.append(f"{each.place}: {importer} imports {imported} ({each.imported})")
    assert not wrong, _listed("These imports go against the order of the packages", wrong)


@BOTH
def test_no_modules_import_each_other_in_a_circle(side: Side) -> None:
    graph: dict[str, set[str]] = {}
    for each in _imports(side):
        graph.setdefault(each.module, set()).add(each.imported)
    circle = _circle(graph)
    places = [each.place for a, b in pairwise(circle) for each in _from_to(side, a, b)]
    assert not circle, _listed(f"These modules form a circle: {' -> '.join(circle)}", places)


def test_host_and_runner_import_nothing_of_each_other() -> None:
    wrong = [each for each in _imports(HOST) if each.imported.partition(".")[0] == "runners"]
    for path in sorted((ROOT / "runners").rglob("*.py")):
        wrong += [each for each in _imports_of(path, ROOT) if each.imported.partition(".")[0] == "portbench"]
    assert not wrong, _listed("The schemas are all that both sides share", [f"{e.place}: {e.imported}" for e in wrong])


def test_the_runners_core_imports_no_adapter() -> None:
    wrong = [
        f"{each.place}: {each.imported}"
        for each in _imports(RUNNER)
        if each.imported.startswith("runners.") and not each.imported.startswith("runners.core.")
    ]
    assert not wrong, _listed("runners/core knows no framework", wrong)


def test_few_modules_lie_outside_of_the_hosts_packages() -> None:
    assert len(list(HOST.folder.glob("*.py"))) <= MOST_ROOT_MODULES


def test_no_function_is_longer_than_a_screen() -> None:
    long = []
    for path in sorted([*(ROOT / "scripts").rglob("*.py"), *RUNNER.folder.rglob("*.py")]):
        for node in ast.walk(_parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno
                if lines > LONGEST_FUNCTION:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {lines} lines")
    assert not long, _listed(f"These functions are longer than {LONGEST_FUNCTION} lines", long)


def test_a_wrong_import_is_found_in_a_function_and_under_type_checking(tmp_path: Path) -> None:
    package = tmp_path / "portbench" / "util"
    package.mkdir(parents=True)
    (package / "text.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from portbench.study import store\n"
        "def f():\n    import portbench.cli.run\n    from ..cli import options\n"
    )
    found = list(_imports_of(package / "text.py", tmp_path))
    assert {(each.module, each.imported) for each in found if each.imported.startswith("portbench")} == {
        ("portbench.util.text", "portbench.study"),
        ("portbench.util.text", "portbench.cli.run"),
        ("portbench.util.text", "portbench.cli"),
    }
    assert {each.place for each in found} >= {"portbench/util/text.py:3", "portbench/util/text.py:5"}


def test_a_circle_is_found() -> None:
    assert _circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) in (
        ["a", "b", "c", "a"],
        ["b", "c", "a", "b"],
        ["c", "a", "b", "c"],
    )
    assert _circle({"a": {"b", "c"}, "b": {"c"}}) == []


@cache
def _imports(side: Side) -> tuple[Import, ...]:
    source_root = side.folder.parents[side.root.count(".")]
    return tuple(each for path in sorted(side.folder.rglob("*.py")) for each in _imports_of(path, source_root))


def _imports_of(path: Path, source_root: Path) -> Iterator[Import]:
    """The imports of a file. ``from package import module`` imports the module, where there is one of that name."""
    names = path.relative_to(source_root).with_suffix("").parts
    module = ".".join(names[:-1] if names[-1] == "__init__" else names)
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.relative_to(source_root)
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*(names[: -node.level] if node.level else ()), *filter(None, [node.module])])
            imported = [_module(base, alias.name, source_root) for alias in node.names]
        else:
            continue
        for each in dict.fromkeys(imported):
            if each != module:
                yield Import(module, each, f"{shown}:{node.lineno}")


def _module(base: str, name: str, source_root: Path) -> str:
    folder = source_root.joinpath(*base.split("."))
    is_module = (folder / f"{name}.py").is_file() or (folder / name).is_dir()
    return f"{base}.{name}" if is_module else base


def _circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The modules of a circle, the first again at the end; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def _from_to(side: Side, module: str, imported: str) -> list[Import]:
    return [each for each in _imports(side) if (each.module, each.imported) == (module, imported)]


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _listed(what: str, lines: list[str]) -> str:
    return "\n  ".join([f"{what}:", *lines])
