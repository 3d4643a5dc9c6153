"""The times of functions at several sizes, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from portbench.devices import PREDICTED_DEVICES
from portbench.study.model import Target, TargetKey


@dataclass(frozen=True)
class Family:
    """The sizes of one test of a function. ``test`` is its id without the size, ``of`` what the size counts."""

    function: str
    test: str
    of: str


@dataclass(frozen=True)
class Point:
    """A test of one size on one target. Times are in nanoseconds for one call, in the steady state.

    ``runs_ns``: the median of each run; empty where a run did not pass (imprecise values have a time), or the device is
    predicted. ``bytes``: those of
    the tensors that the call takes and returns; ``flops``: its floating-point operations; ``roofline_ns``: a predicted
    lower bound of the time. None: not known. ``outcome`` and ``message``: how the first run ended that did not pass.
    """

    n: int
    runs_ns: tuple[float, ...]
    bytes: int | None
    flops: float | None
    roofline_ns: float | None
    is_stable: bool
    outcome: str
    message: str

    @property
    def median_ns(self) -> float | None:
        """The median of the runs."""
        return median(self.runs_ns) if self.runs_ns else None

    def rate(self, amount: float | None) -> float | None:
        """An amount per second; None where it or the time is not known."""
        return amount / self.median_ns * 1e9 if amount and self.median_ns else None


@dataclass(frozen=True)
class Side:
    """A target on one machine with its points, the smallest size first.

    ``peak_bytes_per_s`` and ``peak_flops_per_s``: the peak rates of the device by its data sheet; None: not known.
    """

    key: TargetKey
    points: Mapping[Family, Sequence[Point]]
    peak_bytes_per_s: float | None = None
    peak_flops_per_s: float | None = None

    @property
    def target(self) -> Target:
        """Framework, version and device."""
        return Target(*self.key[:3])

    @property
    def is_predicted(self) -> bool:
        """Whether nothing was measured: the points have lower bounds only."""
        return self.key.device in PREDICTED_DEVICES

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts sides by target, machine and synchronization."""
        return self.target.order, self.key.machine, self.key.sync


@dataclass(frozen=True)
class Scaling:
    """What some run files say: each target and machine with its points."""

    sides: Sequence[Side]

    @property
    def families(self) -> Sequence[Family]:
        """All families in the order of the run files, each once."""
        return tuple(dict.fromkeys(family for side in self.sides for family in side.points))

    @property
    def measured(self) -> Sequence[Side]:
        """The sides with times."""
        return tuple(side for side in self.sides if not side.is_predicted)

    def label(self, side: Side) -> str:
        """The name of a side among the others: with its machine and synchronization only where these differ."""
        machines = {each.key.machine for each in self.sides}
        syncs = {each.key.sync for each in self.sides}
        parts = [f" on {side.key.machine}" if machines - {side.key.machine} else ""]
        parts += [f" ({side.key.sync})" if syncs - {side.key.sync} else ""]
        return str(side.target) + "".join(parts)
