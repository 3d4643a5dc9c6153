"""Facts about targets and devices, measured or published: facts.json beside this file, each with its source."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from portbench.targets.catalog import Target

GB = 1e9


@functools.cache
def facts() -> dict[str, Any]:
    """All of them."""
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name("facts.json").read_text())
    return loaded


def environment_gb(target: Target) -> float:
    """What the target's virtual environment needs on disk."""
    known = facts()["space"]["environment_gb"]
    return float(known.get(target.environment, known["other"]))


def is_measured(target: Target) -> bool:
    """Whether that is known of this very target, rather than taken from the largest of the others."""
    return target.environment in facts()["space"]["environment_gb"]


def image_build_gb(environments: Iterable[Target]) -> float:
    """What the engine needs on disk to build an image that holds the environments of these targets."""
    build = facts()["space"]["image_build"]
    return round(sum(map(environment_gb, environments)) * float(build["environments"]) + float(build["more_gb"]), 1)
