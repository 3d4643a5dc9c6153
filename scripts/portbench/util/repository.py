"""Finds the folders that the host and the runner share: framework versions, manifests, schemas, runners.

They are files of the clone. An installed package has a copy of them, for use outside of any clone; commands that change
them or build images need a clone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from portbench.errors import BadInput

FOLDERS = ("images", "manifests", "schema", "runners")
_PACKAGE = Path(__file__).resolve().parents[1]
_COPY = _PACKAGE / "repository"


@dataclass(frozen=True)
class Checkout:
    """A clone of the repository, or the package's copy; ``root`` is absolute."""

    root: Path

    @property
    def is_clone(self) -> bool:
        """Whether its files may be changed, and images be built from it."""
        return self.root != _COPY

    @property
    def images(self) -> Path:
        """images/<framework>/<version>/: the sources of each environment."""
        return self.root / "images"

    @property
    def manifests(self) -> Path:
        """manifests/<name>/<framework>.json."""
        return self.root / "manifests"

    @property
    def schema(self) -> Path:
        """The JSON Schemas."""
        return self.root / "schema"

    @property
    def runners(self) -> Path:
        """The package ``runners``. It is started with ``root`` as the working folder."""
        return self.root / "runners"


def find_checkout(start: Path | None = None) -> Checkout:
    """The clone that contains ``start`` (default: the working folder), else the one that contains this package, else
    the package's copy.

    Raises BadInput where none exists.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents, *_PACKAGE.parents, _COPY):
        if all((folder / name).is_dir() for name in FOLDERS):
            return Checkout(folder)
    raise BadInput(
        f"{here} is in no clone of portbench: no folder from there upwards contains {', '.join(FOLDERS)}",
        "Change into the folder that 'git clone' made, then try again.",
    )


def find_clone() -> Checkout:
    """As ``find_checkout``, for commands that change files of the repository or build from them.

    Raises BadInput outside of a clone.
    """
    checkout = find_checkout()
    if not checkout.is_clone:
        raise BadInput(
            f"this command needs a clone of portbench, and {Path.cwd()} is in none",
            "Get one with 'git clone', change into its folder, then try again.",
        )
    return checkout
