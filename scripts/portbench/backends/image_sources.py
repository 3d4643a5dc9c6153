"""Which files an image was built from: its label, else what images/describe.py wrote into it while it was built."""

from __future__ import annotations

import json
from typing import Any

from portbench.util.machine import Machine

_IMAGE_JSON = "/opt/portbench/image.json"
SBOM = "/opt/environment/sbom.cdx.json"
"""The CycloneDX document in every image."""


def recorded(labels: dict[str, str], reference: str, machine: Machine) -> tuple[str | None, str | None]:
    """The SHA-256 of the sources of an image, and the commit of its runner; None where it does not record them.

    'docker compose build' sets no label: then a container of the image is started, which takes half a second.
    """
    commit = labels.get("org.opencontainers.image.revision") or None
    source = labels.get("portbench.source_sha256")
    if source or "portbench.sbom" not in labels:  # portbench built it, or it is older than image.json
        return source or None, commit
    found = _facts(read(_IMAGE_JSON, reference, machine))
    return found.get("source_sha256"), commit or found.get("runner_commit")


def read(path: str, reference: str, machine: Machine) -> str | None:
    """The text of a file in an image; None if it cannot be read."""
    command = ["docker", "run", "--rm", "--network", "none", "--entrypoint", "cat", reference, path]
    answer = machine.run(command)
    return answer.stdout if answer.returncode == 0 else None


def _facts(text: str | None) -> dict[str, Any]:
    try:
        return dict(json.loads(text or "{}"))
    except (ValueError, TypeError):
        return {}
