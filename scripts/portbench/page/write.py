"""Writes the page to explore a study: ``index.html``, one file that works from disk and needs no network.

Its template, style sheet and scripts are in assets/, the libraries for grid and plots in vendor/. A
Content-Security-Policy allows only these scripts and styles, by their digests: no connection, and no script in the
data.
"""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import duckdb
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from portbench.analysis.terms import INTOLERABLE
from portbench.page import vendored
from portbench.page.data import page_data
from portbench.page.overview import Overview
from portbench.page.policy import policy
from portbench.study.document import StudySummary
from portbench.util.files import write_text
from portbench.util.text import escape_control

_STYLES = ("vendor/tabulator_simple.min.css", "vendor/uPlot.min.css", "assets/shared.css", "assets/page.css")
_LIBRARIES = ("vendor/tabulator.min.js", "vendor/uPlot.iife.min.js")
_SCRIPTS = (
    "words",
    "state",
    "study",
    "plots",
    "filters",
    "overview",
    "causes",
    "grid",
    "matrix",
    "detail",
    "latency",
    "compare",
    "csv",
    "main",
)


def write(
    connection: duckdb.DuckDBPyConnection,
    study_summary: StudySummary,
    path: Path,
    intolerable: float = INTOLERABLE,
    overview: Overview | None = None,
) -> None:
    """Writes the page of a study to ``path``. ``overview``: what it opens on besides the numbers of each target.

    ``connection`` shows the study's tables, and ``analyse`` was called on it; ``study_summary`` is that of the study,
    with the same placement rule. From a ratio of latencies of ``intolerable`` on a function is intolerably slow. Raises
    StorageFailed where the page cannot be written, BadInput where a vendored library was changed.
    """
    vendored.check()
    shown = overview or Overview()
    data = page_data(connection, study_summary, intolerable, shown)
    styles = [_part(name) for name in _STYLES]
    # One scope for all of our scripts, which nothing outside can read.
    own = "\n".join(_part(f"assets/{name}.js") for name in _SCRIPTS)
    scripts = [*(_part(name) for name in _LIBRARIES), f'"use strict";\n(() => {{\n{own}\n}})();\n']
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shown"] = escape_control
    page = environment.from_string(_part("assets/page.html.j2")).render(
        policy=policy(scripts, styles),
        styles=[Markup(text) for text in styles],
        scripts=[Markup(text) for text in scripts],
        licences=[
            (f"{package['name']} {package['version']}", _part(f"vendor/{file['name']}"))
            for package in vendored.packages()
            for file in package["files"]
            if file["name"].endswith(".LICENSE")
        ],
        data=data,
        remarks=shown.remarks,
        changes=shown.changes,
        charts=shown.charts,
    )
    write_text(path, page)


def _part(name: str) -> str:
    text = (resources.files("portbench.page") / name).read_text("utf-8")
    # It names a file that the page does not have.
    return re.sub(r"(//|/\*)# sourceMappingURL=.*", "", text)
