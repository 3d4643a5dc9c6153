"""What the contract tests run, and how their results are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = {
    "torch": ("1.12.0", "2.9.0"),
    "tensorflow": ("2.11.0", "2.21.0"),
    "jax": ("0.4.13", "0.10.2"),
}
TARGETS = [f"{framework}-{version}-cpu" for framework, versions in VERSIONS.items() for version in versions]


def outcomes(document: dict[str, Any]) -> dict[str, dict[str, set[str]]]:
    """Per function and test, the outcomes over the runs."""
    found: dict[str, dict[str, set[str]]] = {}
    for result in document["results"]:
        found.setdefault(result["function"], {}).setdefault(result["test"], set()).add(result["outcome"])
    return found
