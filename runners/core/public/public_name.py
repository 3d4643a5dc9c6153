"""Whether one name is public: the rule of ``portbench enumerate``, for a name that a manifest uses.

Only what the name leads through is looked at and imported, step by step, and nothing behind the first step that is not
public.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from types import ModuleType
from typing import Any

from runners.core.public import names
from runners.core.public.functions import kind_of, origin, shows
from runners.core.public.library import Library
from runners.core.public.modules import folders, has_files, is_test, shows_module


def why_not_public(name: str, library: Library) -> str:
    """Why a name below the framework's namespace is not public, in one sentence; empty if it is public.

    Besides what ``enumerate`` lists, methods of public classes and values that cannot be called are public. Raises
    names.Missing if this version has no such name.
    """
    path, *parts = name.split(".")
    holder: Any = importlib.import_module(library.module)
    led_through = [holder]
    for part in parts:
        if part.startswith("_"):
            return f"{path}.{part} begins with an underscore"
        if _needs_import(holder, part) and not _may_be_imported(library, holder, part):
            return f"{path}.{part} is no public module"
        value = names.attribute(holder, part, path)
        path = f"{path}.{part}"
        reason = _why_not_shown(library, holder, part, value)
        if reason:
            return f"{path} {reason}"
        if isinstance(value, ModuleType) and any(value is each for each in led_through):
            return f"{path} leads through one module twice"
        led_through.append(value)
        holder = value
    return ""


def _needs_import(holder: Any, part: str) -> bool:
    """Whether a module has a part that only an import of its own shows."""
    if not isinstance(holder, ModuleType) or hasattr(holder, part) or not folders(holder):
        return False
    return importlib.util.find_spec(f"{holder.__name__}.{part}") is not None


def _may_be_imported(library: Library, holder: ModuleType, part: str) -> bool:
    return has_files(library, holder) and not is_test(part) and not library.leaves_out(f"{holder.__name__}.{part}")


def _why_not_shown(library: Library, holder: Any, part: str, value: Any) -> str:
    if isinstance(value, ModuleType):
        full_name = str(value.__name__)
        if full_name.split(".")[0] not in library.packages:
            return f"leads to {full_name}, outside the framework"
        if not isinstance(holder, ModuleType) or library.leaves_out(full_name):
            return "is left out of the public modules"
        if has_files(library, holder) and is_test(part):
            return "belongs to the framework's own tests"
        return "" if shows_module(library, holder, part, full_name) else "is no public module"
    if not isinstance(holder, ModuleType) and not inspect.isclass(holder):
        return "leads through an object, which is neither a module nor a class"
    if kind_of(value) is None:
        return ""
    home, _ = origin(value, part)
    if home.split(".")[0] not in (*library.packages, *library.shown):
        return f"leads to {home}, outside the framework"
    if library.leaves_out(home):
        return f"is defined in {home}, which is left out of the public modules"
    if isinstance(holder, ModuleType) and not shows(holder, part, home):
        return "is not public: its module does not show it as its own"
    return ""
