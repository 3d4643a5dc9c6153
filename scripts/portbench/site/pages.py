"""The pages of a site as HTML. Templates are in templates/; they escape every text, control characters included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from portbench.analysis.timeline import Line as TimelineLine
from portbench.page.charts import Line, percent_chart, short_time, time_chart
from portbench.page.timeline import date_charts
from portbench.site import badges
from portbench.site.api import function_address, target_address
from portbench.site.changes import Changed
from portbench.site.model import COLLECTED, Cell, Entry, LineKey, Part, SiteFunction, SiteTarget, running
from portbench.site.names import framework_slug, framework_title, function_slug
from portbench.study.model import STATUS_TEXTS, Target, status_text
from portbench.util.format import counted, percent, significant
from portbench.util.text import escape_control, pluralize, shortened

SYMBOLS = {"all_pass": "✓", "some_fail": "◐", "all_fail": "✕", "not_testable": "\u2013"}
"""As on the page of a report; a status is never said by colour alone."""
_MARKS = {
    "host": ("H", "on the host"),
    "mixed": ("M", "partly on the host"),
    "wrong": ("≠", "wrong values"),
    "flaky": ("~", "flaky"),
    "contaminated": ("!", "failed after others"),
    "unproven": ("?", "synchronization check failed"),
}
_PLACES = {"device": "device", "host": "host", "mixed": "mixed", "unknown": "unknown"}
_MEASURED, _PREDICTED = Part(is_collected=False, is_predicted=False), Part(is_collected=False, is_predicted=True)

_OF_TARGET = ("framework", "device", "version", "machine", "evidence", "tests")
"""The filters of the index that choose targets; one that has one value is hidden."""
_MOST_CAUSES = 12
_MOST_LISTED = 150
_MOST_CHANGES = 60
_FIRST_ROWS = 30
_LONGEST = 600


@dataclass(frozen=True)
class Look:
    """What all pages have in common. ``url``: where the site will be, with a slash at its end, or ''."""

    title: str
    url: str
    has_feed: bool


@dataclass(frozen=True)
class TargetCause:
    """Failures of a target with one cause: how many functions, and one of them."""

    category: str
    cause: str
    functions: int
    example: str


class Pages:
    """Renders pages. The same values give the same text."""

    def __init__(self, look: Look, targets: Sequence[SiteTarget], dates: Mapping[int, TimelineLine]) -> None:
        self._targets = targets
        self._dates = dates
        environment = Environment(
            loader=PackageLoader("portbench.site"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_shown,
        )
        environment.globals |= {"look": look, "symbols": SYMBOLS, "marks": _MARKS, "statuses": STATUS_TEXTS}
        environment.globals |= {"plural": pluralize, "status_text": status_text, "percent": percent}
        environment.globals |= {"framework_title": framework_title, "framework_slug": framework_slug}
        environment.filters |= {"time": _time, "day": _day, "slug": function_slug, "short": _shortened}
        self._of = {
            name: environment.get_template(f"{name}.html.j2") for name in ("index", "framework", "target", "function")
        }

    def function(self, function: SiteFunction) -> str:
        """The page of a function: versions by targets, trends, times and placement, causes."""
        found = function.parts
        return self._of["function"].render(
            root="../../",
            address=function.address,
            json=function_address(function.framework, function.name),
            function=function,
            passing=running(found.get(_MEASURED, ())),
            accepted=running(found.get(_PREDICTED, ())),
            collected=[
                (part, *running(cells)) for part, cells in found.items() if part.is_collected and running(cells)[1]
            ],
            tables=[
                (part, _matrix(cells), cells, [] if part.is_predicted else _trends(cells))
                for part, cells in found.items()
            ],
            causes=function.causes[:_MOST_CAUSES],
            left_out=max(0, len(function.causes) - _MOST_CAUSES),
            ran_on=lambda cell: counted(cell.placements, _PLACES),
            scaled=_scaled,
        )

    def target(
        self,
        target: SiteTarget,
        failing: Sequence[Entry],
        causes: Sequence[TargetCause],
        former: SiteTarget | None,
        changed: Sequence[Changed],
    ) -> str:
        """The page of a target: rates, environment, causes, changes since the version before it, failing functions."""
        return self._of["target"].render(
            root="../../",
            address=f"targets/{target.slug}",
            json=target_address(target),
            target=target,
            badge=Markup(badges.target_badge(target)),
            failing=failing[:_MOST_LISTED],
            failing_all=len(failing),
            causes=causes,
            former=former,
            changed=changed[:_MOST_CHANGES],
            changed_all=len(changed),
            bar=_bar(target.counts),
            dates=self._date_charts([target]),
        )

    def framework(self, framework: str, entries: Sequence[Entry], causes: Mapping[Part, Sequence[TargetCause]]) -> str:
        """The page of a framework: its targets by device, the trend of their rates, causes, and parts of its names."""
        own = [target for target in self._targets if target.side.framework == framework]
        lines: dict[LineKey, dict[str, float]] = {}
        for target in own:
            if target.percent is not None and not target.side.is_predicted:
                lines.setdefault(target.line, {})[target.side.version] = target.percent
        labels = {target.line: _line_label(target, own) for target in own}
        parts = Counter(entry.name.rpartition(".")[0] for entry in entries)
        return self._of["framework"].render(
            root="../",
            address=framework_slug(framework),
            json=f"api/v1/{framework_slug(framework)}/functions.json",
            framework=framework,
            functions=len(entries),
            groups=[
                (part, [target for target in own if target.part == part])
                for part in sorted({target.part for target in own})
            ],
            trend=percent_chart(
                "Percent of functions whose tests all pass, by version",
                _versions(own),
                [Line(labels[line], values) for line, values in lines.items()],
            ),
            dates=self._date_charts(own),
            causes=causes,
            parts=sorted(parts.items(), key=lambda part: (-part[1], part[0]))[:_MOST_LISTED],
            bar=_bar,
        )

    def _date_charts(self, targets: Sequence[SiteTarget]) -> list[tuple[str, Markup]]:
        """The trends over dates of some targets, those of collected tests apart."""
        found = []
        for is_collected in (False, True):
            of_kind = [target.number for target in targets if target.is_collected == is_collected]
            lines = [self._dates[number] for number in of_kind if number in self._dates]
            tests = f", {COLLECTED}" if is_collected else ""
            found += [(f"{title}{tests}", chart) for title, chart in date_charts(lines)]
        return found

    def index(
        self, by_framework: Mapping[str, Sequence[Entry]], newest: Sequence[SiteTarget], data: Mapping[str, Any]
    ) -> str:
        """The page that a site opens on: a card for each framework and device, and the functions with filters."""
        entries = [entry for found in by_framework.values() for entry in found]
        first = sorted(entries, key=lambda entry: (-(entry.uses or 0), entry.framework, entry.name))[:_FIRST_ROWS]
        return self._of["index"].render(
            root="",
            address="",
            json="api/v1/index.json",
            functions=len(entries),
            groups=[
                (framework, is_collected, [target for target in newest if _kind(target) == (framework, is_collected)])
                for framework, is_collected in dict.fromkeys(map(_kind, newest))
            ],
            badges=[target for target in newest if target.rated][:6],
            ran_at=max((target.ran_at for target in self._targets), default=""),
            targets=self._targets,
            first=first,
            data=data,
            filters=[
                *(key for key in _OF_TARGET if len({target[key] for target in data["targets"]}) > 1),
                *("status", "category", "mark", "decile"),
            ],
            bar=_bar,
        )


def _kind(target: SiteTarget) -> tuple[str, bool]:
    return target.side.framework, target.is_collected


def _matrix(cells: Sequence[Cell]) -> dict[str, Any]:
    """Versions by targets: the newest version first, a row for each device on each machine."""
    targets = list({cell.target.number: cell.target for cell in cells}.values())
    rows: dict[tuple[LineKey, str], dict[str, Cell]] = {}
    for cell in cells:
        rows.setdefault((cell.target.line, cell.successor_of), {})[cell.target.side.version] = cell
    versions = _versions(targets)[::-1]
    return {
        "versions": versions,
        "rows": [
            (next(iter(found.values())).target, former, [found.get(version) for version in versions])
            for (_, former), found in rows.items()
        ],
    }


def _trends(cells: Sequence[Cell]) -> list[tuple[str, Markup]]:
    """The charts of a function's times by version, each with its title; none where there is one version."""
    targets = [cell.target for cell in cells]
    steady: dict[LineKey, dict[str, float]] = {}
    cold: dict[LineKey, dict[str, float]] = {}
    for cell in cells:
        for by_line, value in ((steady, cell.steady_ns), (cold, cell.cold_ns)):
            if value and not cell.successor_of:
                by_line.setdefault(cell.target.line, {})[cell.target.side.version] = float(value)
    labels = {target.line: _line_label(target, targets) for target in targets}
    versions = _versions(targets)
    charts = []
    for title, found in (("Steady state", steady), ("First call", cold)):
        lines = [Line(labels[line], values) for line, values in found.items()]
        charts.append((title, time_chart(f"{title}, by version", versions, lines)))
    return [(title, chart) for title, chart in charts if chart]


