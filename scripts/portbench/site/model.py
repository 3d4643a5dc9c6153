"""What a site shows, as values: targets, functions with their cells, and causes of failures.

``read`` makes them, ``pages``, ``api``, ``badges`` and ``feed`` show them. Text out of run files is not trusted: what
shows it escapes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from portbench.analysis.configurations import Configuration
from portbench.analysis.predictions import PredictedFunction
from portbench.analysis.rate_model import Rates
from portbench.site.names import device_title, framework_slug, framework_title, function_slug, target_slug
from portbench.study.summary import Row

LineKey = tuple[str, str, str, str, bool]

COLLECTED = "collected tests"


@dataclass(frozen=True, order=True)
class Part:
    """A part of a page. Collected tests and others, and what was measured and what was predicted, are in parts of their
    own and in no common count."""

    is_collected: bool
    is_predicted: bool

    @property
    def title(self) -> str:
        """``Measured`` or ``Predicted``, with ``collected tests`` for these."""
        return f"{'Predicted' if self.is_predicted else 'Measured'}{f', {COLLECTED}' if self.is_collected else ''}"

    @property
    def anchor(self) -> str:
        """Its id on a page."""
        return self.title.lower().replace(", ", "-").replace(" ", "-")


@dataclass(frozen=True)
class SiteTarget:
    """A target on one machine. ``number``: its place in the study; ``model``: its device's, where known; ``runs``: its
    run files with parsed environments, the oldest first; ``facts``: pairs of a word and a text on its environment;
    ``is_collected``: its tests were collected from packages, so most are compared with the framework itself."""

    number: int
    side: Configuration
    model: str | None
    rates: Rates
    runs: tuple[Row, ...]
    facts: tuple[tuple[str, str], ...]
    is_collected: bool = False

    @property
    def part(self) -> Part:
        """The part of a page that it is shown in."""
        return Part(self.is_collected, self.side.is_predicted)

    @property
    def evidence(self) -> str:
        """How its results came about: "measured" or "predicted"."""
        return "predicted" if self.side.is_predicted else "measured"

    @cached_property
    def slug(self) -> str:
        """The folder of its page."""
        return target_slug(self.side, is_collected=self.is_collected)

    @cached_property
    def device(self) -> str:
        """The device as people read it."""
        return device_title(self.side, self.model)

    @property
    def title(self) -> str:
        """Framework, version and device as people read them."""
        return f"{framework_title(self.side.framework)} {self.side.version} on {self.device}"

    @property
    def line(self) -> LineKey:
        """What the versions of a trend have in common: framework, device, machine, synchronization, kind of tests."""
        return self.side.framework, self.side.device, self.side.machine, self.side.sync, self.is_collected

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of functions by status, as in the report."""
        return dict(self.rates.by_function.counts)

    @property
    def rated(self) -> int:
        """Functions of which a test ran."""
        return self.rates.by_function.rated

    @property
    def percent(self) -> float | None:
        """Percent of the rated functions whose tests all pass; None where nothing is rated."""
        return 100 * self.counts["all_pass"] / self.rated if self.rated else None

    @property
    def ran_at(self) -> str:
        """When its newest run file ended, in UTC; '' where no run file says."""
        return max((run["ended_at"] or run["started_at"] or "" for run in self.runs), default="")


@dataclass(frozen=True, slots=True)
class Cell:
    """A function on a target. Times in nanoseconds; ``placements``: passing tests by where they ran; ``ran_at``: when
    its newest run file ended."""

    target: SiteTarget
    successor_of: str
    status: str
    passed: int
    ran: int
    tests: int
    categories: tuple[str, ...]
    marks: tuple[str, ...]
    cold_ns: float | None
    steady_ns: float | None
    placements: Mapping[str, int]
    ran_at: str
    prediction: PredictedFunction | None


@dataclass(frozen=True)
class Cause:
    """Failures of a function with one cause. ``command`` repeats one of its tests, or ``notes`` say why none does."""

    fingerprint: str
    category: str
    cause: str
    message: str
    part: Part
    targets: tuple[SiteTarget, ...]
    tests: int
    command: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class SiteFunction:
    """A function with its cells, sorted by target, and its causes, the most frequent first. ``uses``, ``decile`` and
    ``top20`` are of the corpus, None where unknown; ``listed_as``: its name in the paper."""

    framework: str
    name: str
    uses: int | None
    decile: int | None
    top20: bool | None
    listed_as: str | None
    cells: tuple[Cell, ...]
    causes: tuple[Cause, ...]

    @property
    def address(self) -> str:
        """The folder of its page."""
        return f"{framework_slug(self.framework)}/{function_slug(self.name)}"

    def joined(self, other: SiteFunction) -> SiteFunction:
        """The function with the cells and causes of another study, too. What the corpus and the paper say of it is that
        of the first study that has it."""
        return replace(
            self,
            uses=other.uses if self.uses is None else self.uses,
            decile=other.decile if self.decile is None else self.decile,
            top20=other.top20 if self.top20 is None else self.top20,
            listed_as=self.listed_as or other.listed_as,
            cells=self.cells + other.cells,
            causes=self.causes + other.causes,
        )

    @property
    def parts(self) -> dict[Part, list[Cell]]:
        """The cells by the part of the page: what was measured first, collected tests last."""
        found: dict[Part, list[Cell]] = {}
        for cell in self.cells:
            found.setdefault(cell.target.part, []).append(cell)
        return dict(sorted(found.items()))


def running(cells: Sequence[Cell]) -> tuple[int, int]:
    """On how many of its targets all tests of a function pass, and on how many one of them ran."""
    rated = [cell for cell in cells if cell.status != "not_testable"]
    return sum(cell.status == "all_pass" for cell in rated), len(rated)


@dataclass(frozen=True)
class Entry:
    """What lists say of a function after its page is written: a row of the index, or of a target's failures."""

    framework: str
    name: str
    uses: int | None
    decile: int | None
    top20: bool | None
    by_target: Mapping[int, tuple[str, tuple[str, ...], tuple[str, ...]]]
    """Status, categories and marks by the number of the target."""

    @classmethod
    def of(cls, function: SiteFunction) -> Entry:
        """The entry of a function. Where a target has the function and it as a successor, the function counts."""
        cells = sorted(function.cells, key=lambda cell: cell.successor_of, reverse=True)
        found = {cell.target.number: (cell.status, cell.categories, cell.marks) for cell in cells}
        return cls(
            function.framework,
            function.name,
            function.uses,
            function.decile,
            function.top20,
            dict(sorted(found.items())),
        )
