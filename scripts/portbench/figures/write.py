"""Draws the figures of a study: each as SVG and as PNG, with its caption in README.md.

A figure that the study has no data for is not drawn; README.md names it with the reason.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from portbench.analysis.rate_model import ALL
from portbench.analysis.results import Results
from portbench.analysis.terms import INTOLERABLE, METHOD_SLUGS, NEWER, PAPER_METHOD, ROBUST
from portbench.analysis.timeline import grouped
from portbench.figures import data, failures, ratios, timeline, times
from portbench.figures.canvas import MOST_PANELS, MOST_ROWS
from portbench.figures.data import Pair
from portbench.figures.style import Drawing, NotDrawn, style
from portbench.util.files import write_bytes, write_text
from portbench.util.markdown import plain
from portbench.util.parallel import cores, processes

CAPTIONS = "README.md"

Item = TypeVar("Item")

_NAMES = (
    "statuses",
    "failures-by-decile",
    "top20-against-all",
    "failure-categories",
    "latency-densities",
    "times",
    "latency-scatter",
    "faster-shares",
    "latency-ratios",
    "newer-hardware",
    "timeline-by-date",
    "timeline-by-version",
)
STATUSES, DECILES, TOP20, CATEGORIES, DENSITIES, TIMES, SCATTER, SHARES, RATIOS, NEWER_HARDWARE, BY_DATE, BY_VERSION = (
    _NAMES
)

_UNTIMED = "no function was timed on two devices with the same version of a framework ({})"
_ONE_MODEL = "no function was timed on two models of one device of which it is known which is newer ({})"


# So many pairs of devices take longer to draw than other processes to start.
_MANY_PAIRS = 6


@dataclass(frozen=True)
class _Planned:
    """A figure to draw, by a function of a module, as it may be called in another process."""

    name: str
    draw: Callable[[str, Any], Drawing]
    items: Sequence[Any]


@dataclass(frozen=True)
class Written:
    """The ``files`` of the figures, and those that were not drawn (``missing``), with the reasons."""

    files: tuple[Path, ...]
    missing: tuple[NotDrawn, ...]


@contextmanager
def drawing(
    connection: duckdb.DuckDBPyConnection,
    results: Results,
    folder: Path,
    intolerable: float = INTOLERABLE,
) -> Iterator[Written]:
    """Draws every figure of a study into ``folder``. Many are drawn by other processes while the caller goes on; at the
    end all are written.

    ``connection`` shows the tables of the study and their analysis (see ``portbench.study.summary.analyse``), whose
    ``results`` are computed. A function that takes more than ``intolerable`` times as long, above 1, is in a class of
    its own. The same study gives the same bytes, also where many figures are
    drawn in several processes. Raises StorageFailed.
    """
    planned = list(_every(connection, results, intolerable))
    calls = [(each, folder) for each in planned if isinstance(each, _Planned)]
    missing = [each for each in planned if isinstance(each, NotDrawn)]
    files = [path for each, _ in calls for path in _files(each.name, folder)]
    written = Written((*files, folder / CAPTIONS), tuple(missing))
    if len(results.by_device) < _MANY_PAIRS:
        captions = [_write(*call) for call in calls]
        yield written
    else:
        # One core is the caller's, which draws what is left when it is done.
        with processes(_write_aside, calls, max(1, cores() - 1), is_shared=True) as drawn:
            yield written
            captions = drawn()
    text = ["# Figures", "", *(line for caption in captions for line in caption)]
    if missing:
        text += ["## Not drawn", "", *(f"- {plain(each.name)}: {plain(each.reason)}" for each in missing), ""]
    write_text(folder / CAPTIONS, "\n".join(text))


def _files(name: str, folder: Path) -> tuple[Path, Path]:
    return folder / f"{name}.svg", folder / f"{name}.png"


def _write(planned: _Planned, folder: Path) -> list[str]:
    """Draws one figure into its two files; returns its part of the captions."""
    with style():
        made = planned.draw(planned.name, planned.items)
        for path, content in zip(_files(made.name, folder), (made.svg(), made.png()), strict=True):
            write_bytes(path, content)
    title = plain(made.title)
    details = [f"- {plain(each, limit=None)}" for each in made.details]
    return [f"## {title}", "", f"![{title}]({made.name}.svg)", "", plain(made.caption, limit=None), "", *details, ""]


def _write_aside(planned: _Planned, folder: Path) -> list[str]:
    """``_write`` where garbage collection is paused; frees each figure: its parts refer to each other."""
    written = _write(planned, folder)
    gc.collect()
    return written


def _every(
    connection: duckdb.DuckDBPyConnection, results: Results, intolerable: float
) -> Iterator[_Planned | NotDrawn]:
    names = data.names_of(results)
    yield from _failures(connection, results, names)
    yield from _times(connection, names)
    yield from _timelines(results)
    of_devices = data.timed_pairs(results.by_device, names)
    of_models = data.timed_pairs(results.by_model, names)
    for method in (PAPER_METHOD, ROBUST):
        yield from _ratios(method, of_devices.get(method, []), of_models.get(method, []), intolerable)


def _failures(
    connection: duckdb.DuckDBPyConnection, results: Results, names: data.Names
) -> Iterator[_Planned | NotDrawn]:
    rated = data.rated_sides(results, names)
    yield from _planned(STATUSES, list(rated.values()), MOST_ROWS, failures.statuses, "nothing ran on any target")
    strata = "no function that ran is known to be {}"
    nothing = "no function fails: all values are 0"
    panels, top20 = data.decile_panels(rated, names), data.with_top20(rated.values())
    fails = any(side.by_stratum[ALL].failing for side in rated.values())
    reason = strata.format("of a decile of use") if fails or not panels else nothing
    yield from _planned(DECILES, panels if fails else [], MOST_PANELS, failures.deciles, reason)
    reason = strata.format("one of the 20 used most") if fails or not top20 else nothing
    yield from _planned(TOP20, top20 if fails else [], MOST_ROWS, failures.top20, reason)
    yield from _planned(CATEGORIES, data.failures(connection, names), MOST_ROWS, failures.categories, "no test failed")


def _times(connection: duckdb.DuckDBPyConnection, names: data.Names) -> Iterator[_Planned | NotDrawn]:
    latencies = data.function_latencies(connection, names)
    yield from _planned(DENSITIES, latencies, MOST_ROWS, times.densities, "no first call of a passing test was timed")
    spreads = data.spreads(connection, names)
    yield from _planned(TIMES, spreads, MOST_ROWS, times.distributions, "no passing test was timed")


def _timelines(results: Results) -> Iterator[_Planned | NotDrawn]:
    found = results.timeline
    dates, versions = (
        grouped(lines, timeline.MOST_LINES, has_version=has_version)
        for lines, has_version in ((found.by_date, True), (found.by_version, False))
    )
    yield from _planned(BY_DATE, dates, MOST_PANELS, timeline.by_date, "no target ran on several days")
    once = "no device and machine ran several versions of a framework"
    yield from _planned(BY_VERSION, versions, MOST_PANELS, timeline.by_version, once)


def _ratios(
    method: str, of_devices: Sequence[Pair], of_models: Sequence[Pair], intolerable: float
) -> Iterator[_Planned | NotDrawn]:
    def devices(
        name: str, most: int, draw: Callable[[str, Sequence[Pair]], Drawing]
    ) -> list[_Planned] | list[NotDrawn]:
        return _planned(named(name), of_devices, most, draw, _UNTIMED.format(method))

    def named(name: str) -> str:
        return f"{name}-{METHOD_SLUGS[method]}"

    yield from devices(SCATTER, MOST_PANELS, partial(ratios.scatter, threshold=intolerable))
    title = "Functions that are faster or slower on one device than on another"
    yield from devices(SHARES, MOST_ROWS, partial(ratios.shares, title=title, threshold=intolerable))
    yield from devices(RATIOS, MOST_ROWS, partial(ratios.ratios, threshold=intolerable))
    newer = partial(ratios.shares, title="Functions that are faster or slower on newer hardware", threshold=NEWER)
    yield from _planned(named(NEWER_HARDWARE), of_models, MOST_ROWS, newer, _ONE_MODEL.format(method))


def _planned(
    name: str, items: Sequence[Item], most: int, draw: Callable[[str, Sequence[Item]], Drawing], reason: str
) -> list[_Planned] | list[NotDrawn]:
    """Figures of ``most`` items at a time: the first as ``name``, the next as ``name-2`` and so on."""
    if not items:
        return [NotDrawn(name, reason)]
    return [
        _Planned(name if start == 0 else f"{name}-{start // most + 1}", draw, items[start : start + most])
        for start in range(0, len(items), most)
    ]
