"""Writes a site: static pages, badges, JSON and a feed, for any web server and from disk.

    index.html, <framework>/index.html, <framework>/<function>/index.html and badge.svg, targets/<target>/index.html
    badges/, api/v1/, feed.atom, data/ and assets/

The same study gives the same files. A file is written only where its content changed, and removed where it is no longer
part of the site; other files of the folder stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import orjson

from portbench.errors import NothingRan
from portbench.site import api, badges
from portbench.site.changes import by_device, changes, former, newest
from portbench.site.feed import feed
from portbench.site.index_data import description, scripts
from portbench.site.model import Entry, SiteFunction, SiteTarget
from portbench.site.names import framework_slug, slug
from portbench.site.pages import Look, Pages, TargetCause
from portbench.site.read import Reader, all_functions, open_reader
from portbench.util.owned_folder import Kind, Update, updating

DEFAULT_TITLE = "Portability of machine-learning functions"

_KIND = Kind("site", re.compile(r"(?:[\w@+-][\w.@+-]*/)*[\w@+-][\w.@+-]*\.(?:html|js|css|svg|json|atom)", re.ASCII))
_ASSETS = ("site.css", "site.js", "index.js", "icon.svg")
_MOST_CAUSES = 25

Causes = dict[tuple[str, str, str], list[str]]
"""The functions with a failure, by fingerprint, category and cause."""


@dataclass(frozen=True)
class Written:
    """How many files a site has, how many of them were ``changed``, and how many functions and targets it shows."""

    files: int
    changed: int
    functions: int
    targets: int


def publish(
    connections: Sequence[duckdb.DuckDBPyConnection], folder: Path, title: str = DEFAULT_TITLE, url: str = ""
) -> Written:
    """Writes the site of a study, or of one of collected tests and one of others, to ``folder``: all of it, or nothing.
    ``url``: where it will be, or ''.

    Each connection shows a study's tables, and ``analyse`` was called on it. Raises NothingRan for a study without
    functions, BadInput for a folder with files that is no site or with a file of somebody else under one of its names,
    StorageFailed where a file cannot be written.
    """
    readers: list[Reader] = []
    for connection in connections:
        readers.append(open_reader(connection, sum(len(reader.targets) for reader in readers)))
    targets = [target for reader in readers for target in reader.targets]
    if not targets:
        raise NothingRan("this study has no function: no run file has a result", "Merge run files with results first.")
    base = url if url.endswith("/") or not url else f"{url}/"
    has_feed = bool(feed(title, base, targets, ()))
    dates = {number: line for reader in readers for number, line in reader.dates.items()}
    with updating(folder, _KIND) as update:
        pages = Pages(Look(title, base, has_feed), targets, dates)
        site = _Site(update, targets, pages, title, base)
        site.write(all_functions(readers))
    return Written(len(update.names), len(update.changed), len(site.entries), len(targets))


class _Site:
    """One site while it is written: functions first, then what lists them."""

    def __init__(self, update: Update, targets: Sequence[SiteTarget], pages: Pages, title: str, url: str) -> None:
        self.entries: list[Entry] = []
        self._put = update.put
        self._targets = targets
        self._pages = pages
        self._title = title
        self._url = url
        self._causes: dict[int, Causes] = {target.number: {} for target in targets}

    def write(self, functions: Iterator[SiteFunction]) -> None:
        """Puts every file of the site."""
        for name in _ASSETS:
            self._put(f"assets/{name}", _asset(name))
        for function in functions:
            self._function(function)
        for target in self._targets:
            self._target(target)
        by_framework: dict[str, list[Entry]] = {}
        for entry in self.entries:
            by_framework.setdefault(entry.framework, []).append(entry)
        for framework, entries in by_framework.items():
            self._framework(framework, entries)
        self._index(by_framework)

    def _function(self, function: SiteFunction) -> None:
        self.entries.append(Entry.of(function))
        for cause in function.causes:
            for target in cause.targets:
                key = (cause.fingerprint, cause.category, cause.cause or cause.message)
                self._causes[target.number].setdefault(key, []).append(function.name)
        self._text(f"{function.address}/index.html", self._pages.function(function))
        self._text(f"{function.address}/badge.svg", badges.function_badge(function))
        self._json(api.function_address(function.framework, function.name), api.function_document(function))

    def _target(self, target: SiteTarget) -> None:
        before = former(target, self._targets)
        found = changes(self.entries, before, target) if before else []
        failing = [
            entry for entry in self.entries if entry.by_target.get(target.number, ("",))[0] in ("some_fail", "all_fail")
        ]
        failing.sort(key=lambda entry: (entry.by_target[target.number][0], -(entry.uses or 0), entry.name))
        page = self._pages.target(target, failing, _ranked([self._causes[target.number]]), before, found)
        self._text(f"targets/{target.slug}/index.html", page)
        self._text(f"badges/{target.slug}.svg", badges.target_badge(target))
        self._json(api.target_address(target), api.target_document(target, before, found))

    def _framework(self, framework: str, entries: Sequence[Entry]) -> None:
        own = [target for target in self._targets if target.side.framework == framework]
        measured = [part for part in sorted({target.part for target in own}) if not part.is_predicted]
        causes = {
            part: _ranked([self._causes[target.number] for target in own if target.part == part]) for part in measured
        }
        self._text(f"{framework_slug(framework)}/index.html", self._pages.framework(framework, entries, causes))
        self._json(api.functions_address(framework), api.functions_document(framework, own, entries))

    def _index(self, by_framework: Mapping[str, Sequence[Entry]]) -> None:
        targets = self._targets
        latest = newest(targets)
        for name, target in by_device(latest).items():
            self._text(f"badges/{slug(name)}.svg", badges.target_badge(target))
        names = []
        for name, script in scripts(by_framework, targets):
            names.append(name)
            self._text(name, script)
        self._text("index.html", self._pages.index(by_framework, latest, description(targets, names)))
        self._json(f"{api.ROOT}/index.json", api.index_document(self._title, targets, list(by_framework)))
        if text := feed(self._title, self._url, targets, self.entries):
            self._text("feed.atom", f'<?xml version="1.0" encoding="utf-8"?>\n{text}')

    def _text(self, name: str, text: str) -> None:
        self._put(name, text.encode("utf-8", "replace"))

    def _json(self, name: str, document: Mapping[str, Any]) -> None:
        # The list of all functions is large, and for programs alone.
        indent = 0 if document["kind"] == "functions" else orjson.OPT_INDENT_2
        self._put(name, orjson.dumps(document, option=indent | orjson.OPT_APPEND_NEWLINE))


def _ranked(found: Sequence[Causes]) -> list[TargetCause]:
    """The most frequent causes of some targets, by the number of their functions."""
    functions: dict[tuple[str, str, str], set[str]] = {}
    for causes in found:
        for key, names in causes.items():
            functions.setdefault(key, set()).update(names)
    ranked = sorted(functions.items(), key=lambda each: (-len(each[1]), each[0]))[:_MOST_CAUSES]
    return [TargetCause(category, cause, len(names), min(names)) for (_, category, cause), names in ranked]


def _asset(name: str) -> bytes:
    own = (resources.files("portbench.site") / "assets" / name).read_bytes()
    if name != "site.css":
        return own
    # The colours and signs of the report's page.
    return (resources.files("portbench.page") / "assets" / "shared.css").read_bytes() + own
