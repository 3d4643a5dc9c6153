"""A report as values: headlines, tables, and for each target on each machine its functions, failures and gaps.

``build`` makes it; ``terminal`` and ``markdown`` print it and decide nothing. Its text comes out of run files and is
not trusted: printers escape it.
"""

from __future__ import annotations

from dataclasses import dataclass

from portbench.analysis.terms import COLLECTED_TESTS, STRICT
from portbench.report.failures import Failure
from portbench.report.headlines import Headline
from portbench.tables.model import Table, texts
from portbench.util.text import pluralize

MOST_HEADLINES = 12
"""How many headlines a report begins with; the others stand in a table at its end."""


@dataclass(frozen=True)
class TargetReport:
    """One target on one machine. ``percent`` is null where no function has a status, ``wrong`` where no values were
    checked. ``removed`` counts the functions that the version does not have, ``more_failures`` the failing functions
    that ``failures`` leaves out, ``blame`` the failing tests by where they fail. The tables of ``before`` come before
    the failures, those of ``after`` follow them."""

    target: str
    machine: str
    is_cpu: bool
    is_predicted: bool
    percent: dict[str, float] | None
    counts: dict[str, int]
    removed: int
    wrong: int | None
    functions: Table
    failures: tuple[Failure, ...]
    more_failures: int
    blame: str
    before: tuple[Table, ...]
    after: tuple[Table, ...]

    @property
    def left_out(self) -> str:
        """A sentence on the failing functions without a line; empty where there is none."""
        return f"{pluralize(self.more_failures, 'function')} more: see the page." if self.more_failures else ""

    @property
    def is_timings_only(self) -> bool:
        """Whether there are times, and no outcome is known."""
        if self.is_predicted or self.percent is not None:
            return False
        return any(time is not None for time in self.functions.column("first call ms", self.functions.groups[0]))


@dataclass(frozen=True)
class Report:
    """Findings for a newcomer, headlines (the most important first), tables on all targets, then one entry for each
    target on each machine.

    A target that ran with both synchronizations is reported with the complete wait; tables compare the other one.
    ``changes``: what changed since a date or version, which a report begins with. ``is_collected``: its tests were
    collected from packages. ``is_strict``: tests that did not run wholly on the device count as failed. ``is_empty``:
    nothing ran on any target, there is no outcome and no time.
    """

    findings: tuple[str, ...]
    headlines: tuple[Headline, ...]
    tables: tuple[Table, ...]
    targets: tuple[TargetReport, ...]
    changes: tuple[Table, ...] = ()
    is_collected: bool = False
    is_strict: bool = False
    is_empty: bool = False

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know of all figures."""
        return (*([STRICT] if self.is_strict else []), *([COLLECTED_TESTS] if self.is_collected else []))

    @property
    def first_headlines(self) -> tuple[str, ...]:
        """The sentences that a report begins with."""
        return tuple(headline.sentence for headline in self.headlines[:MOST_HEADLINES])

    @property
    def more_headlines(self) -> tuple[Table, ...]:
        """A table of all other headlines; none where there are no others."""
        rows = [(one.kind, one.sentence) for one in self.headlines[MOST_HEADLINES:]]
        return (Table.of_rows("More headlines", texts("about", "headline"), rows),) if rows else ()
