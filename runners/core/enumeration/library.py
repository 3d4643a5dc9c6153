"""What must be known of a framework to list its functions. Stands in ``runners/<framework>/public_names.py``."""

from __future__ import annotations

import importlib
from typing import Any, Mapping, NamedTuple, Sequence

from runners.core.testing import names


class StudyRule(NamedTuple):
    """How the study listed one framework's functions (``runners/core/enumeration/study.py``)."""

    refused: Sequence[str] = ()
    """Modules whose names begin so are not entered."""
    at_top: Sequence[str] = ()
    """Where not empty: of what the framework's own module shows, modules are entered whose names hold one of these."""
    left_out: Sequence[str] = ()
    """Modules whose names hold one of these are not entered. Guessed: its published list has none of their names."""
    private: bool = False
    """Whether names that begin with an underscore count. Guessed from its published list."""
    methods: bool = False
    """Whether methods, class methods and inner classes of classes count. Guessed from its published list."""


class Library(NamedTuple):
    """A framework as it is looked into."""

    module: str
    """Name to import: tensorflow."""
    namespace: str
    """First part of public names: tf."""
    packages: Sequence[str]
    """Top-level packages that the framework consists of."""
    submodules: bool
    """Whether modules that only an import of their own shows are public too, if their names are. Where False, what the
    framework's module shows is all."""
    left_out: Sequence[str]
    """Modules that are left out with all below them: copies of other projects, and what makes names as they are asked
    for."""
    shown: Sequence[str]
    """Other packages of which its packages show functions as their own."""
    study: StudyRule

    @property
    def top(self) -> str:
        """The framework's own package."""
        return self.module.split(".")[0]

    def leaves_out(self, module: str) -> bool:
        """Whether a module is left out by its name."""
        return any(f"{module}.".startswith(f"{name}.") for name in self.left_out)


def of_framework(name: str) -> Library:
    """The library of a framework of runners/, without importing that."""
    facts = names.framework(name)
    public: Any = importlib.import_module(f"runners.{name}.public_names")
    return Library(
        facts.MODULE, facts.NAMESPACE, facts.PACKAGES, public.SUBMODULES, public.LEFT_OUT, public.SHOWN, public.STUDY
    )


def from_json(document: Mapping[str, Any]) -> Library:
    """Out of ``to_json``."""
    return Library(**dict(document, study=StudyRule(**document["study"])))


def to_json(library: Library) -> Mapping[str, Any]:
    """As the process that looks into it is told."""
    return dict(library._asdict(), study=library.study._asdict())
