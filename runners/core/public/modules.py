"""The tree of a framework's public modules: every path under which each is public.

A module is entered if it belongs to the framework's packages, is not left out by name, is not a test, and every part of
its path is public (does not begin with an underscore):

- under its own name: as an attribute or, with ``Library.submodules``, as a file below its package;
- where a package shows it, if its own name is not public (``tf.math`` is ``tensorflow._api.v2.math``). With
  ``Library.submodules``, modules of other packages (``jaxlib``) are not entered in this way.

What a plain module imports for its own use does not become public by that. A path never leads through a module twice,
which ends cycles. Entering a lazy module loads it. An import that fails or exits is an error of that module.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import deque
from types import ModuleType
from typing import Any, Callable, Mapping, NamedTuple

from runners.core.public.library import Library
from runners.core.public.texts import reason_of

_MOST_PATHS = 40
"""The most paths of one module: TensorFlow shows its compatibility modules within each other."""

_TEST = re.compile(r"tests?|conftest|test_(?!utils?$).*|.*_test")
"""Parts of module names that mark the framework's own tests. Not test_util, which is for users."""


class PublicModule:
    """``paths`` are its public names; the first one found, which has the fewest parts, is the first. ``values`` are its
    attributes with public names."""

    def __init__(self, module: ModuleType, values: Mapping[str, Any]) -> None:
        self.module = module
        self.name: str = module.__name__
        self.is_package = bool(folders(module))
        self.values = values
        self.paths: list[str] = []


class Tree(NamedTuple):
    """The result. ``errors`` maps a module or attribute to the reason."""

    root: ModuleType
    modules: list[PublicModule]
    errors: dict[str, str]
    left_out: set[str]
    tests: set[str]


def is_private(name: str) -> bool:
    """Whether a dotted name leads through something that begins with an underscore."""
    return any(part.startswith("_") for part in name.split("."))


def is_test(name: str) -> bool:
    """Whether the last part of a module's name marks the framework's own tests."""
    return _TEST.fullmatch(name) is not None


def has_files(library: Library, module: ModuleType) -> bool:
    """Whether the files of a package are public modules, although only an import of their own shows them."""
    return library.submodules and module.__name__.split(".")[0] == library.top and bool(folders(module))


def shows_module(library: Library, parent: ModuleType, name: str, child: str) -> bool:
    """Whether a public module makes the module ``child`` public under ``name``, which is not private. Tests and what is
    left out by name are not looked at here."""
    top = child.split(".")[0]
    if top not in library.packages:
        return False
    if child == f"{parent.__name__}.{name}":
        return True
    if library.submodules and (top != library.top or not is_private(child)):
        return False
    return bool(folders(parent))


def public_modules(library: Library, skip: Mapping[str, str], entering: Callable[[str], None]) -> Tree:
    """Walks the tree breadth first.

    ``skip`` maps modules that must not be touched to the reason: an earlier walk died in them. ``entering`` is called
    before each module is imported or entered.

    Raises what importing the framework itself raises.
    """
    entering(library.module)
    walk = _Walk(library, importlib.import_module(library.module), skip, entering)
    return walk.tree()


class _Walk:
    def __init__(
        self, library: Library, root: ModuleType, skip: Mapping[str, str], entering: Callable[[str], None]
    ) -> None:
        self._library = library
        self._skip = skip
        self._entering = entering
        self._found: dict[int, PublicModule] = {}
        self._edges: dict[int, list[tuple[str, ModuleType]]] = {}
        self._tree = Tree(root, [], dict(skip), set(), set())

    def tree(self) -> Tree:
        root = self._tree.root
        queue: deque[tuple[ModuleType, str, tuple[int, ...]]] = deque([(root, self._library.namespace, ())])
        while queue:
            module, path, above = queue.popleft()
            found = self._entered(module)
            if len(found.paths) == _MOST_PATHS or path in found.paths:
                continue
            found.paths.append(path)
            here = (*above, id(module))
            queue.extend(
                (child, f"{path}.{name}", here) for name, child in self._edges[id(module)] if id(child) not in here
            )
        return self._tree

    def _entered(self, module: ModuleType) -> PublicModule:
        if id(module) not in self._found:
            self._entering(module.__name__)
            # Files first: importing one makes it an attribute.
            files = list(self._files(module))
            found = self._found[id(module)] = PublicModule(module, self._values(module))
            self._tree.modules.append(found)
            children = {name: value for name, value in found.values.items() if isinstance(value, ModuleType)}
            children.update(files)
            self._edges[id(module)] = [
                (name, child) for name, child in sorted(children.items()) if self._is_public(found, name, child)
            ]
        return self._found[id(module)]

    def _values(self, module: ModuleType) -> dict[str, Any]:
        values = {}
        try:
            names = {*dir(module), *declared(module)}
        except BaseException as error:
            self._failed(module.__name__, error)
            names = set()
        for name in sorted(name for name in names if not name.startswith("_")):
            try:
                values[name] = getattr(module, name)
            except BaseException as error:
                self._failed(f"{module.__name__}.{name}", error)
        return values

    def _files(self, module: ModuleType) -> list[tuple[str, ModuleType]]:
        if not has_files(self._library, module):
            return []
        found = []
        for name in sorted(info.name for info in pkgutil.iter_modules(folders(module))):
            full_name = f"{module.__name__}.{name}"
            if name.startswith("_") or self._is_left_out(full_name, name) or full_name in self._skip:
                continue
            self._entering(full_name)
            try:
                found.append((name, importlib.import_module(full_name)))
            except BaseException as error:
                self._failed(full_name, error)
            self._entering(module.__name__)
        return found

    def _is_public(self, parent: PublicModule, name: str, child: ModuleType) -> bool:
        full_name = str(getattr(child, "__name__", ""))
        if full_name in self._skip or full_name in self._tree.tests or self._left_out_by_name(full_name):
            return False
        return shows_module(self._library, parent.module, name, full_name)

    def _is_left_out(self, full_name: str, name: str) -> bool:
        if is_test(name):
            self._tree.tests.add(full_name)
            return True
        return self._left_out_by_name(full_name)

    def _left_out_by_name(self, full_name: str) -> bool:
        left_out = self._library.leaves_out(full_name)
        if left_out:
            self._tree.left_out.add(full_name)
        return left_out

    def _failed(self, name: str, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt):
            raise error
        self._tree.errors[name] = reason_of(error)


def declared(module: ModuleType) -> list[str]:
    """The names in a module's ``__all__``; empty where it has none."""
    return _texts(module, "__all__")


def folders(module: ModuleType) -> list[str]:
    """Where the files of a package lie; empty for a plain module."""
    return _texts(module, "__path__")


def _texts(module: ModuleType, name: str) -> list[str]:
    # Some modules (torch.classes) return something for every name; only lists of strings count.
    try:
        return [text for text in getattr(module, name) if isinstance(text, str)]
    except Exception:
        return []
