"""Which manifest file a word on the command line means."""

from __future__ import annotations

from pathlib import Path

from portbench.errors import BadInput
from portbench.util.repository import Checkout
from portbench.util.strict_json import read_json


def find_manifest(given: str, framework: str, checkout: Checkout) -> Path:
    """The absolute path of the manifest for a framework.

    A name, such as ``study``, means manifests/<name>/<framework>.json; what ends in .json or holds a / is a path.
    Raises BadInput if there is no such file, if it is no JSON, or if it is another framework's manifest.
    """
    if given.endswith(".json") or "/" in given:
        path = Path(given).absolute()
        if not path.is_file():
            raise BadInput(f"{given}: no such file", "Give the path of a manifest, or a name such as study.")
    else:
        path = checkout.manifests / given / f"{framework}.json"
        if not path.is_file():
            names = sorted(found.parent.name for found in checkout.manifests.glob(f"*/{framework}.json"))
            raise BadInput(
                f"there is no manifest {given!r} for {framework}: {path} does not exist",
                f"For {framework} there are: {', '.join(names) or 'none'}. Or give the path of a manifest.",
            )
    _check_framework(path, framework)
    return path


def _check_framework(path: Path, framework: str) -> None:
    document = read_json(path).data
    found = document.get("framework") if isinstance(document, dict) else None
    if found != framework:
        raise BadInput(
            f"{path}: $.framework: expected {framework!r} as for the target, found {found!r}",
            "A path serves the targets of one framework; a name, such as study, serves all.",
        )
