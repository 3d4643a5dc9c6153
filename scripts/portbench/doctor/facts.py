"""Facts about targets and devices, measured or published. facts.json has each fact with its source."""

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
    """The content of facts.json."""
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name("facts.json").read_text())
    return loaded


def environment_gb(target: Target) -> float:
    """The disk space of the target's virtual environment, in GB."""
    known = facts()["space"]["environment_gb"]
    return float(known.get(target.environment, known["other"]))


def is_measured(target: Target) -> bool:
    """Whether ``environment_gb`` was measured for this target, and is not the largest of the other targets'."""
    return target.environment in facts()["space"]["environment_gb"]


def image_build_gb(environments: Iterable[Target]) -> float:
    """The disk space, in GB, that the engine needs to build an image with the environments of these targets."""
    build = facts()["space"]["image_build"]
    return round(sum(map(environment_gb, environments)) * float(build["environments"]) + float(build["more_gb"]), 1)
