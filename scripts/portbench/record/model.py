"""What a verdict is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from portbench.formats.documents import Document

VERDICTS = ("runs", "host", "wrong", "refused", "unknown")
"""Of a call on a target: runs there; runs, but wholly or partly on the host; runs and gives wrong values; is refused;
cannot be said, as for a call that the CPU does not repeat."""

WORST_FIRST = ("refused", "wrong", "host", "unknown", "runs")

Data = Mapping[str, Any]


@dataclass(frozen=True)
class Successor:
    """A function that can take the place of another one; ``condition`` says when, ``source`` who says so."""

    instead: str
    condition: str
    source: str


@dataclass(frozen=True)
class Advice:
    """A successor for a function on a target. ``known``: what is known of it there."""

    successor: Successor
    known: str

    @property
    def sentence(self) -> str:
        """``torch.linalg.eigh, if the matrices are symmetric (all its tests pass on torch-2.9.0-tpu-v5e)``."""
        condition = f", if {self.successor.condition}" if self.successor.condition else ""
        return f"{self.successor.instead}{condition} ({self.known})"


@dataclass
class Share:
    """Calls of the program and their seconds."""

    calls: int = 0
    seconds: float = 0.0

    def add(self, weight: Data) -> None:
        """Adds the calls and seconds of a test, or of what no test repeats."""
        self.calls += weight["calls"]
        self.seconds += weight["seconds"]


@dataclass
class Finding:
    """What a function does on a target, if some of its calls do not simply run: with their share, the first message,
    the places in the program that make them, the tests that show it, and what could be done."""

    function: str
    verdict: str
    share: Share = field(default_factory=Share)
    category: str | None = None
    message: str = ""
    sites: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    advice: list[Advice] = field(default_factory=list)

    def add(self, entry: Data, weight: Data, message: str, category: str | None) -> None:
        """Adds the calls of a test, or of what no test repeats."""
        self.share.add(weight)
        self.message = self.message or message
        self.category = self.category or category
        self.sites += [site for site in entry.get("sites", ()) if site not in self.sites]
        if "id" in entry:
            self.tests.append(entry["id"])


@dataclass(frozen=True)
class Program:
    """A program that was compiled as a whole: what becomes of it on a target, and the device memory that it needs where
    that is predicted. ``operations`` is the framework's own count."""

    name: str
    test: str
    operations: int | None
    verdict: str
    category: str | None
    message: str
    memory_bytes: int | None
    sites: Sequence[str]
    device_bytes: int | None = None
    """The memory that a program may use on the device."""
    flops: float | None = None
    moved_bytes: float | None = None
    """Read and written in the device's memory."""


@dataclass(frozen=True)
class TargetVerdict:
    """One target: the share of each verdict, the functions that do not simply run, the greatest share first, the
    functions of which every call runs, and whole programs, which are no calls and have no share."""

    target: str
    run: Document
    is_predicted: bool
    shares: Mapping[str, Share]
    findings: Sequence[Finding]
    running: Sequence[str]
    programs: Sequence[Program]


@dataclass(frozen=True)
class Verdict:
    """The verdicts of one recorded manifest. ``all``: everything that was recorded, what no test repeats included."""

    manifest: Document
    all: Share
    left_out: Share
    targets: tuple[TargetVerdict, ...]

    @property
    def framework(self) -> str:
        """The framework that the program called."""
        return str(self.manifest.data["framework"])
