"""The addresses of a site and the names that people read. Addresses follow from names alone, so they stay the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

from portbench.analysis.configurations import Configuration

FRAMEWORKS = {"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}
"""The frameworks whose name is written in another way than in targets."""

RESERVED = frozenset({"api", "assets", "badges", "data", "targets"})
"""Folders of a site that are no framework's."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._@+-]+")
_LONGEST = 120
_KEPT = 60


def slug(name: str, reserved: Collection[str] = ()) -> str:
    """``name`` as one part of an address and one name of a file.

    That is the name itself where it has only letters, digits and ``._@+-``, is not too long and not ``reserved``; else
    what is left of it and a digest.
    """
    safe = _UNSAFE.sub("-", name)
    plain = safe.lstrip(".-") == name and len(name) <= _LONGEST and name not in reserved
    if plain and name:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return "-".join(filter(None, (safe.strip(".-")[:_KEPT], digest)))


def framework_slug(framework: str) -> str:
    """The folder of a framework's pages."""
    return slug(framework, RESERVED)


def function_slug(function: str) -> str:
    """The folder of a function's page within its framework's."""
    return slug(function, ("functions", "index.html"))


def target_slug(side: Configuration, *, is_collected: bool = False) -> str:
    """The folder of a target's page in targets/: ``torch-2.9.0-tpu@box``, of collected tests with ``@collected``."""
    sync = "" if side.sync == "complete" else f"@{side.sync}"
    return slug(f"{side.target}@{side.machine}{sync}{'@collected' if is_collected else ''}")


def framework_title(framework: str) -> str:
    """The framework as people write it."""
    return FRAMEWORKS.get(framework, framework)


def device_title(side: Configuration, model: str | None) -> str:
    """A device in full: "GPU Tesla T4", "TPU v5e", "CPU". ``model``: that of its environment."""
    kind, _, rest = side.device.partition("-")
    name = kind.upper()
    if side.is_predicted:
        return f"{name} {rest}" if rest and rest != "predicted" else name
    if kind not in ("gpu", "tpu") or not model:
        return name if not rest else f"{name} {rest}"
    return model if model.startswith(name) else f"{name} {model}"
