"""Which names of a framework a manifest may use: public ones and those of ``runners/<framework>/private_names.json``.

A list of what is dangerous is never complete. So a name is allowed if the framework calls it public, or if it was read
and signed off here, with the reason; this does for the names of the paper that are not public.
"""

from __future__ import annotations

import importlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Collection, Mapping

from runners.core.public import library, names, public_name
from runners.core.public.names import Forbidden

_RUNNERS = Path(__file__).resolve().parents[2]


def signed_off(framework: str) -> Mapping[str, str]:
    """The private names that manifests may use, each with the reason."""
    path = _RUNNERS / framework / "private_names.json"
    found: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def function(name: str, framework: str, private_names: bool = False) -> Any:
    """The object behind a name that a manifest may use. With ``private_names`` it need not be public.

    Raises names.Missing if this version has no such name, names.Forbidden if a manifest may not use it.
    """
    facts = names.framework(framework)
    if name.split(".")[0] == facts.NAMESPACE and not private_names and name not in signed_off(framework):
        reason = _why_not_public(name, framework)
        if reason:
            raise Forbidden(f"{reason}. Expected is a name that {framework} calls public")
    return names.function(name, facts, name in signed_off(framework))


def _why_not_public(name: str, framework: str) -> str:
    if any(part.startswith("__") for part in name.split(".")):
        # names.function says why.
        return ""
    reason = public_name.why_not_public(name, library.of_framework(framework))
    return "" if reason and name in _also_public(framework) else reason


@lru_cache(maxsize=None)
def _also_public(framework: str) -> Collection[str]:
    """Names that the framework calls public in its own way."""
    rules = importlib.import_module(f"runners.{framework}.public_names")
    return rules.also_public() if hasattr(rules, "also_public") else ()
