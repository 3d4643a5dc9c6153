"""From names in a manifest to Python objects, and no further than the framework and the runner's case modules."""

from __future__ import annotations

import importlib
import types
from typing import Any, Callable, Iterable, Mapping, Sequence

from runners.core.adapter import Framework

# Objects of these packages are what frameworks re-export on purpose: dtypes, ufuncs, plain classes, test methods.
_SHARED_PACKAGES = ("builtins", "numpy", "typing", "typing_extensions", "collections", "enum", "unittest")

# These run what their arguments hold, or open what they name.
_CODE_EXECUTION_APIS = (eval, exec, compile, open, __import__, input)


class Missing(Exception):
    """The framework has no such name in this version."""


class Forbidden(Exception):
    """The name leads out of the framework, or a case out of the case modules."""


def framework(name: str) -> Framework:
    """The facts about a framework that are known without importing it."""
    return importlib.import_module("runners." + name)


def function(name: str, facts: Framework) -> Any:
    """The object behind a public name such as ``torch.linalg.svd``.

    Raises Missing where this version has no such name, Forbidden where the name leads through a module of another
    package (``torch.os.system``), into Python itself (``torch.sum.__globals__``), or to what runs code that its
    arguments hold (``torch.hub.load``).
    """
    first, *rest = name.split(".")
    if first != facts.NAMESPACE:
        raise Forbidden(f"{name} does not begin with '{facts.NAMESPACE}.'")
    found: Any = importlib.import_module(facts.MODULE)
    path = first
    for part in rest:
        if part.startswith("__"):
            raise Forbidden(f"{name}: {part} leads into Python itself, outside the framework")
        found = _attribute(found, part, path)
        path += "." + part
        if isinstance(found, types.ModuleType):
            _check_package(found.__name__, path, facts.PACKAGES)
    home = getattr(found, "__module__", None)
    known_as = [name]
    if isinstance(home, str):
        known_as.append(f"{home}.{getattr(found, '__qualname__', '')}")
        _check_package(home, path, (*facts.PACKAGES, *_SHARED_PACKAGES))
    behind = any(_is_behind(door, known) for door in facts.DOORS for known in known_as)
    if behind or any(found is door for door in _CODE_EXECUTION_APIS):
        raise Forbidden(f"{name} runs code that its arguments hold or name, which a manifest may not")
    return found


def case(name: str) -> Callable[..., None]:
    """The case function behind ``call`` or ``torch.sorting:stable_argsort``. Raises Forbidden where there is none."""
    if name == "call":
        from runners.core.testing.call import call

        return call
    module_name, function_name = name.split(":")
    framework_name, module_name = module_name.split(".")
    path = f"runners.{framework_name}.cases.{module_name}"
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not path.startswith(error.name):
            raise
        raise Forbidden(f"there is no case module runners/{framework_name}/cases/{module_name}.py") from error
    found = vars(module).get(function_name)
    if not isinstance(found, types.FunctionType) or found.__module__ != path or function_name.startswith("_"):
        raise Forbidden(f"runners/{framework_name}/cases/{module_name}.py defines no case {function_name}")
    return found


def _attribute(parent: Any, part: str, path: str) -> Any:
    try:
        return getattr(parent, part)
    except AttributeError as error:
        reason = str(error)
    except ImportError as error:
        # A lazily imported part of the framework that this installation lacks.
        raise Missing(f"{path}.{part}: {error}") from error
    if isinstance(parent, types.ModuleType):
        try:
            return importlib.import_module(f"{parent.__name__}.{part}")
        except ImportError:
            pass
    raise Missing(f"{path} has no {part} ({reason})")


def _is_behind(door: str, name: str) -> bool:
    return f"{name}.".startswith(f"{door}.") if "." in door else door in name.split(".")


def _check_package(module: str, path: str, packages: Any) -> None:
    if module.split(".")[0] not in packages:
        raise Forbidden(f"{path} leads to {module}, outside the framework")


def resolve_names(
    functions: Iterable[str], cases: Iterable[str], references: Iterable[Sequence[str]], facts: Framework
) -> Mapping[str, Mapping[str, str]]:
    """Looks every name of a manifest up once: which functions are missing, which names are mistakes, and why.

    ``references`` are pairs of library (numpy, scipy, property) and name.
    """
    missing, forbidden = {}, {}
    for name in functions:
        try:
            function(name, facts)
        except Missing as error:
            missing[name] = str(error)
        except Forbidden as error:
            forbidden[name] = str(error)
    for name in cases:
        try:
            case(name)
        except Forbidden as error:
            forbidden[name] = str(error)
    for library, name in references:
        try:
            _reference(library, name)
        except LookupError as error:
            forbidden[name] = str(error)
    return {"missing": missing, "forbidden": forbidden}


def _reference(library: str, name: str) -> None:
    # Here, since these need NumPy, which the fake framework does without.
    from runners.core.testing import properties, references

    if library == "property":
        properties.find(name)
    else:
        references.find(library, name)
