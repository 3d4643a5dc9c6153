"""The paper's list of a framework's functions, as far as its rule is known.

Source: ``get_functions.py`` in the public repository of the paper's authors (for-ai/portability), and the lists of
names next to it. The script visits the modules that are members of modules, and collects the short names of their
functions, built-in functions and classes in one set; the paper's figures are sizes of such sets. Therefore names with
the same end (``torch.add``, ``torch.sparse.add``) are one function there. Parts of the rule that follow only from the
published lists are marked as guessed, in ``StudyRule`` and in the document.
"""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from runners.core.public.functions import Function, kind_of, origin, ranked
from runners.core.public.library import Library, StudyRule

KNOWN = (
    "Published: get_functions.py in the paper's public repository (for-ai/portability).\n"
    "Modules that are members of a module are entered, each once by its name, if the parent's name is part of theirs. "
    "Nothing is imported beside the framework.\n"
    "Every function, built-in function and class that is a member of an entered module counts, wherever it is "
    "defined.\n"
    "What counts are short names: all that end alike are one entry. Its name is the canonical one of them, the others "
    "are its aliases."
).splitlines()
_PRIVATE = {
    True: "Names that begin with an underscore count, as they do in the published list.",
    False: "Names that begin with an underscore do not count: the published list has none.",
}
_METHODS = {
    True: "Methods, class methods and inner classes of the classes in entered modules count, as they do in the "
    "published list.",
    False: "Methods do not count: the published script finds but does not count them.",
}


def guessed(rule: StudyRule) -> list[str]:
    """The parts of the rule that are inferred from the published lists."""
    texts = [_PRIVATE[rule.private], _METHODS[rule.methods]]
    if rule.left_out:
        texts.append(
            f"Modules with {', '.join(rule.left_out)} in their names are left out: the list has none of theirs."
        )
    return texts


class Member(NamedTuple):
    """A member of a module or class, with the path on which it was found."""

    path: str
    value: Any
    is_method: bool


class Met(NamedTuple):
    """``modules``: the number of modules that were entered. ``members``: by short name."""

    modules: int
    members: dict[str, list[Member]]


def met(library: Library, root: ModuleType) -> Met:
    """Visits a framework that was just imported and not visited before."""
    walk = _Walk(library)
    walk.enter_members(root, library.namespace, at_top=True)
    return Met(len(walk.entered), walk.members)


def study_functions(members: Mapping[str, Sequence[Member]], public: Iterable[Function]) -> list[Function]:
    """One function for each short name. ``public``: the functions of our own rule, whose names are used for an object
    if one ends with the short name."""
    names = {id(function.value): function.names for function in public}
    return [_merged(short, members[short], names) for short in sorted(members)]


def _merged(short: str, members: Sequence[Member], public: Mapping[int, set[str]]) -> Function:
    by_name: dict[str, Member] = {}
    for member in members:
        same = [name for name in public.get(id(member.value), ()) if name.rsplit(".", 1)[-1] == short]
        for name in same or [member.path]:
            by_name.setdefault(name, member)
    chosen = by_name[ranked(by_name, short)[0]]
    home, qualname = origin(chosen.value, short)
    kind = "method" if chosen.is_method else kind_of(chosen.value) or "callable"
    return Function(chosen.value, kind, home, qualname, set(by_name))


class _Walk:
    def __init__(self, library: Library) -> None:
        self._rule = library.study
        self._namespace = library.namespace
        self._module = library.module
        self.entered: list[str] = []
        self.members: dict[str, list[Member]] = {}
        self._seen: set[str] = set()

    def enter_members(self, module: ModuleType, path: str, at_top: bool = False) -> None:
        for name, child in _members(module, inspect.ismodule):
            full_name = str(child.__name__)
            if full_name in self._seen or not self._enters(full_name, at_top) or module.__name__ not in full_name:
                continue
            self._seen.add(full_name)
            self.entered.append(full_name)
            # Some modules have the framework's own module as a member.
            self._take(child, self._namespace if full_name == self._module else f"{path}.{name}")

    def _enters(self, name: str, at_top: bool) -> bool:
        rule = self._rule
        if name.startswith(tuple(rule.refused)) or any(part in name for part in rule.left_out):
            return False
        if at_top and rule.at_top:
            return any(part in name for part in rule.at_top)
        return not name.startswith("_")

    def _take(self, module: ModuleType, path: str) -> None:
        try:
            self._count(module, path, is_method=False)
            for name, value in _members(module, inspect.isclass):
                self._note(name, f"{path}.{name}", value, is_method=False)
            if self._rule.methods:
                self._take_classes(module, path)
            self.enter_members(module, path)
        except Exception:
            # As in the script: a module that raises an error (torch.ops) counts up to that point.
            return

    def _take_classes(self, holder: Any, path: str) -> None:
        """Methods of the classes in a module or class, each class once by its name, where it is found first."""
        for name, value in _members(holder, inspect.isclass):
            if value.__name__ not in self._seen:
                self._seen.add(value.__name__)
                self._count(value, f"{path}.{name}", is_method=True)
                for short, inner in _members(value, lambda each: inspect.ismethod(each) or inspect.isclass(each)):
                    self._note(short, f"{path}.{name}.{short}", inner, is_method=not inspect.isclass(inner))
                self._take_classes(value, f"{path}.{name}")

    def _count(self, holder: Any, path: str, is_method: bool) -> None:
        for name, value in _members(holder, lambda each: inspect.isfunction(each) or inspect.isbuiltin(each)):
            self._note(name, f"{path}.{name}", value, is_method)

    def _note(self, short: str, path: str, value: Any, is_method: bool) -> None:
        if self._rule.private or not short.startswith("_"):
            self.members.setdefault(short, []).append(Member(path, value, is_method))


def _members(holder: Any, wanted: Any) -> list[tuple[str, Any]]:
    return inspect.getmembers(holder, wanted)
