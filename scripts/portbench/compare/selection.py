"""Finds the sides to compare, which the user names, in one study or two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from portbench.analysis.configurations import Configuration
from portbench.devices import BASELINE_ORDER
from portbench.errors import BadInput
from portbench.util.strict_json import shown
from portbench.util.text import did_you_mean, escape_control


@dataclass(frozen=True)
class Named:
    """An argument of the user: the path of a study or of run files, and one ``target`` of it, '' for all."""

    path: str
    target: str


@dataclass(frozen=True)
class Unpaired:
    """A target that only one of two studies has; ``is_first`` says which."""

    side: Configuration
    is_first: bool
    reason: str


def named(text: str, study: str) -> Named:
    """Reads an argument: a target of ``study`` if that is given, else ``STUDY`` or ``STUDY:TARGET``.

    Raises BadInput if the path does not exist.
    """
    if study:
        return Named(study, text)
    for end in (len(text), *(place for place, letter in enumerate(text) if letter == ":")):
        if text[:end] and Path(text[:end]).exists():
            return Named(text[:end], text[end + 1 :])
    raise BadInput(
        f"{escape_control(text)}: there is no such study",
        "Give a folder that 'portbench merge' made, or STUDY:TARGET; or two targets of one study, and --study STUDY.",
    )


def find_side(target: str, sides: Sequence[Configuration], where: str, sync: str = "") -> Configuration:
    """The side that a user's name of a target means: framework-version-device or framework-device, with @machine
    if several machines have it. ``sync`` chooses a synchronization; '' is complete, or else the only one.

    Raises BadInput, with the known targets, if the name means none or several.
    """
    found = [side for side in sides if target in _names(side) and sync in ("", side.sync)]
    if not sync and any(side.sync == "complete" for side in found):
        found = [side for side in found if side.sync == "complete"]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(_full(side) for side in found)
        raise BadInput(
            f"{escape_control(where)} has several targets that {escape_control(target)} may mean",
            f"Say which: {escape_control(listed)}",
        )
    known = dict.fromkeys(name for side in sides if sync in ("", side.sync) for name in _names(side))
    every = ", ".join(_full(side) for side in sides)
    raise BadInput(
        f"{escape_control(where)} has no target {escape_control(target)}{did_you_mean(target, known)}",
        f"It has {escape_control(every)}.",
    )


def pair_up(
    first: Sequence[Configuration], second: Sequence[Configuration]
) -> tuple[list[tuple[Configuration, Configuration]], list[Unpaired]]:
    """Pairs the sides of two studies by target and synchronization, on the same machine where both have it.

    If a target has one machine in each study, these two are paired, whatever their names: a machine that is created for
    each run has a new name every time.
    """
    pairs = []
    for side in first:
        alike = [other for other in second if _alike(side, other)]
        same = [other for other in alike if other.machine == side.machine]
        only = len(alike) == 1 and sum(_alike(side, other) for other in first) == 1
        pairs += [(side, other) for other in (same or (alike if only else []))]
    unpaired = [
        Unpaired(side, is_first, _reason(side, others))
        for sides, others, is_first in ((first, second, True), (second, first, False))
        for side in sides
        if side not in {pair[not is_first] for pair in pairs}
    ]
    return pairs, unpaired


def comparable_pairs(
    sides: Iterable[Configuration], manifests: Mapping[Configuration, frozenset[str]]
) -> list[tuple[Configuration, Configuration]]:
    """Every two sides of which ``compare`` shows what a version, a device or a machine changes: the same framework and
    synchronization, both measured or both predicted, and not another version and another device at once. The older
    version or the baseline is first.

    The most comparable come first: measured, on the same machine, with the same manifests, of two versions rather than
    of two devices, of a GPU and a TPU rather than of others. ``manifests``: the names of those that each side ran.
    """
    found = []
    for first, second in combinations(sorted(sides), 2):
        alike = (first.framework, first.sync, first.is_predicted) == (
            second.framework,
            second.sync,
            second.is_predicted,
        )
        if alike and (first.version == second.version or first.device == second.device):
            pair = (first, second)
            if first.version == second.version and _baseline(second) < _baseline(first):
                pair = (second, first)
            found.append(pair)

    def difference(pair: tuple[Configuration, Configuration]) -> tuple[int, ...]:
        one, other = pair
        return (
            *(one.is_predicted, one.machine != other.machine, manifests.get(one) != manifests.get(other)),
            *(one.target == other.target, one.version == other.version, _baseline(one), _baseline(other)),
        )

    return sorted(found, key=difference)


def _baseline(side: Configuration) -> int:
    known = side.device in BASELINE_ORDER
    return BASELINE_ORDER.index(side.device) if known else len(BASELINE_ORDER)


def on_other_devices(
    first: Configuration, second: Configuration, firsts: Iterable[Configuration], seconds: Iterable[Configuration]
) -> list[tuple[Configuration, Configuration]]:
    """The same two versions on each other device that both have: on the machines of ``first`` and ``second``, or else
    on one common machine, or else on the only two machines.

    Empty if ``first`` and ``second`` are of different devices. Predicted sides are paired with predicted sides only."""
    if first.device != second.device:
        return []
    before = [side for side in firsts if _is_elsewhere(side, first)]
    after = [side for side in seconds if _is_elsewhere(side, second)]
    found = []
    for device in sorted({side.device for side in before} & {side.device for side in after}):
        pairs = [(one, two) for one in before for two in after if one.device == two.device == device]
        same = [pair for pair in pairs if (pair[0].machine, pair[1].machine) == (first.machine, second.machine)]
        together = [pair for pair in pairs if pair[0].machine == pair[1].machine]
        chosen = same or together or pairs
        if len(chosen) == 1:
            found.append(chosen[0])
    return found


def _is_elsewhere(side: Configuration, other: Configuration) -> bool:
    alike = (_version(side), side.is_predicted) == (_version(other), other.is_predicted)
    return alike and side.device != other.device


def _version(side: Configuration) -> tuple[str, str, str]:
    return side.framework, side.version, side.sync


def _alike(one: Configuration, other: Configuration) -> bool:
    return (one.target, one.sync) == (other.target, other.sync)


def _reason(side: Configuration, others: Iterable[Configuration]) -> str:
    if any(_alike(side, other) for other in others):
        return "on several machines, none of them in both studies"
    return "not in the other study"


def _names(side: Configuration) -> list[str]:
    names = [str(side.target), f"{side.framework}-{side.device}"]
    return [*names, *(f"{name}@{side.machine}" for name in names)]


def _full(side: Configuration) -> str:
    clock = "" if side.sync == "complete" else f" (--sync {side.sync})"
    return f"{side.target}@{side.machine}{clock}"


def where(path: str) -> str:
    """The name of a study in messages."""
    return shown(Path(path))
