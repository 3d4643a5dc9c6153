"""Whole programs of a recording: the files that a manifest's tests of the case ``program`` name by their digests."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from runners.core.errors import BadInput
from runners.core.manifest_grids import PROGRAM, Test

FOLDER = "programs"
_MOST_BYTES = 64 << 20
_FORMS = ("stablehlo", "hlo", "aten")


class RefusedWhenLowered(RuntimeError):
    """The framework refused to lower the program for a platform when it was recorded; the message is its own."""

    recorded_as = "runners.core.programs.RefusedWhenLowered"


class Absent(Exception):
    """There is no program for a platform; the message says why."""


class Module(NamedTuple):
    """A program as it was recorded. ``form`` is stablehlo, hlo or aten."""

    content: bytes
    form: str


class Program:
    """A program with its form for each platform. ``modules`` is that of a manifest's test, ``folder`` the manifest's.

    A call has ``compiler`` compile it. Raises Absent where there is no compiler, or no program for it, and what the
    compiler raises.
    """

    def __init__(
        self,
        modules: Mapping[str, Mapping[str, str]],
        folder: Path,
        compiler: Callable[[Program], None] | None = None,
    ) -> None:
        self._modules = modules
        self._folder = folder
        self._compiler = compiler

    def __call__(self) -> None:
        if self._compiler is None:
            raise Absent("this framework compiles no whole program for this device")
        self._compiler(self)

    def module(self, platform: str, forms: Sequence[str]) -> Module:
        """The program for a platform (cpu, tpu, cuda, rocm), in one of the given forms.

        Raises RefusedWhenLowered, and Absent.
        """
        found = self._modules.get(platform) or self._modules.get("any")
        if found is None:
            raise Absent(f"the program was not lowered for {platform} when it was recorded")
        ((form, value),) = found.items()
        if form == "refused":
            raise RefusedWhenLowered(value)
        if form == "unknown":
            raise Absent(value)
        if form not in forms:
            raise Absent(f"the program is recorded as {form}, expected {' or '.join(forms)}")
        return Module((self._folder / FOLDER / value).read_bytes(), form)


def check_files(path: Path, tests: Sequence[Test]) -> None:
    """Raises BadInput where a file of a program is missing or is not what its digest says."""
    for test in tests:
        for digest in _digests(test):
            file = path.parent / FOLDER / digest
            remedy = "Record the program again, and keep the folder 'programs' beside its manifest."
            try:
                if file.stat().st_size > _MOST_BYTES:
                    raise BadInput(f"{file}: has more than {_MOST_BYTES >> 20} MB", remedy)
                content = file.read_bytes()
            except OSError as error:
                raise BadInput(
                    f"{path}: {test.full_id}: its program {file} cannot be read: {error.strerror}", remedy
                ) from error
            found = hashlib.sha256(content).hexdigest()
            if found != digest:
                raise BadInput(f"{file}: expected a file with this SHA-256, found {found}", remedy)


def _digests(test: Test) -> Iterator[str]:
    modules: Mapping[str, Any] = test.parameters["modules"] if test.case == PROGRAM else {}
    for module in modules.values():
        yield from (value for form, value in module.items() if form in _FORMS)
