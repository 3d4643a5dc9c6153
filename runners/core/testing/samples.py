"""Sample inputs that installed packages hold: the Protocol of a source, and how sources are found.

A source is a module ``runners/<framework>/samples/<name>.py``. What it gives lies in packages of the target's own
environment; a manifest only refers to it: source, entry, dtype, positions, and a digest of how the samples look.
"""

from __future__ import annotations

import hashlib
import importlib
from functools import lru_cache
from typing import Any, Callable, Mapping, NamedTuple, Protocol, Sequence

from runners.core.errors import BadInput


class Refusal(NamedTuple):
    """The error of a call: a name of its class or of one that it is derived from, and a word of its message."""

    kinds: Sequence[str]
    word: str


class Sample(NamedTuple):
    """The arguments of one call, with tensors on the host. ``unique`` gives what of an output is the same wherever it
    is computed: of singular vectors not the signs. ``reference`` computes the expected output with NumPy or SciPy, from
    these arguments in the precision of float64; None where the source has no such reference. ``make`` gets the
    function, a class, and makes the object that is called, on the host; None where the function itself is called.
    ``body`` gets the function and the arguments, and calls it inside of something else: makes an optimizer and takes
    steps with it, or maps what the function returned over arrays. ``raises`` is the error that the call must end in."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    unique: Callable[[Any], Any]
    reference: Callable[[], Any] | None = None
    make: Callable[[Any], Any] | None = None
    body: Callable[..., Any] | None = None
    raises: Refusal | None = None


class Entry(NamedTuple):
    """One entry of a source: ``functions`` (or public names of some) take its samples, so each is tested with them.
    ``variant`` tells it from
    others for the same functions. ``dtypes`` are the names of those that the host's CPU takes, ``differentiable`` those
    of them with gradients."""

    name: str
    variant: str
    functions: Sequence[Any]
    dtypes: Sequence[str]
    differentiable: Sequence[str]


class SampleSource(Protocol):
    """The functions of a source's module. The same packages give the same entries and samples, whatever ran before."""

    PACKAGE: str
    """The distribution that holds the samples."""

    NEEDS: str
    """In words, the versions of it that the source is for."""

    def prepare(self) -> None:
        """Imports what holds the samples. Computes nothing: a zygote calls it before it forks. Raises ImportError."""

    def entries(self) -> Sequence[Entry]:
        """All entries, those without functions included."""

    def samples(self, entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
        """The samples of an entry; with ``gradient``, floating tensors want theirs. Raises KeyError for a name that
        is no entry."""

    def look(self, sample: Sample) -> str:
        """How a sample looks: types, dtypes, shapes and strides of its arguments, and the values that are no
        tensors."""


def source(framework: str, name: str) -> SampleSource:
    """The source of this name. Raises BadInput with the known names."""
    known = names(framework)
    if name not in known:
        if not known:
            raise BadInput(f"{framework} has no source of samples", "docs/api-sources.md lists the frameworks.")
        raise BadInput(
            f"there is no source {name!r} of samples: {framework} has {', '.join(known)}", "Give one of these."
        )
    found: Any = importlib.import_module(f"runners.{framework}.samples.{name}")
    return found  # type: ignore[no-any-return]


def names(framework: str) -> Sequence[str]:
    """The names of a framework's sources."""
    try:
        return tuple(importlib.import_module(f"runners.{framework}.samples").SOURCES)
    except ModuleNotFoundError:
        return ()


def look(value: Any, own: Callable[[Any], str | None]) -> str:
    """How a nested value looks, the same in each process. ``own`` gives the look of a framework's value, or None."""
    found = own(value)
    if found is not None:
        return found
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({','.join(look(item, own) for item in value)})"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{look(item, own)}" for key, item in value.items()) + "}"
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    # The text of another object may hold its address.
    return repr(value) if isinstance(value, (bool, int, float, complex, str, type(None))) else type(value).__name__


class Samples(NamedTuple):
    """All samples of an entry in one dtype, and the digest of how they look."""

    all: Sequence[Sample]
    sha256: str


@lru_cache(maxsize=2)
def made(framework: str, name: str, entry: str, dtype: str, gradient: bool) -> Samples:
    """The samples of an entry; the last ones are kept. Raises KeyError where the source has no such entry."""
    found = source(framework, name)
    samples = found.samples(entry, dtype, gradient)
    digest = hashlib.sha256("\n".join(map(found.look, samples)).encode("utf-8", "surrogatepass"))
    return Samples(samples, digest.hexdigest())
