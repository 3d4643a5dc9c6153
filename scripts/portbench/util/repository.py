"""Finds the clone of the repository: the folders that the host and the runner share.

portbench works on a clone, not on an installed copy: framework versions, manifests and schemas are files in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from portbench.errors import BadInput

FOLDERS = ("images", "manifests", "schema", "runners")


@dataclass(frozen=True)
class Checkout:
    """A clone of the repository; ``root`` is absolute."""

    root: Path

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
    """The clone that contains ``start`` (default: the working folder), else the one that contains this package.

    Raises BadInput where neither exists.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents, *Path(__file__).resolve().parents):
        if all((folder / name).is_dir() for name in FOLDERS):
            return Checkout(folder)
    raise BadInput(
        f"{here} is in no clone of portbench: no folder from there upwards contains {', '.join(FOLDERS)}",
        "Change into the folder that 'git clone' made, then try again.",
    )
