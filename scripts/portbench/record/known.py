"""What a study knows of functions on targets: the statuses of its summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from portbench.devices import PREDICTED_DEVICES
from portbench.study.document import StudySummary

ORDER = ("all_fail", "some_fail", "all_pass")
"""Statuses that say something of a function, the worst first."""


@dataclass(frozen=True)
class Status:
    """How the tests of a function ended on a target: a status of ``ORDER``. ``cause``: why tests fail, as far as known;
    ``source`` names the study."""

    target: str
    status: str
    predicted: bool
    passed: int
    tests: int
    host_operations: tuple[str, ...]
    cause: str
    source: str


class Known:
    """The statuses of functions, by target and name."""

    def __init__(self, entries: Iterable[tuple[str, Status]] = ()) -> None:
        self._statuses: dict[tuple[str, str], list[Status]] = {}
        for function, status in entries:
            self._statuses.setdefault((function, status.target), []).append(status)

    @property
    def targets(self) -> Sequence[str]:
        """The targets with results, sorted."""
        return sorted({target for _, target in self._statuses})

    @property
    def functions(self) -> Sequence[str]:
        """The functions with results, sorted."""
        return sorted({function for function, _ in self._statuses})

    def of(self, function: str, target: str) -> Status | None:
        """What is known of a function on this version and device: of several machines the worst. None: nothing."""
        found = self._statuses.get((function, target), ())
        return min(found, key=lambda each: ORDER.index(each.status)) if found else None


def known_of(summary: StudySummary, source: str) -> Known:
    """What the summary of a study says."""
    return Known(_entries(summary, source))


def _entries(summary: StudySummary, source: str) -> Iterable[tuple[str, Status]]:
    for entry in summary["targets"]:
        target = "-".join((entry["target"]["framework"], entry["target"]["version"], entry["target"]["device"]))
        causes = {
            function: cause["cause"]
            for cause in reversed(summary["failures"])
            if target in cause["targets"]
            for function in cause["functions"]
        }
        for function in entry["functions"]:
            if function["status"] not in ORDER:
                continue
            tests = function["tests_by_verdict"]
            yield (
                function["name"],
                Status(
                    target=target,
                    status=function["status"],
                    predicted=entry["target"]["device"] in PREDICTED_DEVICES,
                    passed=tests.get("passed", 0),
                    tests=sum(tests.values()),
                    host_operations=tuple(each["name"] for each in function["host_operations"]),
                    cause="" if function["status"] == "all_pass" else causes.get(function["name"], ""),
                    source=source,
                ),
            )
