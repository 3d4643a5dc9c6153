"""Finds the objects behind names of a framework's functions, and refuses names that lead out of the framework."""

from __future__ import annotations

import importlib
import types
from typing import Any

from runners.core.adapter import Framework

# Objects of these packages are what frameworks re-export on purpose: dtypes, ufuncs, plain classes, test methods.
_SHARED_PACKAGES = ("builtins", "numpy", "typing", "typing_extensions", "collections", "enum", "unittest")

# These run code that their arguments hold, or open what their arguments name.
_PYTHON_CODE_EXECUTION_APIS = (eval, exec, compile, open, __import__, input)


class Missing(Exception):
    """The framework has no such name in this version."""


class Forbidden(Exception):
    """The name leads out of the framework, or there is no such case."""


def framework(name: str) -> Framework:
    """The module runners/<name>: facts about a framework that do not need its import."""
    return importlib.import_module("runners." + name)


def function(name: str, facts: Framework, signed_off: bool = False) -> Any:
    """The object behind a public name such as ``torch.linalg.svd``, or behind a private one that is ``signed_off``.

    Raises Missing if this version has no such name, and Forbidden if the name leads through a module of another
    package (``torch.os.system``), into Python itself (``torch.sum.__globals__``), or to an API that runs
    code from its arguments (``torch.hub.load``).
    """
    first, *rest = name.split(".")
    if first != facts.NAMESPACE:
        raise Forbidden(f"{name} does not begin with '{facts.NAMESPACE}.'")
    found: Any = importlib.import_module(facts.MODULE)
    path = first
    for part in rest:
        if part.startswith("__") and not signed_off:
            raise Forbidden(f"{name}: {part} leads into Python itself, outside the framework")
        found = attribute(found, part, path)
        path += "." + part
        if isinstance(found, types.ModuleType):
            _check_package(found.__name__, path, facts.PACKAGES)
    home = getattr(found, "__module__", None)
    known_as = [name]
    if isinstance(home, str):
        known_as.append(f"{home}.{getattr(found, '__qualname__', '')}")
        _check_package(home, path, (*facts.PACKAGES, *_SHARED_PACKAGES))
    runs_code = any(_is_part(api, known) for api in facts.CODE_EXECUTION_APIS for known in known_as)
    if runs_code or any(found is api for api in _PYTHON_CODE_EXECUTION_APIS):
        raise Forbidden(f"{name} runs code that its arguments hold or name, which a manifest may not")
    return found


def attribute(parent: Any, part: str, path: str) -> Any:
    """What a module or object shows under a name, or the module that an import of the name gives. Raises Missing."""
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


def _is_part(api: str, name: str) -> bool:
    """Whether a name is the API or below it; an API without a dot may be any part of the name."""
    return f"{name}.".startswith(f"{api}.") if "." in api else api in name.split(".")


def _check_package(module: str, path: str, packages: Any) -> None:
    if module.split(".")[0] not in packages:
        raise Forbidden(f"{path} leads to {module}, outside the framework")
