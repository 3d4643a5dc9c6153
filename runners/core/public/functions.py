"""Lists the public functions of public modules, each with one canonical name.

A name in a public module is public if the module's ``__all__`` lists it. Without ``__all__``, every name of a package
is public, because packages collect names; of a plain module, what it defines itself, and what is defined in a private
module. Names that begin with an underscore are never public. What another package defines is public only if the
framework shows that package's functions as its own.

Public names of one object are one entry. See ``schema/functions.schema.json`` for which of them is canonical.
"""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any, Callable, Iterable, Iterator, NamedTuple

from runners.core.public.library import Library
from runners.core.public.modules import PublicModule, declared, folders, is_private
from runners.core.public.texts import settled, signature

_BUILTIN = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
)


class Function(NamedTuple):
    """An object and all its public names."""

    value: Any
    kind: str
    module: str
    qualname: str
    names: set[str]


class Functions(NamedTuple):
    """``foreign``: the number of objects with public names that other packages define."""

    found: list[Function]
    foreign: int


def public_functions(library: Library, modules: Iterable[PublicModule]) -> Functions:
    """All public functions and classes of the modules, in no particular order."""
    found: dict[int, Function] = {}
    foreign: dict[int, Any] = {}
    for module in modules:
        for name, value in module.values.items():
            kind = kind_of(value)
            if kind is None:
                continue
            home, qualname = origin(value, name)
            if home.split(".")[0] not in (*library.packages, *library.shown):
                foreign[id(value)] = value
                continue
            if library.leaves_out(home) or not shows(module.module, name, home):
                continue
            function = found.setdefault(id(value), Function(value, kind, home, qualname, set()))
            function.names.update(f"{path}.{name}" for path in module.paths)
    return Functions(list(found.values()), len(foreign))


def public_methods(classes: Iterable[Function]) -> Iterator[Function]:
    """The public methods of public classes: those that a class defines itself or inherits from a private class."""
    classes = list(classes)
    public = {id(function.value) for function in classes}
    for owner in classes:
        lineage = owner.value.__mro__
        listed = [each for each in lineage[1:] if id(each) in public or each in (object, type)]
        # The methods of these are listed under their own names, or not at all.
        theirs = {id(ancestor) for each in listed for ancestor in each.__mro__}
        known = {name for each in listed for name in vars(each)} - set(vars(owner.value))
        for ancestor in lineage:
            if ancestor is owner.value or id(ancestor) not in theirs:
                for name, function in _methods(ancestor):
                    if name not in known:
                        known.add(name)
                        home, qualname = origin(function, name)
                        yield Function(function, "method", home, qualname, {f"{each}.{name}" for each in owner.names})


def _methods(holder: Any) -> Iterator[tuple[str, Any]]:
    for name, value in vars(holder).items():
        if isinstance(name, str) and not name.startswith("_"):
            function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            if kind_of(function) in ("function", "builtin"):
                yield name, function


def kind_of(value: Any) -> str | None:
    """The kind of an object: function, class, builtin or callable; None if it cannot be called."""
    if inspect.isclass(value):
        return "class"
    if isinstance(value, (types.FunctionType, types.MethodType)):
        return "function"
    if isinstance(value, _BUILTIN):
        return "builtin"
    if isinstance(value, types.ModuleType) or not callable(value):
        return None
    # Aliases of types (Optional[Tensor]) are callable but are not functions.
    return None if type(value).__module__ in ("typing", "types", "typing_extensions") else "callable"


def origin(value: Any, name: str) -> tuple[str, str]:
    """The module in which an object is defined, and its name there; ``name`` if the object has none."""
    if isinstance(value, functools.partial):
        value = value.func
    home = _text(value, "__module__")
    qualname = _text(value, "__qualname__") or _text(value, "__name__") or name
    if not home:
        owner = _attribute(value, "__objclass__") or _attribute(value, "__self__")
        if isinstance(owner, types.ModuleType):
            home = owner.__name__
        elif owner is not None:
            home = _text(owner if inspect.isclass(owner) else type(owner), "__module__")
        else:
            home = type(value).__module__
    return settled(home, 200), settled(qualname, 200)


def entries(
    functions: Iterable[Function], has_public_test: Callable[[Iterable[str]], bool | None]
) -> list[dict[str, Any]]:
    """The entries of the document, in the order of their names. If two have the same canonical name (methods that an
    instance creates again), the entry with the first module in the alphabet stays."""
    made: dict[str, dict[str, Any]] = {}
    for function in sorted(functions, key=lambda each: (each.module, each.qualname)):
        name, *aliases = ranked(function.names, function.qualname)
        if name not in made:
            text, source = signature(function.value)
            made[name] = {
                "name": name,
                "aliases": sorted(aliases),
                "kind": function.kind,
                "signature": text,
                "signature_source": source,
                "module": function.module,
                "qualname": function.qualname,
                "has_public_test": has_public_test(function.names),
            }
    return [made[name] for name in sorted(made)]


def ranked(names: Iterable[str], qualname: str) -> list[str]:
    """Sorts names; the canonical one is the first."""
    own = qualname.split(".")[-1]
    return sorted(names, key=lambda name: (name.count("."), name.split(".")[-1] != own, len(name), name))


def shows(module: types.ModuleType, name: str, home: str) -> bool:
    """Whether a public module makes an object public that is defined in ``home``, under a name that is not private."""
    names = declared(module)
    if names:
        return name in names
    return bool(folders(module)) or home == module.__name__ or is_private(home)


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def _text(value: Any, name: str) -> str:
    found = _attribute(value, name)
    return found if isinstance(found, str) else ""
