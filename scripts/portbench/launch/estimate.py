"""What a launch will take and cost: results x seconds of a result x price of an hour. Nothing of it is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from portbench.errors import BadInput
from portbench.formats.documents import read_document
from portbench.launch.model import Shard
from portbench.util.strict_json import shown
from portbench.util.text import duration, pluralize


def seconds_per_test(path: Path) -> float:
    """The seconds that a test took in a run file: from its begin to its end, divided by its results.

    The time includes the start of the framework, and pauses of a run that was resumed. Raises BadInput for a run file
    without results or without time between.
    """
    document = read_document(path, "run").data
    begin, end = (datetime.fromisoformat(document[key].replace("Z", "+00:00")) for key in ("started_at", "ended_at"))
    seconds = (end - begin).total_seconds()
    if not document["results"] or seconds <= 0:
        raise BadInput(f"{shown(path)}: no results, or no time between begin and end", "Give another run file.")
    return seconds / len(document["results"])


@dataclass(frozen=True)
class Estimate:
    """Of one target. ``seconds``: of one test in one run; None: not known."""

    target: str
    shards: Sequence[Shard]
    runs: int
    seconds: float | None = None
    price_per_hour: float | None = None

    @property
    def machine_seconds(self) -> float | None:
        """The time of all machines together."""
        return None if self.seconds is None else sum(shard.results for shard in self.shards) * self.seconds

    @property
    def cost(self) -> float | None:
        """In the unit of the price."""
        if self.machine_seconds is None or self.price_per_hour is None:
            return None
        return self.machine_seconds / 3600 * self.price_per_hour

    def __str__(self) -> str:
        tests = [shard.tests for shard in self.shards]
        size = f"{self.target}: {pluralize(sum(tests), 'test')}, {pluralize(self.runs, 'run')}"
        split = f"{pluralize(len(tests), 'shard')} of {min(tests)} to {max(tests)} tests"
        if self.seconds is None or self.machine_seconds is None:
            return f"{size}, {split}; no estimate without --seconds-per-test or --measured"
        longest = duration(max(shard.results for shard in self.shards) * self.seconds)
        time = f"about {duration(self.machine_seconds)} of machine time, {longest} for the largest shard"
        price = f", {self.cost:,.2f} at {self.price_per_hour:g} an hour" if self.cost is not None else ""
        return f"{size}, {split}; at {self.seconds:.3g} s a test {time}{price}"
