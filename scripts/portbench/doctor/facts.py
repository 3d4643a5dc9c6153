"""Facts about targets and devices, measured or published. facts.json has each fact with its source."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

from portbench.targets.catalog import Target

GB = 1e9


class Need(TypedDict):
    """Disk space of ``more_gb``, and as often that of an environment as ``environments`` says."""

    environments: float
    more_gb: float


class Space(TypedDict):
    """Disk space."""

    environment_gb: dict[str, float]
    image_build: Need
    image_update: Need
    results: Need


class Memory(TypedDict):
    """Memory that a run needs."""

    available_gb: float


class Drivers(TypedDict):
    """The oldest driver by major version of CUDA."""

    oldest: dict[str, str]


class Code(TypedDict):
    """The compute capabilities that a build has code for."""

    binary: list[str]
    ptx: str | None


class GpuCode(TypedDict):
    """The builds by target."""

    builds: dict[str, Code]


class Chips(TypedDict):
    """The PCI ids of TPU chips."""

    vendor: str
    devices: list[str]


class TpuCode(TypedDict):
    """The generations, by PCI id, that are later than the compiler of some targets."""

    later: dict[str, str]
    older_targets: list[str]


class Facts(TypedDict):
    """facts.json; each part also has its source."""

    space: Space
    memory: Memory
    nvidia_driver: Drivers
    cuda: dict[str, int]
    gpu_code: GpuCode
    tpu_chips: Chips
    tpu_code: TpuCode


@functools.cache
def facts() -> Facts:
    """The content of facts.json."""
    loaded: Facts = json.loads(Path(__file__).with_name("facts.json").read_text())
    return loaded


def environment_gb(target: Target) -> float:
    """The disk space of the target's virtual environment, in GB."""
    known = facts()["space"]["environment_gb"]
    return known.get(target.environment, known["other"])


def is_measured(target: Target) -> bool:
    """Whether ``environment_gb`` was measured for this target, and is not the largest of the other targets'."""
    return target.environment in facts()["space"]["environment_gb"]


def image_build_gb(environments: Iterable[Target]) -> float:
    """The disk space, in GB, that the engine needs to build an image with the environments of these targets."""
    build = facts()["space"]["image_build"]
    return round(sum(map(environment_gb, environments)) * build["environments"] + build["more_gb"], 1)
