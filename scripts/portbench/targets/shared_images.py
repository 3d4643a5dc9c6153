"""Targets that share an image, as all TPUs that need not be there do in one version: to people they are one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from portbench.targets.catalog import Target


def by_image(targets: Iterable[Target]) -> list[list[Target]]:
    """The targets, those with the same Dockerfile together, in the order of the first of each."""
    groups: dict[Path | str, list[Target]] = {}
    for target in targets:
        groups.setdefault(target.dockerfile or target.name, []).append(target)
    return list(groups.values())


def title(group: Sequence[Target]) -> str:
    """The target's name; of several of one version jax-0.10.2-tpu-v2 … tpu7x."""
    return group[0].name if len(group) == 1 else f"{group[0].name} … {group[-1].device}"
