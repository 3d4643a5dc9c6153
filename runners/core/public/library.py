"""Facts about a framework that are needed to list its functions, from ``runners/<framework>/public_names.py``."""

from __future__ import annotations

import importlib
from typing import Any, Mapping, NamedTuple, Sequence

from runners.core.public import names


class StudyRule(NamedTuple):
    """How the paper listed one framework's functions (``runners/core/enumeration/study.py``)."""

    refused: Sequence[str] = ()
    """Modules with these prefixes are not entered."""
    at_top: Sequence[str] = ()
    """If not empty: of the modules in the framework's own module, only those whose names contain one of these are
    entered."""
    left_out: Sequence[str] = ()
    """Modules whose names contain one of these are not entered. Guessed: the published list has none of their names."""
    private: bool = False
    """Whether names that begin with an underscore count. Guessed from the published list."""
    methods: bool = False
    """Whether methods, class methods and inner classes of classes count. Guessed from the published list."""


class Library(NamedTuple):
    """A framework whose functions are listed."""

    module: str
    """Name to import: tensorflow."""
    namespace: str
    """First part of public names: tf."""
    packages: Sequence[str]
    """Top-level packages that the framework consists of."""
    submodules: bool
    """Whether modules that must be imported by name are public too, if their names are. If False, only modules that the
    import of the framework shows are public."""
    left_out: Sequence[str]
    """Modules that are left out with everything below them: copies of other projects, and modules that create names on
    access."""
    shown: Sequence[str]
    """Other packages whose functions its packages show as their own."""
    study: StudyRule

    @property
    def top(self) -> str:
        """The framework's own package."""
        return self.module.split(".")[0]

    def leaves_out(self, module: str) -> bool:
        """Whether a module is left out by its name."""
        return any(f"{module}.".startswith(f"{name}.") for name in self.left_out)


def of_framework(name: str) -> Library:
    """The library of a framework in runners/, without importing the framework."""
    facts = names.framework(name)
    public: Any = importlib.import_module(f"runners.{name}.public_names")
    return Library(
        facts.MODULE, facts.NAMESPACE, facts.PACKAGES, public.SUBMODULES, public.LEFT_OUT, public.SHOWN, public.STUDY
    )


def from_json(document: Mapping[str, Any]) -> Library:
    """The inverse of ``to_json``."""
    return Library(**dict(document, study=StudyRule(**document["study"])))


def to_json(library: Library) -> Mapping[str, Any]:
    """The library as JSON, for the process that lists the functions."""
    return dict(library._asdict(), study=library.study._asdict())
