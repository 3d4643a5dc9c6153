"""What changed between two versions on one device: the functions whose status differs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from portbench.devices import BASELINE_ORDER
from portbench.site.model import Entry, SiteTarget
from portbench.site.names import FRAMEWORKS
from portbench.study.model import status_text

_RANK = {"all_pass": 0, "some_fail": 1, "all_fail": 2}


@dataclass(frozen=True)
class Changed:
    """A function whose status changed. ``is_worse``: more of it fails now."""

    function: Entry
    before: str
    after: str
    is_worse: bool


def former(target: SiteTarget, targets: Iterable[SiteTarget]) -> SiteTarget | None:
    """The next older version on the same device, machine and synchronization; None where there is none."""
    older = [one for one in targets if one.line == target.line and one.side.target.order < target.side.target.order]
    return max(older, key=lambda one: one.side.target.order, default=None)


def changes(entries: Iterable[Entry], before: SiteTarget, after: SiteTarget) -> list[Changed]:
    """The functions with a status on both targets that differs: those that fail now first, then by name."""
    found = []
    for entry in entries:
        old, new = entry.by_target.get(before.number), entry.by_target.get(after.number)
        if old and new and {old[0], new[0]} <= set(_RANK) and old[0] != new[0]:
            worse = _RANK[new[0]] > _RANK[old[0]]
            found.append(Changed(entry, status_text(old[0], old[1]), status_text(new[0], new[1]), worse))
    return sorted(found, key=lambda change: (not change.is_worse, change.function.name))


def newest(targets: Sequence[SiteTarget]) -> list[SiteTarget]:
    """The newest version of each framework and device on each machine, sorted for people.

    Targets with the complete wait count before others.
    """
    found: dict[tuple[str, str, str, bool], SiteTarget] = {}
    complete = {_place_of(target) for target in targets if target.side.sync == "complete"}
    for target in targets:
        key = _place_of(target)
        if target.side.sync != "complete" and key in complete:
            continue
        known = found.get(key)
        if known is None or target.side.target.order > known.side.target.order:
            found[key] = target
    return sorted(found.values(), key=_place)


def by_device(targets: Sequence[SiteTarget]) -> dict[str, SiteTarget]:
    """The newest of ``targets`` for each framework and device, with the name of its badge: ``torch-tpu``, of collected
    tests ``torch-tpu-collected``. Of several machines the one that ran last."""
    found: dict[str, SiteTarget] = {}
    for target in sorted(targets, key=lambda one: (one.side.target.order, one.ran_at)):
        tests = "-collected" if target.is_collected else ""
        found[f"{target.side.framework}-{target.side.device}{tests}"] = target
    return found


def _place_of(target: SiteTarget) -> tuple[str, str, str, bool]:
    return target.side.framework, target.side.device, target.side.machine, target.is_collected


def _place(target: SiteTarget) -> tuple[int, str, bool, bool, int, str, str]:
    """Frameworks as people list them, then GPUs before TPUs before processors, what was measured before the rest."""
    side = target.side
    kind = side.device.partition("-")[0]
    framework = list(FRAMEWORKS).index(side.framework) if side.framework in FRAMEWORKS else len(FRAMEWORKS)
    place = BASELINE_ORDER.index(kind) if kind in BASELINE_ORDER else len(BASELINE_ORDER)
    return framework, side.framework, target.is_collected, side.is_predicted, place, side.device, side.machine