def _line_label(target: SiteTarget, targets: Sequence[SiteTarget]) -> str:
    """The device, with the machine where several have it."""
    side = target.side
    others = {one.side.machine for one in targets if one.side.device == side.device}
    label = target.device if len(others) < 2 else f"{target.device}, {side.machine}"
    if target.is_collected and not all(one.is_collected for one in targets):
        label += ", collected"
    return label if side.sync == "complete" else f"{label}, {side.synchronization}"


def _versions(targets: Sequence[SiteTarget]) -> list[str]:
    """The versions, oldest first."""
    found = {target.side.version: Target("", target.side.version, "").order for target in targets}
    return sorted(found, key=lambda version: found[version])


def _bar(counts: Mapping[str, int]) -> list[tuple[str, float, float]]:
    """Parts of a bar: status, start and width in percent."""
    shown = {status: counts[status] for status in ("all_pass", "some_fail", "all_fail") if counts.get(status)}
    total = sum(shown.values())
    parts, start = [], 0.0
    for status, number in shown.items():
        width = 100 * number / total
        parts.append((status, round(start, 2), round(width, 2)))
        start += width
    return parts


def _scaled(value: float | None, unit: float, name: str) -> str:
    return "" if value is None else f"{significant(value / unit)} {name}"


def _time(ns: float | None) -> str:
    return "" if ns is None else short_time(ns)


def _day(moment: str) -> str:
    return moment[:10]


def _shortened(text: str, limit: int = _LONGEST) -> str:
    return shortened(text, limit)


def _shown(value: Any) -> Any:
    return value if isinstance(value, Markup) or not isinstance(value, str) else escape_control(value)
