"""Names of sources: ``docs``, ``pytest:PACKAGE``, and the sources of samples that a framework has."""

from __future__ import annotations

import re
from importlib import metadata
from typing import Any

from runners.core.errors import BadInput
from runners.core.testing import samples

DOCS, SUITE = "docs", "pytest:"
_PACKAGE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)


def is_recorded(source: str) -> bool:
    """Whether a source is recorded: ``docs``, or ``pytest:PACKAGE``."""
    return source == DOCS or source.startswith(SUITE)


def check(source: str, framework: str) -> None:
    """Raises BadInput unless the framework has a source of this name, or the name is that of a recorded one."""
    if source.startswith(SUITE) and not _PACKAGE.fullmatch(source[len(SUITE) :]):
        raise BadInput(
            f"the source {source!r} names no package",
            "Expected is pytest:PACKAGE, such as pytest:optax or pytest:optax.losses.",
        )
    if not is_recorded(source):
        samples.source(framework, source)


def label(source: str) -> str:
    """The name of a source in a manifest: ``pytest-optax`` for ``pytest:optax``."""
    return source.replace(":", "-")


def distribution(source: str) -> str:
    """The installed distribution that holds the tests of ``pytest:PACKAGE``."""
    name = source[len(SUITE) :].split(".")[0]
    known: Any = getattr(metadata, "packages_distributions", dict)()
    return str(next(iter(known.get(name, [name])))).lower().replace("_", "-")
