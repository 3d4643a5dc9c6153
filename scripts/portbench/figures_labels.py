"""What sides and pairs of them are called in figures: as short as tells them apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from portbench.printable import shortened
from portbench.sides import Side


def places(sides: Iterable[Side], models: Mapping[Side, str | None]) -> dict[Side, str]:
    """Where each side is, beside its framework and version: ``tpu (TPU v3-8)``.

    The machine stands behind it where another side of the same framework and version would be called the same; so does
    the clock of the study. A processor's model says nothing here and is left out.
    """
    every = list(sides)
    short = {side: _place(side, models.get(side)) for side in every}
    called = [(side.framework, side.version, place) for side, place in short.items()]
    return {
        side: place
        if called.count((side.framework, side.version, place)) == 1
        else f"{place} on {shortened(side.machine, 40)}"
        for side, place in short.items()
    }


def labels(sides: Iterable[Side], models: Mapping[Side, str | None]) -> dict[Side, str]:
    """The whole name of each side: ``jax 0.4.8 tpu (TPU v3-8)``."""
    return {side: f"{release(side)} {place}" for side, place in places(sides, models).items()}


def release(side: Side) -> str:
    """Framework and version: ``jax 0.4.8``."""
    return f"{side.framework} {side.version}"


def _place(side: Side, model: str | None) -> str:
    named = f"{side.device} ({shortened(model, 24)})" if model and side.device in ("gpu", "tpu") else side.device
    return f"{named}, study's clock" if side.sync == "study" else named
