"""The Atom feed: an entry for each target, newest results first, with what changed since the version before it.

RFC 4287. An entry keeps its id when a target runs again; ``updated`` is when its newest run file ended.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree

from portbench.site.changes import Changed, changes, former
from portbench.site.model import Entry, SiteTarget
from portbench.util.text import escape_control, pluralize

_MOST_ENTRIES = 50
_MOST_CHANGES = 20
_ATOM = "http://www.w3.org/2005/Atom"
_IDS = uuid.UUID("6f0f5c1c-7f0c-5c39-9d0e-2f3a5d4b8a11")


def feed(title: str, url: str, targets: Sequence[SiteTarget], entries: Sequence[Entry]) -> str:
    """The feed as XML; '' where no run file says when it ran. ``url``: where the site will be, or ''."""
    dated = [(moment, target) for target in targets if (moment := _moment(target.ran_at))]
    dated.sort(key=lambda each: (each[0], each[1].slug), reverse=True)
    if not dated:
        return ""
    root = ElementTree.Element("feed", {"xmlns": _ATOM, "xml:lang": "en"})
    _text(root, "id", f"urn:uuid:{uuid.uuid5(_IDS, url or title)}")
    _text(root, "title", title)
    _text(root, "updated", dated[0][0])
    _text(ElementTree.SubElement(root, "author"), "name", "portbench")
    _text(root, "generator", "portbench")
    ElementTree.SubElement(root, "link", {"rel": "self", "href": f"{url}feed.atom"})
    ElementTree.SubElement(root, "link", {"rel": "alternate", "href": f"{url}index.html"})
    for moment, target in dated[:_MOST_ENTRIES]:
        before = former(target, targets)
        found = changes(entries, before, target) if before else []
        _entry(root, moment, target, before, found, url)
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _entry(
    root: ElementTree.Element,
    moment: str,
    target: SiteTarget,
    before: SiteTarget | None,
    found: Sequence[Changed],
    url: str,
) -> None:
    entry = ElementTree.SubElement(root, "entry")
    # The id names the target, not its place: the same site elsewhere has the same entries.
    _text(entry, "id", f"urn:uuid:{uuid.uuid5(_IDS, target.slug)}")
    _text(entry, "title", f"{target.title}, {target.side.machine} ({target.part.title.lower()}): {said(target)}")
    _text(entry, "updated", moment)
    ElementTree.SubElement(entry, "link", {"rel": "alternate", "href": f"{url}targets/{target.slug}/index.html"})
    lines = [f"{change.function.name}: {change.before}, now {change.after}" for change in found[:_MOST_CHANGES]]
    if len(found) > _MOST_CHANGES:
        lines.append(f"and {len(found) - _MOST_CHANGES:,} more")
    if before:
        lines.insert(0, f"{pluralize(len(found), 'function')} changed since {before.side.version}")
    _text(entry, "summary", ". ".join(lines) or said(target))


def said(target: SiteTarget) -> str:
    """The rate of a target in words."""
    if target.percent is None:
        return "no function was rated"
    word = "are accepted" if target.side.is_predicted else "pass all tests"
    return f"{target.percent:.1f} % of {pluralize(target.rated, 'function')} {word}"


def _moment(text: str) -> str:
    """A time as Atom wants it; '' where it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _text(parent: ElementTree.Element, tag: str, text: str) -> None:
    ElementTree.SubElement(parent, tag).text = escape_control(text)
