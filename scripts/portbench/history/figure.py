"""The figure of a history: the functions by status in each version."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.patches import Patch

from portbench.compare.functions import KINDS
from portbench.figures import canvas, style
from portbench.figures.style import Drawing
from portbench.history.changes import STATUSES, History, VersionResult
from portbench.util.text import pluralize

NAME = "history"

_COLOURS = dict(zip(STATUSES, (style.BLUE, style.ORANGE, style.VERMILLION, style.PALE, style.GREY), strict=True))
_HATCHES = dict(zip(STATUSES, ("", "////", "xxxx", "", ""), strict=True))
_ROW = 0.3


def draw(history: History) -> Drawing:
    """A bar for each version that ran, as wide as all functions of the manifest. Draw it within ``style.style()``."""
    title = f"{history.framework} on {history.device}: functions by status in each version"
    shown = [status for status in STATUSES if any(version.counts.get(status) for version in history.ran)]
    handles: list[Artist] = [
        Patch(facecolor=_COLOURS[status], edgecolor="white", linewidth=0, hatch=_HATCHES[status], label=status)
        for status in shown
    ]
    named = [(_label(version), _note(history, version)) for version in history.ran]
    figure, axes = canvas.rows(title, named, "functions (%)", canvas.Legend(handles, 3), _ROW)
    canvas.percent_axis(axes)
    for row, version in enumerate(history.ran):
        canvas.stacked(axes, row, version.counts, {status: _COLOURS[status] for status in shown}, _HATCHES)
    caption = (
        f"Percent of the functions of the manifest {history.manifest} by how many of their tests passed. To the right: "
        "functions that broke, were fixed, removed or added since the version above."
    )
    return Drawing(NAME, title, caption, list(_details(history.ran)), figure)


def _label(version: VersionResult) -> str:
    return f"{version.run.version}{f' ({version.run.date[:7]})' if version.run.date else ''}"


def _note(history: History, version: VersionResult) -> str:
    if version is history.ran[0]:
        return pluralize(sum(version.counts.values()), "function")
    found = {kind: history.changed(version.run.version, kind) for kind in KINDS}
    return ", ".join(f"{number} {kind}" for kind, number in found.items() if number)


def _details(versions: Sequence[VersionResult]) -> list[str]:
    return [
        f"{version.run.version}: {', '.join(f'{version.counts[s]} {s}' for s in STATUSES if version.counts.get(s))}."
        for version in versions
    ]
