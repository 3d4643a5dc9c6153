"""Finds what a manifest names besides functions: cases, references and properties.

Cases come from ``runners/<framework>/cases/`` only.
"""

from __future__ import annotations

import importlib
import types
from typing import Any, Callable, Mapping

from runners.core.public import permitted
from runners.core.public.names import Forbidden, Missing


def case(name: str) -> Callable[..., None]:
    """Finds ``call``, ``replay``, ``program`` or ``torch.sorting:stable_argsort``. Raises Forbidden for any other."""
    if name == "call":
        # Imported when it is needed: it imports NumPy.
        from runners.core.testing.call import call

        return call
    if name == "replay":
        from runners.core.testing.replay import replay

        return replay
    if name == "program":
        from runners.core.testing.program import program

        return program
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


def resolve_names(asked: Mapping[str, Any], framework: str) -> Mapping[str, Mapping[str, str]]:
    """Looks up every name of a manifest once.

    ``asked`` has ``functions``; ``attributes``, the names that arguments are taken from; ``cases``; ``references``,
    pairs of a library (numpy, scipy, property) and a name; ``private_names``, whether names need not be public. Returns
    ``missing``, the functions that this version does not have, and ``forbidden``, the names that are mistakes; both map
    a name to the reason.
    """
    missing, forbidden = {}, {}
    functions, attributes = asked["functions"], asked["attributes"]
    for name in [*functions, *attributes]:
        try:
            permitted.function(name, framework, asked["private_names"])
        except Missing as error:
            # A test whose argument is missing says so itself.
            if name in functions:
                missing[name] = str(error)
        except Forbidden as error:
            forbidden[name] = str(error)
    for name in asked["cases"]:
        try:
            case(name)
        except Forbidden as error:
            forbidden[name] = str(error)
    for library, name in asked["references"]:
        try:
            _reference(library, name)
        except LookupError as error:
            forbidden[name] = str(error)
    return {"missing": missing, "forbidden": forbidden}


def _reference(library: str, name: str) -> None:
    # Imported when they are needed: they import NumPy.
    from runners.core.testing import properties, references

    if library == "property":
        properties.find(name)
    else:
        references.find(library, name)
