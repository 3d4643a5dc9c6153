"""Between which two releases the status of a function changed, with as few runs as possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from portbench.history.changes import Change, read_history
from portbench.history.run import VersionRun

RunOne = Callable[[str], VersionRun]
"""Runs the function on a version, or reads its run file."""


@dataclass(frozen=True)
class Bisection:
    """``statuses``: of the versions that ran, oldest first. ``change`` is None if the first and the last have the same
    status. ``between``: the versions between the two of the change that could not run."""

    function: str
    statuses: tuple[tuple[str, str], ...]
    change: Change | None
    between: tuple[str, ...] = ()


def bisect(framework: str, device: str, function: str, versions: Sequence[str], run: RunOne) -> Bisection:
    """Looks for the change of a function's status among versions, oldest first: by halves, 20 take about 6 runs.

    Between versions with the same status there may be changes that this does not see.
    """
    ran: dict[str, VersionRun] = {}
    statuses: dict[str, str] = {}

    def status(version: str) -> str:
        """The status in a version; '' if it cannot run."""
        if version not in ran:
            ran[version] = run(version)
            (result,) = read_history(framework, device, "", [ran[version]]).versions
            statuses[version] = result.statuses.get(function, "")
        return statuses[version]

    low = next((place for place, version in enumerate(versions) if status(version)), len(versions))
    high = next((place for place in range(len(versions) - 1, low, -1) if status(versions[place])), low)
    change: Change | None = None
    between: tuple[str, ...] = ()
    if low < high and status(versions[low]) != status(versions[high]):
        low, high = _narrowed(versions, status, low, high)
        pair = [ran[versions[low]], ran[versions[high]]]
        found = [each for each in read_history(framework, device, "", pair).changes if each.function == function]
        texts = status(versions[low]), status(versions[high])
        # Where no test ran in both, there is no change to compare: not testable before or after.
        change = found[0] if found else Change(versions[high], versions[low], function, "changed", *texts)
        between = tuple(versions[low + 1 : high])
    known = tuple((version, statuses[version]) for version in versions if statuses.get(version))
    return Bisection(function, known, change, between)


def _narrowed(versions: Sequence[str], status: Callable[[str], str], low: int, high: int) -> tuple[int, int]:
    """The two nearest places, of versions that run, with different statuses; that of ``low`` stays the same."""
    before = status(versions[low])
    dead: set[int] = set()
    while True:
        inside = [place for place in range(low + 1, high) if place not in dead]
        if not inside:
            return low, high
        middle = inside[len(inside) // 2]
        found = status(versions[middle])
        if not found:
            dead.add(middle)
        elif found == before:
            low = middle
        else:
            high = middle
