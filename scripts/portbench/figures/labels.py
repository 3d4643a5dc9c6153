"""What sides and pairs of them are called in figures: as short as tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from portbench.analysis.configurations import Configuration
from portbench.util.text import shortened


def places(sides: Iterable[Configuration], models: Mapping[Configuration, str | None]) -> dict[Configuration, str]:
    """Where each side is, beside its release: ``tpu (TPU v3-8)``.

    The machine stands behind it where another side of the same release would be called the same. A processor's model
    says nothing here and is left out.
    """
    every = list(sides)
    short = {side: _place(side, models.get(side)) for side in every}
    called = Counter((release(side), place) for side, place in short.items())
    return {
        side: place if called[release(side), place] == 1 else f"{place} on {shortened(side.machine, 40)}"
        for side, place in short.items()
    }


def labels(sides: Iterable[Configuration], models: Mapping[Configuration, str | None]) -> dict[Configuration, str]:
    """The whole name of each side: ``jax 0.4.8 tpu (TPU v3-8)``, with ``, study sync`` where regions ended so."""
    return {
        side: f"{side.framework} {side.version} {place}{_clock(side)}" for side, place in places(sides, models).items()
    }


def release(side: Configuration) -> str:
    """Framework and version, and the clock where it is the study's: ``jax 0.4.8``, ``jax 0.4.8, study sync``."""
    return f"{side.framework} {side.version}{_clock(side)}"


def _clock(side: Configuration) -> str:
    return ", study sync" if side.sync == "study" else ""


def _place(side: Configuration, model: str | None) -> str:
    if not model or side.device not in ("gpu", "tpu"):
        return side.device
    return f"{side.device} ({shortened(model.removeprefix('NVIDIA '), 24)})"
